"""Where an array's elements are, as cheaply as Python can tell.

In: a NumPy array. Out: the address of its first element. NumPy's own answers build a dictionary or
a helper object each time, several microseconds for a small model. CPython's NumPy keeps the address
as the first field after the object head, which its C ABI fixes (`PyArray_DATA`); that is read here
where a trial shows it to hold.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# Set in what a run is told of an array on a GPU: no address of a host has this bit.
ON_DEVICE = -(1 << 63)

_HEAD_BYTES = object.__basicsize__
_field_at = ctypes.c_void_p.from_address


def _by_field(array: Array) -> int | None:
    return _field_at(id(array) + _HEAD_BYTES).value


def _by_interface(array: Array) -> int | None:
    return array.__array_interface__["data"][0]


def _choose() -> Callable[[Array], int | None]:
    if sys.implementation.name != "cpython":
        return _by_interface
    base = np.zeros((5, 3), np.float32)
    trials = (base, base[2:], base[::-1, 1:], np.zeros(0, np.int8), np.array(7, np.int64))
    holds = all(_by_field(a) == _by_interface(a) for a in trials)
    return _by_field if holds else _by_interface


data_address = _choose()
