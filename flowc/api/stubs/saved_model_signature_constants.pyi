# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "CLASSIFY_INPUTS",
    "CLASSIFY_METHOD_NAME",
    "CLASSIFY_OUTPUT_CLASSES",
    "CLASSIFY_OUTPUT_SCORES",
    "DEFAULT_SERVING_SIGNATURE_DEF_KEY",
    "PREDICT_INPUTS",
    "PREDICT_METHOD_NAME",
    "PREDICT_OUTPUTS",
    "REGRESS_INPUTS",
    "REGRESS_METHOD_NAME",
    "REGRESS_OUTPUTS",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices

CLASSIFY_INPUTS: str
CLASSIFY_METHOD_NAME: str
CLASSIFY_OUTPUT_CLASSES: str
CLASSIFY_OUTPUT_SCORES: str
DEFAULT_SERVING_SIGNATURE_DEF_KEY: str
PREDICT_INPUTS: str
PREDICT_METHOD_NAME: str
PREDICT_OUTPUTS: str
REGRESS_INPUTS: str
REGRESS_METHOD_NAME: str
REGRESS_OUTPUTS: str
