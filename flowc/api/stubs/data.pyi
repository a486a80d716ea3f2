# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "INFINITE_CARDINALITY",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "experimental",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.data.dataset import AUTOTUNE as AUTOTUNE
from flowc.api.data.dataset import Dataset as Dataset
from flowc.api.data.dataset import DatasetSpec as DatasetSpec
from flowc.api.data.iterators import Iterator as Iterator
from flowc.api.data.iterators import get_output_classes as get_output_classes
from flowc.api.data.iterators import get_output_shapes as get_output_shapes
from flowc.api.data.iterators import get_output_types as get_output_types
from flowc.api.data.iterators import make_initializable_iterator as make_initializable_iterator
from flowc.api.data.iterators import make_one_shot_iterator as make_one_shot_iterator
from flowc.api.data.options import DatasetOptions as Options
from flowc.api.data.options import ThreadingOptions as ThreadingOptions
from flowc.api.data.readers import FixedLengthRecordDataset as FixedLengthRecordDataset
from flowc.api.data.readers import TFRecordDataset as TFRecordDataset
from flowc.api.data.readers import TextLineDataset as TextLineDataset

INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int
from flowc.api.stubs import data_experimental as experimental
