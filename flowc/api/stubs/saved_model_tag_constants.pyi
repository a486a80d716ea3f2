# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "GPU",
    "SERVING",
    "TPU",
    "TRAINING",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices

GPU: str
SERVING: str
TPU: str
TRAINING: str
