"""Random numbers, in TensorFlow's streams."""
