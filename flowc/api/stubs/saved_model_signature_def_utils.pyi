# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "build_signature_def",
    "classification_signature_def",
    "is_valid_signature",
    "predict_signature_def",
    "regression_signature_def",
]
from flowc.api.saving.signature_defs import build_signature_def as build_signature_def
from flowc.api.saving.signature_defs import classification_signature_def as classification_signature_def
from flowc.api.saving.signature_defs import is_valid_signature as is_valid_signature
from flowc.api.saving.signature_defs import predict_signature_def as predict_signature_def
from flowc.api.saving.signature_defs import regression_signature_def as regression_signature_def

