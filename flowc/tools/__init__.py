"""`tf.tools`: models as files changed: frozen, edited, cut. What the commands of that name call."""
