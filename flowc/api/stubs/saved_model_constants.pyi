# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "DEBUG_DIRECTORY",
    "DEBUG_INFO_FILENAME_PB",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices

ASSETS_DIRECTORY: str
ASSETS_KEY: str
DEBUG_DIRECTORY: str
DEBUG_INFO_FILENAME_PB: str
LEGACY_INIT_OP_KEY: str
MAIN_OP_KEY: str
SAVED_MODEL_FILENAME_PB: str
SAVED_MODEL_FILENAME_PBTXT: str
SAVED_MODEL_SCHEMA_VERSION: int
VARIABLES_DIRECTORY: str
VARIABLES_FILENAME: str
