"""`tf.io` and `tf.python_io`: files of records, serialized examples, files as strings."""
