"""`tf.layers`: layers of a network, with the variables that they keep."""
