"""`tf.test`: gradients checked against differences, and a base for test cases."""
