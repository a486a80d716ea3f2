# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "FastHashSpec",
    "HashTable",
    "HasherSpec",
    "IdTableWithHashBuckets",
    "KeyValueTensorInitializer",
    "LookupInterface",
    "MutableDenseHashTable",
    "MutableHashTable",
    "StrongHashSpec",
    "TextFileIdTableInitializer",
    "TextFileIndex",
    "TextFileInitializer",
    "TextFileStringTableInitializer",
    "index_table_from_file",
    "index_table_from_tensor",
    "index_to_string_table_from_file",
    "index_to_string_table_from_tensor",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.lookup.vocabularies import HasherSpec
from flowc.api.lookup.mutable_tables import DenseHashTable as MutableDenseHashTable
from flowc.api.lookup.mutable_tables import MutableHashTable as MutableHashTable
from flowc.api.lookup.static_tables import HashTable as HashTable
from flowc.api.lookup.static_tables import KeyValueTensorInitializer as KeyValueTensorInitializer
from flowc.api.lookup.static_tables import TextFileIdTableInitializer as TextFileIdTableInitializer
from flowc.api.lookup.static_tables import TextFileIndex as TextFileIndex
from flowc.api.lookup.static_tables import TextFileInitializer as TextFileInitializer
from flowc.api.lookup.static_tables import TextFileStringTableInitializer as TextFileStringTableInitializer
from flowc.api.lookup.table import LookupInterface as LookupInterface
from flowc.api.lookup.vocabularies import HasherSpec as HasherSpec
from flowc.api.lookup.vocabularies import IdTableWithHashBuckets as IdTableWithHashBuckets
from flowc.api.lookup.vocabularies import StrongHashSpec as StrongHashSpec
from flowc.api.lookup.vocabularies import index_table_from_file as index_table_from_file
from flowc.api.lookup.vocabularies import index_table_from_tensor as index_table_from_tensor
from flowc.api.lookup.vocabularies import index_to_string_table_from_file as index_to_string_table_from_file
from flowc.api.lookup.vocabularies import index_to_string_table_from_tensor as index_to_string_table_from_tensor

FastHashSpec: HasherSpec
