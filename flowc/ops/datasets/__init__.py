"""Datasets and their iterators: what TensorFlow keeps on the host, in Python."""
