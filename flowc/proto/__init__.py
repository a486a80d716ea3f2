"""Generated from `protos/` (see `protos/README.md`): the messages of TensorFlow's file formats.

Package `flowc`, so that TensorFlow's own modules can be loaded in the same process.
"""
