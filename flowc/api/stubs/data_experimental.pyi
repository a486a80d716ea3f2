# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "AUTOTUNE",
    "CheckpointInputPipelineHook",
    "Counter",
    "CsvDataset",
    "DatasetInitializer",
    "DatasetStructure",
    "DistributeOptions",
    "INFINITE_CARDINALITY",
    "OptimizationOptions",
    "Optional",
    "RaggedTensorStructure",
    "RandomDataset",
    "Reducer",
    "SparseTensorStructure",
    "SqlDataset",
    "Structure",
    "TFRecordWriter",
    "TensorStructure",
    "ThreadingOptions",
    "UNKNOWN_CARDINALITY",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "index_table_from_dataset",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample",
    "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "table_from_dataset",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.data.csv import CsvDataset as CsvDataset
from flowc.api.data.csv import make_csv_dataset as make_csv_dataset
from flowc.api.data.dataset import AUTOTUNE as AUTOTUNE
from flowc.api.data.dataset import DatasetSpec as DatasetStructure
from flowc.api.stubs.data import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from flowc.api.stubs.data import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY
from flowc.api.data.examples import make_batched_features_dataset as make_batched_features_dataset
from flowc.api.data.examples import parse_example_dataset as parse_example_dataset
from flowc.api.data.experimental import Counter as Counter
from flowc.api.data.experimental import RandomDataset as RandomDataset
from flowc.api.data.experimental import assert_cardinality as assert_cardinality
from flowc.api.data.experimental import cardinality as cardinality
from flowc.api.data.experimental import copy_to_device as copy_to_device
from flowc.api.data.experimental import dense_to_ragged_batch as dense_to_ragged_batch
from flowc.api.data.experimental import dense_to_sparse_batch as dense_to_sparse_batch
from flowc.api.data.experimental import enumerate_dataset as enumerate_dataset
from flowc.api.data.experimental import from_list as from_list
from flowc.api.data.experimental import from_variant as from_variant
from flowc.api.data.experimental import get_single_element as get_single_element
from flowc.api.data.experimental import get_structure as get_structure
from flowc.api.data.experimental import ignore_errors as ignore_errors
from flowc.api.data.experimental import map_and_batch as map_and_batch
from flowc.api.data.experimental import parallel_interleave as parallel_interleave
from flowc.api.data.experimental import prefetch_to_device as prefetch_to_device
from flowc.api.data.experimental import scan as scan
from flowc.api.data.experimental import shuffle_and_repeat as shuffle_and_repeat
from flowc.api.data.experimental import take_while as take_while
from flowc.api.data.experimental import to_variant as to_variant
from flowc.api.data.experimental import unbatch as unbatch
from flowc.api.data.experimental import unique as unique
from flowc.api.data.grouping import Reducer as Reducer
from flowc.api.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from flowc.api.data.grouping import group_by_reducer as group_by_reducer
from flowc.api.data.grouping import group_by_window as group_by_window
from flowc.api.data.mixing import choose_from_datasets as choose_from_datasets
from flowc.api.data.mixing import sample_from_datasets as sample_from_datasets
from flowc.api.data.optionals import Optional as Optional
from flowc.api.data.optionals import get_next_as_optional as get_next_as_optional
from flowc.api.data.options import DistributeOptions as DistributeOptions
from flowc.api.data.options import OptimizationOptions as OptimizationOptions
from flowc.api.data.options import ThreadingOptions as ThreadingOptions
from flowc.api.data.readers import DatasetWriter as TFRecordWriter
from flowc.api.data.readers import SqlDataset as SqlDataset
from flowc.api.data.resampling import rejection_resample as rejection_resample
from flowc.api.data.saved_iterators import CheckpointInputPipelineHook as CheckpointInputPipelineHook
from flowc.api.data.saved_iterators import make_saveable_from_iterator as make_saveable_from_iterator
from flowc.api.data.structure import ComponentSpec as Structure
from flowc.api.data.structure import ComponentSpec as TensorStructure
from flowc.api.data.structure import RaggedTensorSpec as RaggedTensorStructure
from flowc.api.data.structure import SparseTensorSpec as SparseTensorStructure
from flowc.api.data.tables import DatasetInitializer as DatasetInitializer
from flowc.api.data.tables import index_table_from_dataset as index_table_from_dataset
from flowc.api.data.tables import table_from_dataset as table_from_dataset

def map_and_batch_with_legacy_function(map_func: Any, batch_size: Any, num_parallel_batches: Any = None, drop_remainder: builtins.bool = False, num_parallel_calls: Any = None) -> Any:
    """`map`, then `batch`. Raises `ValueError` where both numbers of calls are given."""
