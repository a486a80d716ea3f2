# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "ASSETS_DIRECTORY",
    "ASSETS_KEY",
    "Builder",
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEBUG_DIRECTORY",
    "DEBUG_INFO_FILENAME_PB",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "GPU",
    "LEGACY_INIT_OP_KEY",
    "MAIN_OP_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
    "SAVED_MODEL_FILENAME_PB",
    "SAVED_MODEL_FILENAME_PBTXT",
    "SAVED_MODEL_SCHEMA_VERSION",
    "SERVING",
    "TPU",
    "TRAINING",
    "VARIABLES_DIRECTORY",
    "VARIABLES_FILENAME",
    "build_signature_def",
    "build_tensor_info",
    "builder",
    "classification_signature_def",
    "constants",
    "contains_saved_model",
    "get_tensor_from_tensor_info",
    "is_valid_signature",
    "load",
    "loader",
    "main_op",
    "main_op_with_restore",
    "maybe_saved_model_directory",
    "predict_signature_def",
    "regression_signature_def",
    "signature_constants",
    "signature_def_utils",
    "simple_save",
    "tag_constants",
    "utils",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices
from flowc.api.saving.saved_model_builder import SavedModelBuilder as Builder
from flowc.api.saving.saved_model_builder import simple_save as simple_save
from flowc.api.saving.saved_model_loader import contains_saved_model as contains_saved_model
from flowc.api.saving.saved_model_loader import contains_saved_model as maybe_saved_model_directory
from flowc.api.saving.saved_model_loader import load as load
from flowc.api.saving.saved_model_loader import main_op_with_restore as main_op_with_restore
from flowc.api.saving.signature_defs import build_signature_def as build_signature_def
from flowc.api.saving.signature_defs import build_tensor_info as build_tensor_info
from flowc.api.saving.signature_defs import classification_signature_def as classification_signature_def
from flowc.api.saving.signature_defs import get_tensor_from_tensor_info as get_tensor_from_tensor_info
from flowc.api.saving.signature_defs import is_valid_signature as is_valid_signature
from flowc.api.saving.signature_defs import predict_signature_def as predict_signature_def
from flowc.api.saving.signature_defs import regression_signature_def as regression_signature_def

ASSETS_DIRECTORY: str
ASSETS_KEY: str
CLASSIFY_INPUTS: str
CLASSIFY_METHOD_NAME: str
CLASSIFY_OUTPUT_CLASSES: str
CLASSIFY_OUTPUT_SCORES: str
DEBUG_DIRECTORY: str
DEBUG_INFO_FILENAME_PB: str
DEFAULT_SERVING_SIGNATURE_DEF_KEY: str
GPU: str
LEGACY_INIT_OP_KEY: str
MAIN_OP_KEY: str
PREDICT_INPUTS: str
PREDICT_METHOD_NAME: str
PREDICT_OUTPUTS: str
REGRESS_INPUTS: str
REGRESS_METHOD_NAME: str
REGRESS_OUTPUTS: str
SAVED_MODEL_FILENAME_PB: str
SAVED_MODEL_FILENAME_PBTXT: str
SAVED_MODEL_SCHEMA_VERSION: int
SERVING: str
TPU: str
TRAINING: str
VARIABLES_DIRECTORY: str
VARIABLES_FILENAME: str
from flowc.api.stubs import saved_model_builder as builder
from flowc.api.stubs import saved_model_constants as constants
from flowc.api.stubs import saved_model_loader as loader
from flowc.api.stubs import saved_model_main_op as main_op
from flowc.api.stubs import saved_model_signature_constants as signature_constants
from flowc.api.stubs import saved_model_signature_def_utils as signature_def_utils
from flowc.api.stubs import saved_model_tag_constants as tag_constants
from flowc.api.stubs import saved_model_utils as utils
