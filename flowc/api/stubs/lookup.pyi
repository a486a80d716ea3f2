# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "KeyValueTensorInitializer",
    "StaticHashTable",
    "StaticVocabularyTable",
    "TextFileIndex",
    "TextFileInitializer",
    "experimental",
]
from flowc.api.lookup.static_tables import KeyValueTensorInitializer as KeyValueTensorInitializer
from flowc.api.lookup.static_tables import StaticHashTable as StaticHashTable
from flowc.api.lookup.static_tables import TextFileIndex as TextFileIndex
from flowc.api.lookup.static_tables import TextFileInitializer as TextFileInitializer
from flowc.api.lookup.vocabularies import StaticVocabularyTable as StaticVocabularyTable

from flowc.api.stubs import lookup_experimental as experimental
