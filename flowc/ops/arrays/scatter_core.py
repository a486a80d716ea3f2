"""The op that changes slices of a tensor: what every op that writes at computed places becomes.

In: a tensor, indices of its slices, and values for them. Out: the changed tensor. Invariants: the
changes are made one after another in row-major order of the indices; an index outside the tensor
ends the run with InvalidArgumentError; a tensor that nobody else reads is changed where it lies.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import ByThreads, Lowering, Native, by_owners, on_gpu
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.arrays.indexing import check_indices_nd, indices_inside
from flowc.ops.kernels.status import fail
from flowc.ops.math.elementwise import wide_dtype

if TYPE_CHECKING:
    quotient: Any = None

COMBINES = ("update", "add", "sub", "mul", "div", "min", "max")
# Globals that the compiler gives to the kernel: how many indices name a slice, which of COMBINES
# changes its elements, and whether these are integers.
DEPTH = 1
UPDATE = ADD = SUB = MUL = DIV = MIN = MAX = False
INTEGERS = False
DEPTH_LIMIT = 7
IGNORES = 0  # whether slices that are not there are left out


def combine_with(out, at, value, status):
    """Inlined: changes one element."""
    old = out[at]
    if UPDATE:
        out[at] = value
    elif ADD:
        out[at] = old + value
    elif SUB:
        out[at] = old - value
    elif MUL:
        out[at] = old * value
    elif MIN:
        if value < old:
            out[at] = value
    elif MAX:
        if value > old:
            out[at] = value
    elif not INTEGERS:
        out[at] = quotient(old, value)
    elif value == 0:
        status[0] = 2
    else:
        whole = old // value
        if whole * value != old and (old < 0) != (value < 0):
            whole += 1  # towards zero
        out[at] = whole


def change_owned_slices(
    held, indices, updates, out, status, rows, width, d0, d1, d2, d3, d4, d5, d6, band, begin, end
):
    """One column of `band` neighbouring slices a step."""
    dims = (d0, d1, d2, d3, d4, d5, d6)
    for step in range(begin, end):
        column = step % width if width > 0 else 0
        first = (step // width if width > 0 else step) * band
        for row in range(rows):
            at = 0
            owned = width > 0
            for d in range(DEPTH):
                place = indices[row * DEPTH + d]
                if place < 0 or place >= dims[d]:
                    if IGNORES == 0:
                        fail(status, 1, row, place, dims[d])
                        return
                    place = 0
                    owned = False
                at = at * dims[d] + place
            if owned and at >= first and at < first + band:
                combine_with(out, at * width + column, updates[row * width + column], status)
                if DIV and status[0]:
                    return


def _by_owners(native: Native) -> Native:
    width, *extents = native.arguments[1:]
    return by_owners(native, change_owned_slices, product(extents), width)


@on_gpu(ByThreads(_by_owners))
def change_slices_kernel(
    held, indices, updates, out, status, rows, width, d0, d1, d2, d3, d4, d5, d6, begin, end
):
    dims = (d0, d1, d2, d3, d4, d5, d6)
    for row in range(rows):
        at = 0
        count = width
        for d in range(DEPTH):
            place = indices[row * DEPTH + d]
            if place < 0 or place >= dims[d]:
                if IGNORES == 0:
                    fail(status, 1, row, place, dims[d])
                    return
                place = 0
                count = 0
            at = at * dims[d] + place
        for j in range(count):
            combine_with(out, at * width + j, updates[row * width + j], status)
            # No element of others fails, so that they are computed in vectors.
            if DIV and status[0]:
                return


def _infer_change(c: Inference) -> Dims:
    held, places, given = c.dims(0), c.dims(1), c.dims(2)
    depth = c.attrs["depth"]
    if not places or places[-1] != depth or depth > min(len(held), DEPTH_LIMIT):
        raise c.fail(f"index innermost dimension length must be <= {len(held)}, found {depth}")
    wanted = (*places[:-1], *held[depth:])
    if len(wanted) != len(given):
        raise c.fail(f"expected updates of shape {shown_dims(wanted)}, found {shown_dims(given)}")
    for ours, theirs in zip(wanted, given):
        c.equal(ours, theirs)
    return held


def _lower_change(node: Node) -> Lowering:
    held, indices, _ = node.inputs
    depth, combine = node.attrs["depth"], node.attrs["combine"]
    extents = (*held.dims[:depth], *(1,) * (DEPTH_LIMIT - depth))
    rows, width = product(indices.dims[:-1]), product(held.dims[depth:])
    fault = "indices[{a}] = {b} is not in [0, {c})"
    if not node.attrs["rows"]:
        found = "[{b}]" if depth == 1 else "[.., {b}, ..]"
        fault = f"indices[{{a}}] = {found} does not index into shape {shown_dims(held.dims)}"
        if 0 in held.dims:
            fault = "Indices and updates specified for empty output"
    return Native(
        change_slices_kernel,
        arguments=(rows, width, *extents),
        errors=(fault, "Integer division by zero"),
        constants={
            "DEPTH": depth,
            **{name.upper(): name == combine for name in COMBINES},
            "INTEGERS": held.type.dtype.is_integer,
            "IGNORES": int(node.attrs["ignores"]),
        },
        updates=0,
        moves=combine == "update",
    )


def _divide(old: Any, value: Any) -> Any:
    if old.dtype.kind not in "iu":
        return old / value
    if (value == 0).any():
        raise InvalidArgumentError("Integer division by zero")
    quotient = old // value
    return quotient + ((quotient * value != old) & ((old < 0) != (value < 0))).astype(old.dtype)


_NUMPY: dict[str, Callable[[Any, Any], Any]] = {
    "update": lambda old, value: value,
    "add": lambda old, value: old + value,
    "sub": lambda old, value: old - value,
    "mul": lambda old, value: old * value,
    "div": _divide,
    "min": lambda old, value: np.where(value < old, value, old),
    "max": lambda old, value: np.where(value > old, value, old),
}


def changed_slices(
    held: np.ndarray, indices: np.ndarray, updates: np.ndarray, *, combine: str, ignores: bool
) -> np.ndarray:
    result = held.astype(wide_dtype(held.dtype))
    updates = updates.astype(result.dtype)
    there = indices_inside(indices, held.shape)
    if not ignores:
        check_indices_nd(indices.astype(np.int64), held.shape, "")
    with np.errstate(all="ignore"):
        for row in np.ndindex(indices.shape[:-1]):
            if not there[row]:
                continue
            place = tuple(int(i) for i in indices[row])
            result[place] = _NUMPY[combine](result[place], updates[row])
    return result.astype(held.dtype)


# Slices of `held` that the rows of `indices` name, combined with `updates` in order. `rows`: the
# indices are numbers of rows, and messages say so.
change_slices = define(
    "change_slices",
    "_ChangeSlices(held: T, indices: Tindices, updates: T; T: type,"
    " Tindices: {i16, i32, i64, u16},"
    " combine: string, depth: int, rows: bool = False, ignores: bool = False) -> output: T",
    infer=_infer_change,
    reference=changed_slices,
    lowering=_lower_change,
    examples=(
        'T[3,2] Tindices[2,1]=[2,0] T[2,2]; combine="update", depth=1',
        'f32[3,2] i32[3,1]=[2,0,2] f32[3,2]; combine="add", depth=1',
        'i32[3] i32[3,1]=[2,0,2] i32[3]; combine="sub", depth=1',
        'f32[3] i32[3,1]=[2,0,2] f32[3]; combine="mul", depth=1',
        'f32[3] i32[3,1]=[2,0,2] f32[3]~nonzero; combine="div", depth=1',
        'i32[3] i32[3,1]=[2,0,2] i32[3]=[-3,2,3]; combine="div", depth=1',
        'c64[3] i32[3,1]=[2,0,2] c64[3]~nonzero; combine="div", depth=1',
        'f32[3,2] i32[2,2]=[2,0,1,1] f32[2]~finite; combine="min", depth=2',
        'i32[3,2] i32[2,2]=[2,0,1,1] i32[2]; combine="max", depth=2',
        'f32[3] i32[0,1] f32[0]; combine="add", depth=1',
        'f32[3,2] i32[3,1]=[3,0,-1] f32[3,2]; combine="add", depth=1, ignores=True',
    ),
)
