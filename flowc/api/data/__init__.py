"""tf.data: datasets and their iterators."""
