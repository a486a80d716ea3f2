"""A loop cluster as a kernel: loop nests, reductions by stages, the range that workers share.

In: a cluster of elementwise ops, views and reductions. Out: a Launch. Three forms:

- pointwise: no reduction (pointwise.py);
- rows: all reductions fold the same axes, among them the last one. A worker takes whole rows; each
  stage is one loop over a row, so that softmax or layer norm is one kernel that reads a row once.
  On a GPU a row may have several lanes, threads that take its elements in turn;
- columns: the last axis is kept, or short runs of elements are folded behind it. A worker takes a
  block of columns and adds rows to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import cast

from flowc.codegen.kernels.builder import (
    LOCAL,
    int_name,
    int_number,
    int_op,
    int_sum,
)
from flowc.codegen.kernels.cluster import (
    ClusterLowering,
    known_product,
    row_major,
    unravel,
)
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import Carve, Index, Load, Name
from flowc.codegen.kernels.pointwise import pointwise_launch, split_flat
from flowc.codegen.kernels.reducing import Reducing, full_index
from flowc.codegen.kernels.row_folds import RowFolds
from flowc.codegen.kernels.row_stages import kept_values, stages_of
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, ceildiv, minimum, product, symbol
from flowc.ir.lowering import Reduction
from flowc.ir.scalar import held_dtype

PART_ROWS = 512  # rows of a column that are added up before their sum joins that of the others


def loop_launch(node: Node, target: Target) -> Launch:
    """The kernel of a cluster of kind `loop`."""
    body: Computation = node.attrs["body"]
    reductions = [n for n in body.nodes if isinstance(n.lowering, Reduction)]
    if not reductions:
        return pointwise_launch(node, body, target)
    r = Reducing(node, body, reductions, target)
    form = _columns if _is_by_columns(r) else _rows
    return form(r, target)


def _is_by_columns(r: Reducing) -> bool:
    if not r.axes or not r.full:
        return False
    if len(r.full) - 1 not in r.axes:
        return True
    apart, run = r.runs()
    size, stages = known_product(run), stages_of(r.body, r.lowerings)
    is_short = size is not None and size <= r.choices.sum_block and r.choices.inner_loops
    in_one_stage = not any(stages[n] for n in r.reductions)
    return (
        is_short and bool(apart) and in_one_stage and all(v.dims != r.full for v in r.body.results)
    )


def _rows(r: Reducing, target: Target) -> Launch:
    body, reductions = r.body, r.reductions
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
    # Where a row has size 1, what a fold gives spans it, but only in name.
    full_results = [v for v in body.results if v.dims == r.full and v.node not in r.lowerings]
    cached = kept_values(body, r.lowerings, stages, r.full, cost) if keeps else []
    places = _places_of(c, cached, full_results)
    scratch: Dim = 0
    with nest.loop("p", int_name("begin"), int_name("end")):
        if kept:
            split_flat(c, kept, "o")
        for value, name in places.items():
            if name in c.out_names.values():
                continue
            dtype = held_dtype(value.type.dtype)
            nest.body.append(Carve(name, dtype, nest.size(scratch)))
            scratch = scratch + ceildiv(row * dtype.size, 64) * 64
        last = max(stages.values(), default=0)
        for stage in range(last + 1):
            folding = [n for n in reductions if stages[n] == stage]
            storing = full_results if stage == last else []
            if folding or storing:
                _row_loop(r, stages, stage, folding, storing, kept_index, places)
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
    return c.launch(target, r.node.outputs, total, grain, scratch, r.node, tail, lanes=r.lanes)


def _places_of(
    c: ClusterLowering, cached: Sequence[Value], results: Sequence[Value]
) -> dict[Value, str]:
    """The buffer of each kept value: that of a result, whose element is stored behind all that read
    it, or scratch. So the result's memory comes into the cache while much is computed."""
    found: dict[Value, str] = {}
    free = list(results)
    for number, value in enumerate(cached):
        dtype = held_dtype(value.type.dtype)
        result = next((v for v in free if v.type.dtype is dtype), None)
        if result is None:
            found[value] = f"kept{number}"
        else:
            free.remove(result)
            found[value] = c.out_names[result]
    return found


def _row_loop(
    r: Reducing,
    stages: dict[Node, int],
    stage: int,
    folding: Sequence[Node],
    storing: Sequence[Value],
    kept_index: Sequence[Dim],
    cached: Mapping[Value, str],
) -> None:
    """One loop over a row: folds what it can, keeps and stores what it must. `cached`: the buffers
    of the values that are kept."""
    c, nest = r.c, r.c.nest
    kinds = {n: r.accumulator_dtype(n) for n in folding}
    for n in folding:
        nest.declare(f"a{r.reductions.index(n)}", r.neutral(n, kinds[n]))
    blocked = bool(folding) and any(
        r.lowerings[n].combine == "add" and kinds[n].is_floating for n in folding
    )
    apart, adjacent = r.runs()
    runs, run = product(apart), product(adjacent)
    size = known_product([run])
    place = symbol(f"{LOCAL}i", run)
    of_run: Dim = symbol(f"{LOCAL}run", runs) if apart else 0
    position = nest.index(of_run * run + place)
    totals = {n: Name(f"a{r.reductions.index(n)}", kind) for n, kind in kinds.items()}
    folds = RowFolds(r, totals, run)
    outputs = c.out_names.values()

    def place_of(value: Value, index: tuple[Dim, ...]) -> Index:
        at_result = cached[value] in outputs
        return nest.index(row_major(value.dims, index)) if at_result else position

    def loop_body() -> None:
        places = [*unravel(of_run, apart), *unravel(place, adjacent)]
        # Where all of a row is one element, its results are known at the very same index.
        folded = [0 if size == 1 else at for size, at in zip([*apart, *adjacent], places)]
        index = full_index(r, kept_index, folded)
        restored = []
        for value in cached:
            if stages[value.node] < stage:
                dtype = held_dtype(value.type.dtype)
                kept = Load(cached[value], place_of(value, index), dtype)
                c.rows[value] = (index, Name(nest.let(kept).name, value.type.dtype))
                restored.append(value)
        for value in cached:
            if stages[value.node] == stage:
                nest.store(cached[value], place_of(value, index), c.element(value, index))
        for n in folding:
            x = r.prepared(n, index)
            name = f"{'part' if blocked else 'a'}{r.reductions.index(n)}"
            folds.join(n, Name(name, x.dtype), x)
            folds.look(n, x)
        for value in storing:
            c.store(value, index, c.element(value, index))
        for value in restored:
            del c.rows[value]

    together = r.choices.sum_block * r.lanes
    is_short = size is not None and size <= together
    all_runs = nest.loop("run", int_number(0), nest.size(runs)) if apart else nullcontext()
    if not blocked:
        with all_runs, nest.loop("i", r.lane, nest.size(run), r.lanes):
            loop_body()
    elif is_short and apart:
        together = max(1, together // max(1, size or 1))
        blocks = nest.loop("block", int_number(0), nest.size(runs), together)
        with blocks, _parts(r, folds, totals):
            several = nest.loop("run", int_name("block"), _end_of_block(r, together, runs))
            with several, nest.loop("i", int_number(0), nest.size(run)):
                loop_body()
    elif is_short:
        with _parts(r, folds, totals), nest.loop("i", r.lane, nest.size(run), r.lanes):
            loop_body()
    else:
        blocks = nest.loop("block", int_number(0), nest.size(run), together)
        with all_runs, blocks, _parts(r, folds, totals):
            first = int_sum("block", "lane") if r.lanes > 1 else int_name("block")
            with nest.loop("i", first, _end_of_block(r, together, run), r.lanes):
                loop_body()
    folds.settle()


def _end_of_block(r: Reducing, together: int, size: Dim) -> Name:
    nest = r.c.nest
    stop = nest.declare("stop", int_sum("block", together))
    nest.assign("stop", int_op("smaller", stop, nest.size(size)))
    return stop


@contextmanager
def _parts(r: Reducing, folds: RowFolds, totals: Mapping[Node, Name]) -> Iterator[None]:
    """Sums of a part of a row, which are added to those of the row behind it."""
    nest = r.c.nest
    parts = {n: Name(f"part{r.reductions.index(n)}", total.dtype) for n, total in totals.items()}
    for n, part in parts.items():
        nest.declare(part.name, r.neutral(n, part.dtype))
    yield
    for n, part in parts.items():
        folds.join(n, totals[n], part)


def _columns(r: Reducing, target: Target) -> Launch:
    """Reductions that keep the last axis, or fold a short run of elements behind the last one that
    they keep: blocks of columns, rows added to them one by one."""
    body, reductions = r.body, r.reductions
    c, nest = r.c, r.c.nest
    apart, run = r.runs()
    block = max(1, r.choices.column_block // (known_product(run) or 1))
    last_folded = r.axes[len(apart) - 1]
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
    rounded = _rounded_sums(reductions, kinds, product(apart))
    scratch = 0
    with nest.loop("p", int_name("begin"), int_name("end")):
        extents = [*(r.full[d] for d in outer), blocks]
        split_flat(c, extents, "o")
        start = nest.named("start", int_sum((block, f"o{len(outer)}")))
        stop = nest.declare("stop", int_sum("start", block))
        nest.assign("stop", int_op("smaller", stop, nest.size(width)))
        sums = {f"a{i}": n for i, n in enumerate(reductions)}
        wholes = {f"whole{i}": n for i, n in enumerate(reductions) if n in rounded}
        for name, n in (sums | wholes).items():
            nest.body.append(Carve(name, kinds[n], int_number(scratch)))
            scratch += block * max(8, kinds[n].size)
        place = int_sum("i", "-start")
        with nest.loop("i", start, stop):
            for name, n in (sums | wholes).items():
                nest.store(name, place, r.neutral(n, kinds[n]))
        row = symbol(f"{LOCAL}r", product(apart))
        of_run = symbol(f"{LOCAL}k", product(run))
        index = full_index(r, kept_index, [*unravel(row, apart), *unravel(of_run, run)])
        with _parts_of_rows(r, product(apart), bool(rounded)) as rows:
            with rows, nest.loop("i", start, stop):
                if run:
                    parts = {n: Name(f"part{i}", kinds[n]) for i, n in enumerate(reductions)}
                    for n, part in parts.items():
                        nest.declare(part.name, r.neutral(n, part.dtype))
                    folds = RowFolds(r, parts, product(run))
                    with nest.loop("k", int_number(0), nest.size(product(run))):
                        for n, part in parts.items():
                            x = r.prepared(n, index)
                            folds.join(n, part, x)
                            folds.look(n, x)
                    folds.settle()
                for i, n in enumerate(reductions):
                    x = Name(f"part{i}", kinds[n]) if run else r.prepared(n, index)
                    before = nest.let(Load(f"a{i}", place, kinds[n]))
                    nest.store(f"a{i}", place, nest.let(r.combine(n, before, x)))
            if rounded:
                with nest.loop("i", start, stop):
                    for i, n in enumerate(reductions):
                        if n in rounded:
                            before = nest.let(Load(f"whole{i}", place, kinds[n]))
                            part = nest.let(Load(f"a{i}", place, kinds[n]))
                            whole = nest.let(r.combine(n, before, part))
                            nest.store(f"whole{i}", place, whole)
                            nest.store(f"a{i}", place, r.neutral(n, kinds[n]))
        with nest.loop("i", start, stop):
            for i, n in enumerate(reductions):
                name = f"whole{i}" if n in rounded else f"a{i}"
                total = nest.let(Load(name, place, kinds[n]))
                c.rows[n.output] = (r.row_index(n.output, kept_index), r.finished(n, total))
            for value in body.results:
                index = r.row_index(value, kept_index)
                c.store(value, index, c.element(value, index))
    total = product(r.full[d] for d in outer) * blocks
    cost = body_cost(body).element * block
    grain = r.choices.grain(cost, product(r.full[a] for a in r.axes))
    return c.launch(target, r.node.outputs, total, grain, scratch, r.node)


def _rounded_sums(
    reductions: Sequence[Node], kinds: Mapping[Node, DType], rows: Dim
) -> frozenset[Node]:
    """The sums that a chain of so many rows would round too often: what is small beside the sum of
    all rows before is lost."""
    if isinstance(rows, int) and rows <= 2 * PART_ROWS:
        return frozenset()
    sums = (n for n in reductions if cast(Reduction, n.lowering).combine == "add")
    return frozenset(n for n in sums if kinds[n].is_floating or kinds[n].is_complex)


@contextmanager
def _parts_of_rows(r: Reducing, rows: Dim, cut: bool) -> Iterator[AbstractContextManager[None]]:
    """The loop over all rows, or over those of a part, of which the caller adds up the sums."""
    nest = r.c.nest
    if not cut:
        yield nest.loop("r", int_number(0), nest.size(rows))
        return
    with nest.loop("part", int_number(0), nest.size(rows), PART_ROWS):
        last = nest.declare("last", int_sum("part", PART_ROWS))
        nest.assign("last", int_op("smaller", last, nest.size(rows)))
        yield nest.loop("r", int_name("part"), last)
