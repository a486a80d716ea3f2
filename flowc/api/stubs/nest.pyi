# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "assert_same_structure",
    "flatten",
    "is_nested",
    "map_structure",
    "pack_sequence_as",
]
from flowc.api.framework.nest import assert_same_structure as assert_same_structure
from flowc.api.framework.nest import flatten as flatten
from flowc.api.framework.nest import is_nested as is_nested
from flowc.api.framework.nest import map_structure as map_structure
from flowc.api.framework.nest import pack_sequence_as as pack_sequence_as

