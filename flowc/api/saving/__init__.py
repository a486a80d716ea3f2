"""Checkpoints and models on disk, in TensorFlow 1's names: savers, state files, MetaGraphs."""
