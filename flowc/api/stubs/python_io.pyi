# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "tf_record_iterator",
]
from flowc.api.io.record_files import TFRecordCompressionType as TFRecordCompressionType
from flowc.api.io.record_files import TFRecordOptions as TFRecordOptions
from flowc.api.io.record_files import TFRecordWriter as TFRecordWriter
from flowc.api.io.record_files import tf_record_iterator as tf_record_iterator

