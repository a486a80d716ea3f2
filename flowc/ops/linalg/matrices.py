"""What records of linear algebra share: shapes of stacks of matrices, references, gradients.

In: tensors whose last two dims are a matrix. Out: type rules, NumPy functions on stacks, products
and solutions as nodes. Invariant: a reference computes in f64 or c128 and rounds once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, product
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.gradients import GradientBuilder

Array = np.ndarray[Any, Any]
FLOATS = "{f64, f32, f16, c64, c128}"  # what most of the family takes
RUN = frozenset({"no_fold"})  # kernels say what is wrong with a matrix, references do not
SQUARE = "Input matrix must be square."
INCOMPATIBLE = "Input matrix and rhs are incompatible."


def need_matrix(c: Inference, i: int) -> None:
    if c.rank(i) < 2:
        raise c.fail(f"Input tensor {i} must have rank >= 2, got {c.rank(i)}")


def need_square(c: Inference, i: int, fault: str = SQUARE) -> Dim:
    """The number of rows of input i, which is a stack of square matrices."""
    need_matrix(c, i)
    return c.equal(c.dims(i)[-2], c.dims(i)[-1], fault)


def square_dims(c: Inference) -> Dims:
    """The output is as input 0, square matrices."""
    n = need_square(c, 0)
    return (*c.dims(0)[:-2], n, n)


def solution_dims(c: Inference) -> Dims:
    """The dims of the solution of linear equations: matrices in input 0, right sides in input 1."""
    need_matrix(c, 0)
    need_matrix(c, 1)
    if c.rank(0) != c.rank(1):
        raise c.fail("All input tensors must have the same rank.")
    matrix, right = c.dims(0), c.dims(1)
    fault = "All input tensors must have the same outer dimensions."
    batch = tuple(c.equal(x, y, fault) for x, y in zip(matrix[:-2], right[:-2]))
    c.equal(matrix[-2], right[-2], INCOMPATIBLE)
    return (*batch, matrix[-1], right[-1])


def stack_of(value: Value) -> Dim:
    """How many matrices a tensor holds."""
    return product(value.dims[:-2])


def wide(x: Array) -> Array:
    """In the precision that references compute in."""
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def by_matrix(function: Callable[..., Any], *stacks: Array) -> Array:
    """A function of single matrices on stacks of them. What NumPy cannot solve is NaN."""
    batch = stacks[0].shape[:-2]
    found = np.empty(batch, object)
    for place in np.ndindex(*batch):
        try:
            found[place] = function(*(wide(x[place]) for x in stacks))
        except np.linalg.LinAlgError:
            found[place] = None
    filled = [x for x in found.flat if x is not None]
    if not filled:
        return np.full(stacks[-1].shape, np.nan)
    lost = np.full_like(filled[0], np.nan)
    rows = [lost if x is None else x for x in found.flat]
    return np.stack(rows).reshape(*batch, *filled[0].shape)


def adjoint_array(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


# -- nodes


def adjoint(b: Builder | GradientBuilder, x: Any, rank: int) -> Any:
    """The conjugate transposes of matrices."""
    order = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)
    transposed = b.transpose(x, order)
    dtype = x.type.dtype if isinstance(x, Value) else x.dtype
    return b.conj(transposed) if dtype.is_complex else transposed


def adjoint_of(b: GradientBuilder, x: Any) -> Any:
    return adjoint(b, x, b.rank_of(x))


def times(b: GradientBuilder, x: Any, y: Any, adj_x: bool = False, adj_y: bool = False) -> Any:
    return b.batch_mat_mul(x, y, adj_x=adj_x, adj_y=adj_y)


def lower_part(b: GradientBuilder, x: Any) -> Any:
    return b.matrix_band_part(x, np.int64(-1), np.int64(0))


def diagonal(b: GradientBuilder, x: Any) -> Any:
    return b.matrix_diag_part_v1(x)


def with_diagonal(b: GradientBuilder, x: Any, elements: Any) -> Any:
    return b.matrix_set_diag_v1(x, elements)


def as_rows(b: GradientBuilder, x: Any) -> Any:
    """Vectors as rows [..., 1, n], to scale columns with."""
    return b.expand_dims(x, np.int32(-2))


def as_columns(b: GradientBuilder, x: Any) -> Any:
    """Vectors as columns [..., n, 1], to scale rows with."""
    return b.expand_dims(x, np.int32(-1))


def real_part(b: GradientBuilder, x: Any) -> Any:
    """Complex numbers without their imaginary parts."""
    if not x.dtype.is_complex:
        return x
    part = x.dtype.real_dtype
    return b.cast(b.real(x, Tout=part), DstT=x.dtype)


def computed_wide(
    narrow: Sequence[DType], wide_dtype: DType, name: str
) -> Callable[[Builder, Node], Sequence[Value]]:
    """A decomposition: `name` in a wider dtype, its outputs in their own."""

    def build(b: Builder, node: Node) -> Sequence[Value]:
        inputs = [b.cast(v, DstT=wide_dtype) if v.type.dtype in narrow else v for v in node.inputs]
        attrs = {k: v for k, v in node.attrs.items() if k not in ("T", "Tout")}
        found = getattr(b, name)(*inputs, **attrs)
        values = found if isinstance(found, (list, tuple)) else [found]
        kinds = [o.type.dtype for o in node.outputs]
        return [b.cast(v, DstT=k) if v.type.dtype is not k else v for v, k in zip(values, kinds)]

    return build


WIDER = {dtypes.f16: dtypes.f64, dtypes.f32: dtypes.f64, dtypes.c64: dtypes.c128}
