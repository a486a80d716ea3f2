"""Numbers of few bits: floats as integers of a range, and TensorFlow 1's ops on such integers."""
