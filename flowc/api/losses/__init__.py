"""`tf.losses`: losses of predictions and labels, kept in a collection."""
