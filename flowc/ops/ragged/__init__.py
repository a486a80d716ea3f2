"""Ragged tensors: rows of different lengths, as values and splits, and as variants."""
