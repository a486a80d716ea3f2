"""`tf.lookup`, `tf.contrib.lookup`: tables from keys to values."""
