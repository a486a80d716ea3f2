"""What the forms of loops over a cluster with reductions share: axes, running totals, results.

In: a cluster's body and its reductions, all over the same axes. Out: `Reducing`. Invariant: which
element joins which total in which order depends on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.codegen.kernels.builder import compare, int_name, int_number
from flowc.codegen.kernels.cluster import (
    ClusterLowering,
    broadcast_index,
    row_major,
    unravel,
)
from flowc.codegen.kernels.nest import ACROSS, FOLD, Apply, Index, Name, Scalar
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, product
from flowc.ir.lowering import Reduction
from flowc.ir.scalar import compute_dtype
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.types import Dims

EXTREMES = ("max", "min")
_NEUTRAL = {"add": 0, "mul": 1, "and": True, "or": False}


class Reducing:
    """What the row and column forms share: axes, accumulators, stages."""

    def __init__(
        self, node: Node, body: Computation, reductions: Sequence[Node], target: Target
    ) -> None:
        self.node = node
        self.choices = target.choices
        self.body = body
        self.reductions = list(reductions)
        self.c = ClusterLowering(body, node.inputs, self.choices.tells_places)
        self.lowerings = {n: n.lowering for n in reductions if isinstance(n.lowering, Reduction)}
        first = reductions[0]
        self.axes = self.lowerings[first].axes
        self.full = first.inputs[0].dims
        self.kept = tuple(d for d in range(len(self.full)) if d not in self.axes)
        self.lanes = 1

    def runs(self) -> tuple[Dims, Dims]:
        """The sizes of the folded axes: of those before the last kept one that is no single
        element, and of those behind it, whose elements are neighbours. One loop of a GPU's lanes
        takes all of them."""
        split = 1 + max((d for d in self.kept if self.full[d] != 1), default=-1)
        before = tuple(self.full[a] for a in self.axes if a < split)
        if self.lanes > 1 or product(before) == 1:
            split = 0
        apart = tuple(self.full[a] for a in self.axes if a < split)
        return apart, tuple(self.full[a] for a in self.axes if a >= split)

    @property
    def kept_sizes(self) -> Dims:
        """The sizes of the axes that are not folded: of the rows."""
        return tuple(self.full[d] for d in self.kept)

    @property
    def lane(self) -> Index:
        """The number of the lane."""
        return int_name("lane") if self.lanes > 1 else int_number(0)

    def prepared(self, node: Node, index: tuple[Dim, ...]) -> Scalar:
        """What joins the running total at one index of the full space."""
        lowering = self.lowerings[node]
        k = self.c.k
        operands = [
            self.c.element(v, broadcast_index(v.dims, self.full, index)) for v in node.inputs
        ]
        x = lowering.prepare(k, *operands) if lowering.prepare is not None else operands[0]
        if lowering.accumulator is not None:
            x = k.cast(x, lowering.accumulator)
        return as_computed(x)

    def accumulator_dtype(self, node: Node) -> DType:
        body: ScalarBody | None = node.attrs["prepare"]
        dtype = node.inputs[0].type.dtype if body is None else body.dtype
        return compute_dtype(self.lowerings[node].accumulator or dtype)

    def finished(self, node: Node, total: Scalar) -> Scalar:
        lowering = self.lowerings[node]
        k = self.c.k
        if lowering.finish is not None:
            total = lowering.finish(k, total, self.count(total.dtype))
        return k.cast(total, node.output.type.dtype)

    def count(self, dtype: DType) -> Scalar:
        dims = product(self.full[a] for a in self.axes)
        if isinstance(dims, int):
            return self.c.k.const(dims, dtype)
        return self.c.k.cast(self.c.k.index_value(dims, dtypes.i64), dtype)

    def row_index(self, value: Value, kept_index: Sequence[Dim]) -> tuple[Dim, ...]:
        """The index of a value that has one element a row, for an index of the kept dims."""
        if len(value.dims) == len(kept_index):
            return tuple(kept_index)
        if len(value.dims) == len(self.full):
            by_dim = dict(zip(self.kept, kept_index))
            return tuple(by_dim.get(d, 0) for d in range(len(self.full)))
        flat = row_major(tuple(self.full[d] for d in self.kept), kept_index)
        return unravel(flat, value.dims)

    def combine(self, node: Node, total: Scalar, x: Scalar, *, in_one_order: bool = False) -> Apply:
        """The running total with one more element. `in_one_order`: elements meet in the same order
        for each result, however the work is shared out, so that of zeros of both signs it may be
        either that is the largest."""
        how = self.lowerings[node].combine
        if in_one_order and how in EXTREMES:
            how += "_either"
        return Apply(f"{FOLD}{how}", (total, x), x.dtype)

    def looks_for_nan(self, node: Node, dtype: DType) -> bool:
        """Whether NaN is looked for beside the largest or smallest of elements of a dtype."""
        is_extreme = self.lowerings[node].combine in EXTREMES and dtype.is_floating
        return is_extreme and self.lanes == 1 and self.choices.nan_masks is not None

    def first_lane(self) -> AbstractContextManager[None]:
        """Statements that one lane does for all."""
        if self.lanes == 1:
            return nullcontext()
        return self.c.nest.when(compare("eq", self.lane, int_number(0)))

    def join_lanes(self, node: Node, total: Name) -> None:
        """The totals of all lanes become one, which each of them has."""
        if self.lanes > 1:
            op = f"{ACROSS}{self.lowerings[node].combine}"
            joined = Apply(op, (total, int_number(self.lanes)), total.dtype)
            self.c.nest.assign(total.name, joined)

    def neutral(self, node: Node, dtype: DType) -> Scalar:
        how = self.lowerings[node].combine
        value = _NEUTRAL[how] if how in _NEUTRAL else _extreme(dtype, how)
        return self.c.k.const(value, dtype)


def as_computed(x: Scalar) -> Scalar:
    """The scalar in the dtype that it is computed in: f16 and bf16 add up in f32."""
    return Name(x.name, compute_dtype(x.dtype)) if isinstance(x, Name) else x


def _extreme(dtype: DType, how: str) -> Any:
    if dtype.is_floating:
        return -np.inf if how == "max" else np.inf
    limits = np.iinfo(dtype.numpy)
    return limits.min if how == "max" else limits.max


def full_index(r: Reducing, kept_index: Sequence[Dim], folded: Sequence[Dim]) -> tuple[Dim, ...]:
    by_dim: dict[int, Dim] = dict(zip(r.kept, kept_index))
    by_dim |= dict(zip(r.axes, folded))
    return tuple(by_dim[d] for d in range(len(r.full)))
