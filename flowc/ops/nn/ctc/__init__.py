"""Connectionist temporal classification: its loss, and decoders of its logits."""
