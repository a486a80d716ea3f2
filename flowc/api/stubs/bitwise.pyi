# Made by `make stub` from the tables of exports: not to be edited.
__all__ = [
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]
import builtins
from typing import Any
from flowc.graph import Operation, Tensor
from flowc.graph.indexed_slices import IndexedSlices

def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that both have, of integers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits that either has, of integers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits in which the two differ, of integers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def invert(x: Any, name: str | None = None) -> Tensor:
    """Every bit inverted, of integers.
    
    Takes `(x, name=None)`. Raises `TypeError` for other dtypes."""
def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits of x moved y places up, of integers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The bits of x moved y places down, of integers.
    
    Takes `(x, y, name=None)`. Raises `TypeError` for other dtypes and two different ones, `ValueError` where shapes do not broadcast."""
