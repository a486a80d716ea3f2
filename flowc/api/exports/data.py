"""Which module holds which public name of `tf.data`.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_CARDINALITIES = "AUTOTUNE INFINITE_CARDINALITY UNKNOWN_CARDINALITY"

TOP: Mapping[str, str] = {
    "flowc.api.data.structure": "RaggedTensorSpec SparseTensorSpec TensorSpec=ComponentSpec"
}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "data": {
        "flowc.api.data.dataset": f"Dataset DatasetSpec {_CARDINALITIES}",
        "flowc.api.data.iterators": """Iterator get_output_classes get_output_shapes
            get_output_types make_initializable_iterator make_one_shot_iterator""",
        "flowc.api.data.options": "Options=DatasetOptions ThreadingOptions",
        "flowc.api.data.readers": "FixedLengthRecordDataset TFRecordDataset TextLineDataset",
    },
    "data.experimental": {
        "flowc.api.data.csv": "CsvDataset make_csv_dataset",
        "flowc.api.data.examples": "make_batched_features_dataset parse_example_dataset",
        "flowc.api.data.dataset": f"DatasetStructure=DatasetSpec {_CARDINALITIES}",
        "flowc.api.data.experimental": """Counter RandomDataset assert_cardinality cardinality
            copy_to_device dense_to_ragged_batch dense_to_sparse_batch enumerate_dataset
            from_list from_variant get_single_element get_structure ignore_errors map_and_batch
            map_and_batch_with_legacy_function parallel_interleave prefetch_to_device scan
            shuffle_and_repeat take_while to_variant unbatch unique""",
        "flowc.api.data.grouping": """Reducer bucket_by_sequence_length group_by_reducer
            group_by_window""",
        "flowc.api.data.mixing": "choose_from_datasets sample_from_datasets",
        "flowc.api.data.options": "DistributeOptions OptimizationOptions ThreadingOptions",
        "flowc.api.data.optionals": "Optional get_next_as_optional",
        "flowc.api.data.readers": "SqlDataset TFRecordWriter=DatasetWriter",
        "flowc.api.data.resampling": "rejection_resample",
        "flowc.api.data.saved_iterators": """CheckpointInputPipelineHook
            make_saveable_from_iterator""",
        "flowc.api.data.structure": """RaggedTensorStructure=RaggedTensorSpec
            SparseTensorStructure=SparseTensorSpec Structure=ComponentSpec
            TensorStructure=ComponentSpec""",
        "flowc.api.data.tables": """DatasetInitializer index_table_from_dataset
            table_from_dataset""",
    },
}
