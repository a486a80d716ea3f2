"""Checkpoints: bundles (V2) and tensor slices (V1), read without TensorFlow."""
