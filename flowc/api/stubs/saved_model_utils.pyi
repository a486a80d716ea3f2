# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "build_tensor_info",
    "get_tensor_from_tensor_info",
]
from flowc.api.saving.signature_defs import build_tensor_info as build_tensor_info
from flowc.api.saving.signature_defs import get_tensor_from_tensor_info as get_tensor_from_tensor_info

