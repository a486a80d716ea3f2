# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "Builder",
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

from flowc.api.stubs import saved_model_builder as builder
from flowc.api.stubs import saved_model_constants as constants
from flowc.api.stubs import saved_model_loader as loader
from flowc.api.stubs import saved_model_main_op as main_op
from flowc.api.stubs import saved_model_signature_constants as signature_constants
from flowc.api.stubs import saved_model_signature_def_utils as signature_def_utils
from flowc.api.stubs import saved_model_tag_constants as tag_constants
from flowc.api.stubs import saved_model_utils as utils
