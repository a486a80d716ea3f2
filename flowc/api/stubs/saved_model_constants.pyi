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
from flowc.api.stubs.saved_model import ASSETS_DIRECTORY as ASSETS_DIRECTORY
from flowc.api.stubs.saved_model import ASSETS_KEY as ASSETS_KEY
from flowc.api.stubs.saved_model import DEBUG_DIRECTORY as DEBUG_DIRECTORY
from flowc.api.stubs.saved_model import DEBUG_INFO_FILENAME_PB as DEBUG_INFO_FILENAME_PB
from flowc.api.stubs.saved_model import LEGACY_INIT_OP_KEY as LEGACY_INIT_OP_KEY
from flowc.api.stubs.saved_model import MAIN_OP_KEY as MAIN_OP_KEY
from flowc.api.stubs.saved_model import SAVED_MODEL_FILENAME_PB as SAVED_MODEL_FILENAME_PB
from flowc.api.stubs.saved_model import SAVED_MODEL_FILENAME_PBTXT as SAVED_MODEL_FILENAME_PBTXT
from flowc.api.stubs.saved_model import SAVED_MODEL_SCHEMA_VERSION as SAVED_MODEL_SCHEMA_VERSION
from flowc.api.stubs.saved_model import VARIABLES_DIRECTORY as VARIABLES_DIRECTORY
from flowc.api.stubs.saved_model import VARIABLES_FILENAME as VARIABLES_FILENAME

