"""`tf.metrics`: measures that grow over the batches of an evaluation."""
