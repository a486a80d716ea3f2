"""The band of a matrix, and diagonals of whole tensors.

In: matrices, or tensors of which pairs of dimensions make a diagonal. Out: the elements near or on
the diagonal. Invariant: views only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, View
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.arrays.diagonals import need_numbers


def _infer_band_part(c: Inference) -> Dims:
    if c.rank(0) < 2:
        raise c.fail(f"input must be at least 2-dim, received shape: {list(c.dims(0))}")
    need_numbers(c)
    if c.rank(1) or c.rank(2):
        raise c.fail("num_lower and num_upper must be scalars")
    return c.dims(0)


def _lower_band_part(node: Node) -> Lowering:
    dims = node.inputs[0].dims

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        lower, upper = k.load(1, ()), k.load(2, ())
        for name, bound, axis in (("num_lower", lower, -2), ("num_upper", upper, -1)):
            size = k.index_value(dims[axis], bound.dtype)
            what = "rows" if axis == -2 else "columns"
            k.check(
                k.le(bound, size),
                f"{name} must be negative or less or equal to number of {what} ({dims[axis]})",
            )
        row, column = (k.index_value(i, lower.dtype) for i in index[-2:])
        below = k.logical_or(k.lt(lower, 0), k.le(k.sub(row, column), lower))
        above = k.logical_or(k.lt(upper, 0), k.le(k.sub(column, row), upper))
        zero = k.const(0, node.output.type.dtype)
        return k.select(k.logical_and(below, above), k.load(0, index), zero)

    return View(read)


def _band_part(x: np.ndarray, num_lower: np.ndarray, num_upper: np.ndarray) -> np.ndarray:
    row, column = np.ogrid[: x.shape[-2], : x.shape[-1]]
    lower, upper = int(num_lower), int(num_upper)
    for name, bound, what, size in (
        ("num_lower", lower, "rows", x.shape[-2]),
        ("num_upper", upper, "columns", x.shape[-1]),
    ):
        if bound > size:
            raise InvalidArgumentError(
                f"{name} must be negative or less or equal to number of {what} ({size}) got: "
                f"{bound}"
            )
    inside = ((lower < 0) | (row - column <= lower)) & ((upper < 0) | (column - row <= upper))
    return np.where(inside, x, np.zeros((), x.dtype))


def spread_view(node: Node, axes: Sequence[int]) -> View:
    """Axis i of the output is axis `axes[i]` of the input; zeros off the diagonal."""
    first = [axes.index(i) for i in range(node.inputs[0].type.rank)]

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        inside = None
        for position, axis in enumerate(axes):
            if first[axis] != position:
                same = k.in_range(index[position] - index[first[axis]], 0, 1)
                inside = same if inside is None else k.logical_and(inside, same)
        element = k.load(0, tuple(index[i] for i in first))
        zero = k.const(0, node.output.type.dtype)
        return element if inside is None else k.select(inside, element, zero)

    return View(read)


def _infer_tensor_diag(c: Inference) -> Dims:
    if not c.dims(0):
        raise c.fail("Shape must be at least rank 1 but is rank 0")
    return (*c.dims(0), *c.dims(0))


def _tensor_diag(diagonal: np.ndarray) -> np.ndarray:
    result = np.zeros((diagonal.size, diagonal.size), diagonal.dtype)
    np.fill_diagonal(result, diagonal.reshape(-1))
    return result.reshape(diagonal.shape * 2)


def _infer_tensor_part(c: Inference) -> Dims:
    dims = c.dims(0)
    half = len(dims) // 2
    if len(dims) % 2 or not dims:
        raise c.fail(f"The rank of the tensor should be even and positive, got shape {list(dims)}")
    for i in range(half):
        fault = f"dimensions {i} and {half + i} do not match in {list(dims)}"
        c.equal(dims[i], dims[half + i], fault)
    return dims[:half]


def _tensor_part(x: np.ndarray) -> np.ndarray:
    half = x.shape[: x.ndim // 2]
    count = int(np.prod(half, dtype=np.int64))
    return np.diagonal(x.reshape(count, count)).reshape(half)


_DIAGONAL_DTYPES = "{bf16, f16, f32, f64, i32, i64, c64, c128}"

diag = define(
    "diag",
    f"Diag(diagonal: T; T: {_DIAGONAL_DTYPES}) -> output: T",
    infer=_infer_tensor_diag,
    reference=_tensor_diag,
    lowering=lambda node: spread_view(node, [*range(node.inputs[0].type.rank)] * 2),
    gradient=lambda b, node, dy: b.diag_part(dy),
    examples=("T[3]", "f32[2,3]", "f32[0]"),
)

diag_part = define(
    "diag_part",
    f"DiagPart(input: T; T: {_DIAGONAL_DTYPES}) -> diagonal: T",
    infer=_infer_tensor_part,
    reference=_tensor_part,
    lowering=View(lambda k, index: k.load(0, index + index)),
    gradient=lambda b, node, dy: b.diag(dy),
    examples=("T[3,3]", "f32[2,3,2,3]"),
)


matrix_band_part = define(
    "matrix_band_part",
    "MatrixBandPart(input: T, num_lower: Tindex, num_upper: Tindex; T: type,"
    " Tindex: {i32, i64} = i64) -> band: T",
    infer=_infer_band_part,
    reference=_band_part,
    lowering=_lower_band_part,
    gradient=lambda b, node, dy: b.matrix_band_part(dy, *node.inputs[1:]),
    examples=(
        "T[3,4] i64[]=1 i64[]=0",
        "f32[2,3,3] Tindex[]=-1 Tindex[]=0",
        "f32[4,4] i32[]=0 i32[]=-1",
    ),
)
