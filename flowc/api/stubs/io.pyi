# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "PaddingFIFOQueue",
    "PriorityQueue",
    "QueueBase",
    "RaggedFeature",
    "RandomShuffleQueue",
    "SparseFeature",
    "TFRecordCompressionType",
    "TFRecordOptions",
    "TFRecordWriter",
    "VarLenFeature",
    "decode_and_crop_jpeg",
    "decode_base64",
    "decode_bmp",
    "decode_compressed",
    "decode_csv",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_json_example",
    "decode_png",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "gfile",
    "is_jpeg",
    "match_filenames_once",
    "matching_files",
    "parse_example",
    "parse_sequence_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "tf_record_iterator",
    "write_file",
    "write_graph",
]
from flowc.api.framework.models import write_graph as write_graph
from flowc.api.image.files import decode_and_crop_jpeg as decode_and_crop_jpeg
from flowc.api.image.files import decode_bmp as decode_bmp
from flowc.api.image.files import decode_gif as decode_gif
from flowc.api.image.files import decode_image as decode_image
from flowc.api.image.files import decode_jpeg as decode_jpeg
from flowc.api.image.files import decode_png as decode_png
from flowc.api.image.files import encode_jpeg as encode_jpeg
from flowc.api.image.files import encode_png as encode_png
from flowc.api.image.files import extract_jpeg_shape as extract_jpeg_shape
from flowc.api.image.files import is_jpeg as is_jpeg
from flowc.api.inputs.producers import match_filenames_once as match_filenames_once
from flowc.api.inputs.queues import PaddingFIFOQueue as PaddingFIFOQueue
from flowc.api.inputs.queues import PriorityQueue as PriorityQueue
from flowc.api.inputs.queues import QueueBase as QueueBase
from flowc.api.inputs.queues import RandomShuffleQueue as RandomShuffleQueue
from flowc.api.io.decoding import decode_compressed as decode_compressed
from flowc.api.io.decoding import decode_csv as decode_csv
from flowc.api.io.decoding import decode_json_example as decode_json_example
from flowc.api.io.decoding import decode_raw as decode_raw
from flowc.api.io.decoding import matching_files as matching_files
from flowc.api.io.decoding import parse_tensor as parse_tensor
from flowc.api.io.decoding import read_file as read_file
from flowc.api.io.decoding import serialize_tensor as serialize_tensor
from flowc.api.io.decoding import write_file as write_file
from flowc.api.io.examples import parse_example as parse_example
from flowc.api.io.examples import parse_sequence_example as parse_sequence_example
from flowc.api.io.examples import parse_single_example as parse_single_example
from flowc.api.io.examples import parse_single_sequence_example as parse_single_sequence_example
from flowc.api.io.features import FixedLenFeature as FixedLenFeature
from flowc.api.io.features import FixedLenSequenceFeature as FixedLenSequenceFeature
from flowc.api.io.features import RaggedFeature as RaggedFeature
from flowc.api.io.features import SparseFeature as SparseFeature
from flowc.api.io.features import VarLenFeature as VarLenFeature
from flowc.api.io.record_files import TFRecordCompressionType as TFRecordCompressionType
from flowc.api.io.record_files import TFRecordOptions as TFRecordOptions
from flowc.api.io.record_files import TFRecordWriter as TFRecordWriter
from flowc.api.io.record_files import tf_record_iterator as tf_record_iterator
from flowc.api.sparse.serialized import deserialize_many_sparse as deserialize_many_sparse
from flowc.api.sparse.serialized import serialize_many_sparse as serialize_many_sparse
from flowc.api.sparse.serialized import serialize_sparse as serialize_sparse
from flowc.api.strings.text import decode_base64 as decode_base64
from flowc.api.strings.text import encode_base64 as encode_base64

from flowc.api.stubs import io_gfile as gfile
