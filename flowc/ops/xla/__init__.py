"""Ops that graphs of TensorFlow's bridge to XLA hold."""
