"""Which module holds which public name, where names are of strings, records, their parsing, and of
ragged and sparse tensors that texts become.

In: nothing. Out: `TOP` and `NAMESPACES`, tables of the form that `exports` reads.
"""

from __future__ import annotations

from collections.abc import Mapping

_RECORD_FILES = "TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator"
_FEATURES = "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature"
_DECODING = """decode_compressed decode_csv decode_json_example decode_raw matching_files
    parse_tensor read_file write_file"""
_EXAMPLES = """parse_example parse_single_example parse_single_sequence_example"""
_SERIALIZED = "deserialize_many_sparse serialize_many_sparse serialize_sparse"
_SPARSE = """sparse_add sparse_concat sparse_fill_empty_rows sparse_maximum sparse_merge
    sparse_minimum sparse_reorder sparse_reset_shape sparse_reshape sparse_slice sparse_split
    sparse_to_indicator sparse_transpose"""

TOP: Mapping[str, str] = {
    "flowc.api.io.decoding": _DECODING + " serialize_tensor",
    "flowc.api.io.examples": _EXAMPLES,
    "flowc.api.io.features": _FEATURES,
    "flowc.api.ragged.ragged_tensor": "RaggedTensor",
    "flowc.api.sparse.serialized": _SERIALIZED,
    "flowc.api.sparse.sparse_changes": _SPARSE,
    "flowc.api.strings.text": """decode_base64 encode_base64 fingerprint reduce_join regex_replace
        string_strip string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong
        string_to_number substr""",
    "flowc.api.strings.pieces": "string_split",
}
NAMESPACES: Mapping[str, Mapping[str, str]] = {
    "io": {
        "flowc.api.io.record_files": _RECORD_FILES,
        "flowc.api.io.decoding": _DECODING + " serialize_tensor",
        "flowc.api.io.examples": _EXAMPLES + " parse_sequence_example",
        "flowc.api.io.features": _FEATURES + " RaggedFeature",
        "flowc.api.sparse.serialized": _SERIALIZED,
        "flowc.api.strings.text": "decode_base64 encode_base64",
        "flowc.api.framework.models": "write_graph",
    },
    "python_io": {"flowc.api.io.record_files": _RECORD_FILES},
    "ragged": {
        "flowc.api.ragged.joining": "boolean_mask cross cross_hashed stack",
        "flowc.api.ragged.ragged_value": "RaggedTensorValue",
        "flowc.api.ragged.ragged_factories": """constant constant_value map_flat_values placeholder
            range=ragged_range row_splits_to_segment_ids segment_ids_to_row_splits""",
    },
    "sets": {
        "flowc.api.sparse.sets": """difference=set_difference intersection=set_intersection
            set_difference set_intersection set_size set_union size=set_size union=set_union"""
    },
    "sparse": {
        "flowc.api.sparse.crosses": "bincount=sparse_bincount cross cross_hashed",
        "flowc.api.sparse.sparse_changes": """add=sparse_add concat=sparse_concat
            expand_dims=sparse_expand_dims fill_empty_rows=sparse_fill_empty_rows
            maximum=sparse_maximum merge=sparse_merge minimum=sparse_minimum reorder=sparse_reorder
            reset_shape=sparse_reset_shape reshape=sparse_reshape slice=sparse_slice
            split=sparse_split to_indicator=sparse_to_indicator transpose=sparse_transpose""",
    },
    "strings": {
        "flowc.api.strings.text": """length=string_length lower reduce_join regex_full_match
            regex_replace strip=string_strip substr to_hash_bucket=string_to_hash_bucket
            to_hash_bucket_fast=string_to_hash_bucket_fast
            to_hash_bucket_strong=string_to_hash_bucket_strong to_number=string_to_number
            unicode_script unicode_transcode unsorted_segment_join upper""",
        "flowc.api.strings.pieces": """bytes_split ngrams split unicode_decode
            unicode_decode_with_offsets unicode_encode unicode_split unicode_split_with_offsets""",
    },
    "train": {
        "flowc.proto.example_pb2": """BytesList Example Feature FeatureList FeatureLists Features
            FloatList Int64List SequenceExample"""
    },
}
