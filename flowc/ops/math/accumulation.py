"""Sums of many tensors of one shape: AddN and AccumulateNV2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.ir.extraction import Bound, Extractor, SparseMatrix
from flowc.ir.lowering import Elementwise
from flowc.ir.op import Attrs, define
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.lists.host_variants import sum_of_variants
from flowc.ops.lists.list_sums import sum_of_lists
from flowc.ops.math.elementwise import Array, equal_dims
from flowc.ops.sparse.matrices import sum_of_matrices


def _sum(k: Any, *elements: Any) -> Any:
    total = elements[0]
    for x in elements[1:]:
        total = k.add(total, x)
    return total


def _sum_of_arrays(*arrays: Array) -> Array:
    total = arrays[0]
    for x in arrays[1:]:
        total = total + x
    return total


def _add_all(inputs: list[Array]) -> Array:
    """f16 and bf16 are rounded after every addition."""
    with np.errstate(all="ignore"):
        return np.asarray(_sum_of_arrays(*inputs), inputs[0].dtype)


def _copies(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return (dy,) * len(node.inputs)


def _sum_of_held(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """The sum of variants: lists, or sparse matrices."""
    of_matrices = isinstance(inputs[0], SparseMatrix)
    return (sum_of_matrices if of_matrices else sum_of_lists)(x, inputs, attrs)


add_n = define(
    "add_n",
    "AddN(inputs: N*T; N: int >= 1, T: {f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64,"
    " c64, c128, variant}) -> sum: T",
    infer=equal_dims,
    lowering=Elementwise(_sum),
    traits=frozenset({"aggregate"}),
    reference=_add_all,
    gradient=_copies,
    content=lambda inputs: np.asarray(_sum_of_arrays(*inputs)),
    examples=("T[7] T[7]", "T[2,3] T[2,3] T[2,3]", "T[]", "T[0,2] T[0,2]"),
    on_lists=_sum_of_held,
    on_variants=sum_of_variants,
)

accumulate_n = define(
    "accumulate_n",
    "AccumulateNV2(inputs: N*T; N: int >= 1, T: NUMBER, shape: shape) -> sum: T",
    infer=equal_dims,
    lowering=Elementwise(_sum),
    traits=frozenset({"aggregate"}),
    reference=_add_all,
    gradient=_copies,
    examples=("T[2,3] T[2,3] T[2,3]; shape=(2,3)", "T[]; shape=()"),
)
