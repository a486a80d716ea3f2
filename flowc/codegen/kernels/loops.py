"""A loop cluster as a kernel: which form of loops, and reductions that keep the last axis.

In: a cluster of elementwise ops, views and reductions. Out: a Launch. Three forms:

- pointwise: no reduction (pointwise.py);
- rows: all reductions fold the same axes, among them the last one, and a worker takes whole rows
  (rows.py);
- columns: the last axis is kept, or short runs of elements are folded behind it. A worker takes a
  block of columns and adds rows to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import cast

from flowc.codegen.kernels.builder import (
    LOCAL,
    NestBuilder,
    int_name,
    int_number,
    int_op,
    int_sum,
)
from flowc.codegen.kernels.cluster import (
    known_product,
    unravel,
)
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import Carve, Index, Load, Name, Scalar
from flowc.codegen.kernels.pointwise import pointwise_launch, split_flat
from flowc.codegen.kernels.reducing import Reducing, full_index
from flowc.codegen.kernels.row_folds import RowFolds
from flowc.codegen.kernels.row_stages import stages_of
from flowc.codegen.kernels.rows import rows_launch
from flowc.codegen.kernels.sharing.launch_sizes import is_small
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, ceildiv, product, symbol
from flowc.ir.lowering import Reduction

ROWS_TOGETHER = 4  # of a column: a sum in memory waits for the one before
SHORT = 64  # columns, of which LLVM would make vectors only after it has written them out
SHORT_VECTOR = 8  # elements; of others vectors are not full
PART_ROWS = 512  # rows of a column that are added up before their sum joins that of the others


def loop_launch(node: Node, target: Target) -> Launch:
    """The kernel of a cluster of kind `loop`."""
    body: Computation = node.attrs["body"]
    reductions = [n for n in body.nodes if isinstance(n.lowering, Reduction)]
    if not reductions:
        return pointwise_launch(node, body, target)
    again = partial(Reducing, node, body, reductions, target)
    r = again()
    return _columns(r, target) if _is_by_columns(r) else rows_launch(r, again, target)


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
        extents = [*(r.full[d] for d in outer), *([] if blocks == 1 else [blocks])]
        if extents:
            split_flat(c, extents, "o")
        # Of one block LLVM knows where it starts, and of few columns where it ends.
        start, stop = int_number(0), nest.size(width)
        if blocks != 1:
            start = nest.named("start", int_sum((block, f"o{len(outer)}")))
            end = nest.declare("stop", int_sum("start", block))
            nest.assign("stop", int_op("smaller", end, stop))
            stop = end
        sums = {f"a{i}": n for i, n in enumerate(reductions)}
        wholes = {f"whole{i}": n for i, n in enumerate(reductions) if n in rounded}
        for name, n in (sums | wholes).items():
            nest.body.append(Carve(name, kinds[n], int_number(scratch)))
            scratch += block * max(8, kinds[n].size)
        place = int_name("i") if blocks == 1 else int_sum("i", "-start")
        with nest.loop("i", start, stop):
            for name, n in (sums | wholes).items():
                nest.store(name, place, r.neutral(n, kinds[n]))
        row = symbol(f"{LOCAL}r", product(apart))
        of_run = symbol(f"{LOCAL}k", product(run))
        at = lambda row: full_index(r, kept_index, [*unravel(row, apart), *unravel(of_run, run)])
        is_plain = not (run or body_cost(body).has_compute_bound or is_small(r.node))
        is_short = isinstance(width, int) and width < SHORT
        fills_vectors = is_short and width % SHORT_VECTOR == 0 and not is_small(r.node)
        together = ROWS_TOGETHER if is_plain and (fills_vectors or not is_short) else 1
        with _parts_of_rows(r, product(apart), bool(rounded), together) as loops:
            for rows, count in loops:
                with rows, nest.loop("i", start, stop):
                    found = _of_runs(r, kinds, at(row), product(run)) if run else {}
                    for i, n in enumerate(reductions):
                        x = found.get(n)
                        if x is None:
                            x = _sum_of(r, n, [r.prepared(n, at(row + k)) for k in range(count)])
                        before = nest.let(Load(f"a{i}", place, kinds[n]))
                        nest.store(f"a{i}", place, nest.let(r.combine(n, before, x)))
                    if fills_vectors and r.choices.inner_loops:
                        nest.invoke("keep_rolled")
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


def _of_runs(
    r: Reducing, kinds: Mapping[Node, DType], index: tuple[Dim, ...], run: Dim
) -> dict[Node, Scalar]:
    """The sum of a run of elements for each reduction. `index`: of its elements, by `k`."""
    nest = r.c.nest
    parts = {n: Name(f"part{i}", kinds[n]) for i, n in enumerate(r.reductions)}
    for n, part in parts.items():
        nest.declare(part.name, r.neutral(n, part.dtype))
    folds = RowFolds(r, parts, run)
    with nest.loop("k", int_number(0), nest.size(run)):
        for n, part in parts.items():
            x = r.prepared(n, index)
            folds.join(n, part, x)
            folds.look(n, x)
    folds.settle()
    return {**parts}


def _sum_of(r: Reducing, n: Node, elements: Sequence[Scalar]) -> Scalar:
    """Neighbours first, then what is made of them."""
    found = list(elements)
    while len(found) > 1:
        found = [r.c.nest.let(r.combine(n, *pair)) for pair in zip(found[::2], found[1::2])]
    return found[0]


@contextmanager
def _parts_of_rows(
    r: Reducing, rows: Dim, cut: bool, together: int
) -> Iterator[Sequence[tuple[AbstractContextManager[None], int]]]:
    """The loops over all rows, or over those of a part, of which the caller adds up the sums: over
    so many rows `together`, and over those that are left; each with how many it takes at once."""
    nest = r.c.nest
    is_whole = isinstance(rows, int) and rows % together == 0
    if not cut:
        yield _loops_of_rows(nest, int_number(0), nest.size(rows), together, is_whole)
        return
    with nest.loop("part", int_number(0), nest.size(rows), PART_ROWS):
        last = nest.declare("last", int_sum("part", PART_ROWS))
        nest.assign("last", int_op("smaller", last, nest.size(rows)))
        # A part begins at a multiple of what goes together.
        yield _loops_of_rows(nest, int_name("part"), last, together, is_whole)


def _loops_of_rows(
    nest: NestBuilder, first: Index, last: Index, together: int, is_whole: bool
) -> Sequence[tuple[AbstractContextManager[None], int]]:
    """From a multiple of `together`, and to one if it `is_whole`."""
    if is_whole:
        return [(nest.loop("r", first, last, together), together)]
    count = nest.let(int_op("idiv", last, int_number(together)), "q")
    whole = int_sum((together, count.name))
    return [
        (nest.loop("r", first, whole, together), together),
        (nest.loop("r", whole, last), 1),
    ]
