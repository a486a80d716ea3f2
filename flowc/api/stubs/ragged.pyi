# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "RaggedTensorValue",
]
from flowc.api.ragged.ragged_tensor import RaggedTensorValue as RaggedTensorValue

