"""Constants in the layout that a kernel reads, which are written where they will stand.

In: how the elements are written. Out: an array of its own, or a part of a program's weights.
Invariant: shape and dtype, so the place among the weights, are known before anything is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Packed:
    """`fill` writes the elements into zeros of this shape and dtype. Memory that is new is slow: to
    pack weights into arrays and copy these would take twice as long as it takes to pack."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Callable[[Array], None]

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def array(self) -> Array:
        """The elements in an array of their own."""
        found = np.zeros(self.shape, self.dtype)
        self.fill(found)
        return found

    def write(self, place: Array) -> None:
        """The elements into a flat array of `nbytes` bytes, all zero and aligned."""
        self.fill(place.view(self.dtype).reshape(self.shape))


def memory_of(array: Array) -> tuple[Any, ...]:
    """Where the elements of an array are and how they are read: equal for views of one constant
    that are alike, as its reshapes are. It holds while the array does."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def packed_in_a_row(parts: Sequence[Packed]) -> Packed:
    """The elements of some, at least one, of equal dtypes, one after another."""
    sizes = [math.prod(part.shape) for part in parts]

    def fill(found: Array) -> None:
        first = 0
        for part, size in zip(parts, sizes):
            part.fill(found[first : first + size].reshape(part.shape))
            first += size

    return Packed((sum(sizes),), parts[0].dtype, fill)
