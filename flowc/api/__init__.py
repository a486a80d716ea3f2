"""The public Python API, in TensorFlow 1's names. `exports` says which module holds which name.

Importing this package imports nothing else: the op records load when the first operation is made.
"""
