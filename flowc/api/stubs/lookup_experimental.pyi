# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "DenseHashTable",
    "MutableHashTable",
]
from flowc.api.lookup.mutable_tables import DenseHashTable as DenseHashTable
from flowc.api.lookup.mutable_tables import MutableHashTable as MutableHashTable

