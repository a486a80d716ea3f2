"""A loop cluster as a kernel: loop nests, reductions by stages, the range that workers share.

In: a cluster of elementwise ops, views and reductions. Out: a Launch. Three forms:

- pointwise: no reduction (pointwise.py);
- rows: all reductions fold the same axes, among them the last one. A worker takes whole rows; each
  stage is one loop over a row, so that softmax or layer norm is one kernel that reads a row once.
  On a GPU a row may have several lanes, threads that take its elements in turn;
- columns: the last axis is kept. A worker takes a block of columns and adds rows to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.codegen.kernels.builder import (
    INLINE_SIZES,
    LOCAL,
    compare,
    int_name,
    int_number,
    int_op,
    int_sum,
)
from flowc.codegen.kernels.cluster import (
    ClusterLowering,
    broadcast_index,
    known_product,
    row_major,
    unravel,
)
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import ACROSS, FOLD, Apply, Carve, Index, Load, Name, Scalar
from flowc.codegen.kernels.pointwise import pointwise_launch, split_flat
from flowc.codegen.kernels.row_stages import kept_values, stages_of
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, minimum, product, symbol
from flowc.ir.lowering import Reduction
from flowc.ir.scalar import held_dtype
from flowc.ir.scalar_body import ScalarBody

_NEUTRAL = {"add": 0, "mul": 1, "and": True, "or": False}


def loop_launch(node: Node, target: Target) -> Launch:
    """The kernel of a cluster of kind `loop`."""
    body: Computation = node.attrs["body"]
    reductions = [n for n in body.nodes if isinstance(n.lowering, Reduction)]
    if not reductions:
        return pointwise_launch(node, body, target)
    first = reductions[0]
    lowering = first.lowering
    assert isinstance(lowering, Reduction)
    rank = first.inputs[0].type.rank
    if rank - 1 in lowering.axes or not lowering.axes or rank == 0:
        return _rows(node, body, reductions, target)
    return _columns(node, body, reductions, target)


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
        return held(x)

    def accumulator_dtype(self, node: Node) -> DType:
        body: ScalarBody | None = node.attrs["prepare"]
        dtype = node.inputs[0].type.dtype if body is None else body.dtype
        return held_dtype(self.lowerings[node].accumulator or dtype)

    def finished(self, node: Node, total: Scalar) -> Scalar:
        lowering = self.lowerings[node]
        k = self.c.k
        if lowering.finish is not None:
            total = lowering.finish(k, total, self.count(total.dtype))
        if lowering.empty is not None:
            total = self._unless_empty(total, lowering.empty)
        return k.cast(total, node.output.type.dtype)

    def count(self, dtype: DType) -> Scalar:
        dims = product(self.full[a] for a in self.axes)
        if isinstance(dims, int):
            return self.c.k.const(dims, dtype)
        return self.c.k.cast(self.c.k.index_value(dims, dtypes.i64), dtype)

    def _unless_empty(self, total: Scalar, empty: Any) -> Scalar:
        dims = product(self.full[a] for a in self.axes)
        k = self.c.k
        if isinstance(dims, int):
            return k.const(empty, total.dtype) if dims == 0 else total
        some = k.gt(k.index_value(dims, dtypes.i64), 0)
        return k.select(some, total, k.const(empty, total.dtype))

    def row_index(self, value: Value, kept_index: Sequence[Dim]) -> tuple[Dim, ...]:
        """The index of a value that has one element a row, for an index of the kept dims."""
        if len(value.dims) == len(kept_index):
            return tuple(kept_index)
        if len(value.dims) == len(self.full):
            by_dim = dict(zip(self.kept, kept_index))
            return tuple(by_dim.get(d, 0) for d in range(len(self.full)))
        flat = row_major(tuple(self.full[d] for d in self.kept), kept_index)
        return unravel(flat, value.dims)

    def combine(self, node: Node, total: Scalar, x: Scalar, either: bool = False) -> Apply:
        """The running total with one more element; `either`: of zeros of both signs the largest,
        and the smallest, may be either."""
        how = self.lowerings[node].combine
        suffix = "_either" if either and how in ("max", "min") else ""
        return Apply(f"{FOLD}{how}{suffix}", (total, x), x.dtype)

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


def held(x: Scalar) -> Scalar:
    """The scalar as it is computed: f16 and bf16 add up in f32."""
    return Name(x.name, held_dtype(x.dtype)) if isinstance(x, Name) else x


def _extreme(dtype: DType, how: str) -> Any:
    if dtype.is_floating:
        return -np.inf if how == "max" else np.inf
    limits = np.iinfo(dtype.numpy)
    return limits.min if how == "max" else limits.max


def _rows(node: Node, body: Computation, reductions: Sequence[Node], target: Target) -> Launch:
    r = Reducing(node, body, reductions, target)
    c, nest = r.c, r.c.nest
    stages = stages_of(body, r.lowerings)
    kept = [r.full[d] for d in r.kept]
    outer = [symbol(f"{LOCAL}o{i}", size) for i, size in enumerate(kept)]
    kept_index = tuple(0 if size == 1 else s for size, s in zip(kept, outer))
    row = product(r.full[a] for a in r.axes)
    cost = body_cost(body)
    if not any(r.accumulator_dtype(n).is_complex for n in reductions):
        r.lanes = r.choices.lanes(row, product(kept))
    # What lanes computed before they compute again.
    keeps = row != 0 and r.lanes == 1
    cached = kept_values(body, r.lowerings, stages, r.full, cost) if keeps else []
    scratch: Dim = 0
    offsets: dict[Value, Dim] = {}
    for value in cached:
        offsets[value] = scratch
        scratch = scratch + ceildiv(row * held_dtype(value.type.dtype).size, 64) * 64
    with nest.loop("p", int_name("begin"), int_name("end")):
        if kept:
            split_flat(c, kept, "o")
        for value in cached:
            start, dtype = nest.size(offsets[value]), held_dtype(value.type.dtype)
            nest.body.append(Carve(_row_name(cached, value), dtype, start))
        last = max(stages.values(), default=0)
        # Where a row has size 1, what a fold gives spans it, but only in name.
        full_results = [v for v in body.results if v.dims == r.full and v.node not in r.lowerings]
        for stage in range(last + 1):
            folding = [n for n in reductions if stages[n] == stage]
            storing = full_results if stage == last else []
            if folding or storing:
                _row_loop(r, stages, stage, folding, storing, kept_index, cached, row)
            for n in folding:
                total = Name(f"a{reductions.index(n)}", r.accumulator_dtype(n))
                r.join_lanes(n, total)
                x = r.finished(n, total)
                c.rows[n.output] = (r.row_index(n.output, kept_index), x)
        of_rows = [v for v in body.results if v not in full_results]
        with r.first_lane() if of_rows else nullcontext():
            for value in of_rows:
                index = r.row_index(value, kept_index)
                c.store(value, index, c.element(value, index))
    total = product(kept)
    if len(full_results) == len(body.results):
        total = minimum(total, total * row)  # of empty rows there may be any number
    grain = r.choices.grain(cost.element, row)
    tail = ("begin", "end", "lane", "lanes")[: 4 if r.lanes > 1 else 2]
    return c.launch(target, node.outputs, total, grain, scratch, node, tail, lanes=r.lanes)


def _row_name(cached: Sequence[Value], value: Value) -> str:
    return f"kept{cached.index(value)}"


def _row_loop(
    r: Reducing,
    stages: dict[Node, int],
    stage: int,
    folding: Sequence[Node],
    storing: Sequence[Value],
    kept_index: Sequence[Dim],
    cached: Sequence[Value],
    row: Dim,
) -> None:
    """One loop over a row: folds what it can, keeps and stores what it must."""
    c, nest = r.c, r.c.nest
    kinds = {n: r.accumulator_dtype(n) for n in folding}
    for n in folding:
        nest.declare(f"a{r.reductions.index(n)}", r.neutral(n, kinds[n]))
    blocked = bool(folding) and any(
        r.lowerings[n].combine == "add" and kinds[n].is_floating for n in folding
    )
    size = known_product([row])
    inner = [r.full[a] for a in r.axes]
    position, i = symbol(f"{LOCAL}i", row), int_name("i")
    # A loop of a length that LLVM does not know stays one: elements meet in the same order in every
    # row. A short one is written out, and rows become vectors, as many as are computed at once.
    in_one_order = not (isinstance(row, int) and row < INLINE_SIZES)

    def loop_body() -> None:
        places = unravel(position, tuple(inner))
        # Where all of a row is one element, its results are known at the very same index.
        folded = [0 if size == 1 else i for size, i in zip(inner, places)]
        index = full_index(r, kept_index, folded)
        restored = []
        for value in cached:
            if stages[value.node] < stage:
                x = nest.let(Load(_row_name(cached, value), i, held_dtype(value.type.dtype)))
                c.rows[value] = (index, Name(x.name, value.type.dtype))
                restored.append(value)
        for value in cached:
            if stages[value.node] == stage:
                nest.store(_row_name(cached, value), i, c.element(value, index))
        for n in folding:
            x = r.prepared(n, index)
            name = f"{'part' if blocked else 'a'}{r.reductions.index(n)}"
            nest.assign(name, r.combine(n, Name(name, x.dtype), x, in_one_order))
        for value in storing:
            c.store(value, index, c.element(value, index))
        for value in restored:
            del c.rows[value]

    if not blocked:
        with nest.loop("i", r.lane, nest.size(row), r.lanes):
            loop_body()
        return
    partial = {n: Name(f"part{r.reductions.index(n)}", kinds[n]) for n in folding}
    together = r.choices.sum_block * r.lanes
    if size is not None and size <= together:
        for n in folding:
            nest.declare(partial[n].name, r.neutral(n, kinds[n]))
        with nest.loop("i", r.lane, nest.size(row), r.lanes):
            loop_body()
        _join_parts(r, partial)
        return
    with nest.loop("block", int_number(0), nest.size(row), together):
        for n in folding:
            nest.declare(partial[n].name, r.neutral(n, kinds[n]))
        stop = nest.declare("stop", int_sum("block", together))
        nest.assign("stop", int_op("smaller", stop, nest.size(row)))
        first = int_sum("block", "lane") if r.lanes > 1 else int_name("block")
        with nest.loop("i", first, stop, r.lanes):
            loop_body()
        _join_parts(r, partial)


def _join_parts(r: Reducing, partial: dict[Node, Name]) -> None:
    for n, part in partial.items():
        total = Name(f"a{r.reductions.index(n)}", part.dtype)
        r.c.nest.assign(total.name, r.combine(n, total, part))


def full_index(r: Reducing, kept_index: Sequence[Dim], folded: Sequence[Dim]) -> tuple[Dim, ...]:
    by_dim: dict[int, Dim] = dict(zip(r.kept, kept_index))
    by_dim |= dict(zip(r.axes, folded))
    return tuple(by_dim[d] for d in range(len(r.full)))


def _columns(node: Node, body: Computation, reductions: Sequence[Node], target: Target) -> Launch:
    """Reductions that keep the last axis: blocks of columns, rows added to them one by one."""
    r = Reducing(node, body, reductions, target)
    block = r.choices.column_block
    c, nest = r.c, r.c.nest
    last_folded = max(r.axes)
    columns = [d for d in r.kept if d > last_folded]
    outer = [d for d in r.kept if d < last_folded]
    width = product(r.full[d] for d in columns)
    blocks = ceildiv(width, block)
    outer_symbols = [symbol(f"{LOCAL}o{i}", r.full[d]) for i, d in enumerate(outer)]
    by_outer = {d: (0 if r.full[d] == 1 else s) for d, s in zip(outer, outer_symbols)}
    column = symbol(f"{LOCAL}i", width)
    by_column = dict(zip(columns, unravel(column, tuple(r.full[d] for d in columns))))
    kept_index = tuple((by_outer | by_column)[d] for d in r.kept)
    kinds = {n: r.accumulator_dtype(n) for n in reductions}
    scratch = 0
    with nest.loop("p", int_name("begin"), int_name("end")):
        extents = [*(r.full[d] for d in outer), blocks]
        split_flat(c, extents, "o")
        start = nest.named("start", int_sum((block, f"o{len(outer)}")))
        stop = nest.declare("stop", int_sum("start", block))
        nest.assign("stop", int_op("smaller", stop, nest.size(width)))
        for i, n in enumerate(reductions):
            nest.body.append(Carve(f"a{i}", kinds[n], int_number(scratch)))
            scratch += block * max(8, kinds[n].size)
        place = int_sum("i", "-start")
        with nest.loop("i", start, stop):
            for i, n in enumerate(reductions):
                nest.store(f"a{i}", place, r.neutral(n, kinds[n]))
        folded = [r.full[a] for a in r.axes]
        row = symbol(f"{LOCAL}r", product(folded))
        by_row = unravel(row, tuple(folded))
        rows = nest.loop("r", int_number(0), nest.size(product(folded)))
        with rows, nest.loop("i", start, stop):
            index = full_index(r, kept_index, by_row)
            for i, n in enumerate(reductions):
                x = r.prepared(n, index)
                before = nest.let(Load(f"a{i}", place, kinds[n]))
                nest.store(f"a{i}", place, nest.let(r.combine(n, before, x)))
        with nest.loop("i", start, stop):
            for i, n in enumerate(reductions):
                total = nest.let(Load(f"a{i}", place, kinds[n]))
                c.rows[n.output] = (r.row_index(n.output, kept_index), r.finished(n, total))
            for value in body.results:
                index = r.row_index(value, kept_index)
                c.store(value, index, c.element(value, index))
    total = product(r.full[d] for d in outer) * blocks
    cost = body_cost(body).element * block
    grain = r.choices.grain(cost, product(folded))
    return c.launch(target, node.outputs, total, grain, scratch, node)
