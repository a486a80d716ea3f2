# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "RaggedTensorValue",
    "boolean_mask",
    "constant",
    "constant_value",
    "cross",
    "cross_hashed",
    "map_flat_values",
    "placeholder",
    "range",
    "row_splits_to_segment_ids",
    "segment_ids_to_row_splits",
    "stack",
]
from flowc.api.ragged.joining import boolean_mask as boolean_mask
from flowc.api.ragged.joining import cross as cross
from flowc.api.ragged.joining import cross_hashed as cross_hashed
from flowc.api.ragged.joining import stack as stack
from flowc.api.ragged.ragged_factories import constant as constant
from flowc.api.ragged.ragged_factories import constant_value as constant_value
from flowc.api.ragged.ragged_factories import map_flat_values as map_flat_values
from flowc.api.ragged.ragged_factories import placeholder as placeholder
from flowc.api.ragged.ragged_factories import ragged_range as range
from flowc.api.ragged.ragged_factories import row_splits_to_segment_ids as row_splits_to_segment_ids
from flowc.api.ragged.ragged_factories import segment_ids_to_row_splits as segment_ids_to_row_splits
from flowc.api.ragged.ragged_value import RaggedTensorValue as RaggedTensorValue

