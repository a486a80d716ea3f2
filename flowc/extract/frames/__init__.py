"""TensorFlow 1 control flow read back: frames, guards, and which input of a Merge is live."""
