"""Zeros between the elements of an image: how a transposed convolution becomes a plain one."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Node
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import View
from flowc.ir.op import define
from flowc.ir.types import Dims


def _infer(c: Inference) -> Dims:
    first, *spatial, last = c.dims(0)
    return (first, *((n - 1) * s + 1 for n, s in zip(spatial, c.attrs["strides"])), last)


def _lowering(node: Node) -> View:
    strides = tuple(node.attrs["strides"])
    dtype = node.output.type.dtype

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        first, *spatial, last = index
        whole = [i // s for i, s in zip(spatial, strides)]
        condition = k.const(True, dtypes.bool_)
        for i, w, s in zip(spatial, whole, strides):
            if s != 1:
                condition = k.logical_and(condition, k.in_range(i - w * s, 0, 1))
        return k.load_if(condition, 0, (first, *whole, last), k.const(0, dtype))

    return View(read)


def _reference(input: np.ndarray, *, strides: tuple[int, ...]) -> np.ndarray:
    first, *spatial, last = input.shape
    out = np.zeros((first, *((n - 1) * s + 1 for n, s in zip(spatial, strides)), last), input.dtype)
    out[(slice(None), *(slice(None, None, s) for s in strides), slice(None))] = input
    return out


insert_zeros = define(
    "insert_zeros",
    "_InsertZeros(input: T; T: NUMBER, strides: list(int)) -> output: T",
    infer=_infer,
    lowering=_lowering,
    reference=_reference,
    examples=("f32[2,3,4,5]; strides=[2,1]", "f64[1,2,3]; strides=[3]"),
)
