"""Unravel_index: where flat indices point in an array of given sizes.

In: indices, a scalar or vector, and the sizes of the array. Out: a row of coordinates for each
axis. Invariant: an index outside the array ends the run with InvalidArgumentError.
"""

from __future__ import annotations

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.kernels.status import fail

ZERO = "Input dims cannot contain a dim of zero, but dims contains zero at index {b}"
NEGATIVE = "Input dims cannot be negative. Got dim = {a} at index {b}"
OUTSIDE = "index is out of bound as with dims"


def unravel_kernel(indices, dims, out, status, n, rank, begin, end):
    for i in range(n):
        rest = indices[i]
        for j in range(rank):
            axis = rank - 1 - j
            if dims[axis] <= 0:
                fail(status, 1 if dims[axis] == 0 else 3, dims[axis], axis, 0)
                return
            out[axis * n + i] = rest % dims[axis]
            rest = rest // dims[axis]
        if rest != 0:
            fail(status, 2, 0, 0, 0)
            return


def _infer(c: Inference) -> Dims:
    if c.rank(0) > 1:
        raise c.fail(f"The indices can only be scalar or vector, got {c.inputs[0]}")
    if c.dims(0) == (0,):
        raise c.fail("received empty tensor indices")
    c.need_rank(1, 1, f"The dims can only be 1-D, got {c.inputs[1]}")
    return (*c.dims(1), *c.dims(0))


def _reference(indices: np.ndarray, dims: np.ndarray) -> np.ndarray:
    for axis, size in enumerate(dims.tolist()):
        if size <= 0:
            raise InvalidArgumentError((NEGATIVE if size else ZERO).format(a=size, b=axis))
    try:
        found = np.unravel_index(indices, tuple(dims.tolist()))
    except ValueError:
        raise InvalidArgumentError(OUTSIDE) from None
    return np.stack([np.asarray(f) for f in found]).astype(indices.dtype)


def _lower(node: Node) -> Lowering:
    indices, dims = (v.type for v in node.inputs)
    return Native(
        unravel_kernel, arguments=(indices.size, dims.size), errors=(ZERO, OUTSIDE, NEGATIVE)
    )


define(
    "unravel_index",
    "UnravelIndex(indices: Tidx, dims: Tidx; Tidx: {i32, i64} = i32) -> output: Tidx",
    infer=_infer,
    reference=_reference,
    lowering=_lower,
    examples=("i32[3]=[22,41,37] i32[2]=[7,6]", "i64[]=5 i64[3]=[2,2,3]", "i32[1]=[3] i32[1]=[4]"),
)
