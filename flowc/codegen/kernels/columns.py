"""Reductions that keep the last axis of a cluster, or fold a short run of elements behind the last
one that they keep.

In: the reductions of a loop cluster. Out: a Launch. A worker takes a block of columns, whose
running totals stay near, and adds rows to it one by one. Invariant: what is added up, and in which
order, does not depend on how columns are shared out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import starmap
from typing import cast

from flowc.codegen.kernels.builder import (
    LOCAL,
    NestBuilder,
    compare,
    either,
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
from flowc.codegen.kernels.nest import FOLD, Apply, Carve, Index, Literal, Load, Name, Scalar
from flowc.codegen.kernels.pointwise import split_flat
from flowc.codegen.kernels.reducing import Reducing, full_index
from flowc.codegen.kernels.row_folds import RowFolds
from flowc.codegen.kernels.row_stages import stages_of
from flowc.codegen.kernels.sharing.launch_sizes import is_small
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Node
from flowc.ir.dims import Dim, ceildiv, product, symbol
from flowc.ir.lowering import Reduction

ROWS_TOGETHER = 4  # of a column: a sum in memory waits for the one before
SHORT = 64  # columns, of which LLVM would make vectors only after it has written them out
SHORT_VECTOR = 8  # elements; of others vectors are not full
PART_ROWS = 512  # rows of a column that are added up before their sum joins that of the others


def is_by_columns(r: Reducing) -> bool:
    """Whether reductions keep the last axis, or fold a short run behind one that they keep."""
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


def columns_launch(r: Reducing, target: Target) -> Launch:
    """The kernel of such reductions."""
    by_columns = _ByColumns(r)
    by_columns.emit()
    return by_columns.launch(target)


class _ByColumns:
    """`apart`, `run`: the sizes of the folded axes before the last kept one, and behind it.
    `width`: columns, of which a block has `block`. Totals are `a0 a1 ...`; those that are
    `rounded` add up a part of the rows and then join `whole0 whole1 ...`."""

    def __init__(self, r: Reducing) -> None:
        self.r, self.nest = r, r.c.nest
        self.apart, self.run = r.runs()
        self.block = max(1, r.choices.column_block // (known_product(self.run) or 1))
        last_folded = r.axes[len(self.apart) - 1]
        columns = [d for d in r.kept if d > last_folded]
        outer = [d for d in r.kept if d < last_folded]
        self.outer = [r.full[d] for d in outer]
        self.width = product(r.full[d] for d in columns)
        self.blocks = ceildiv(self.width, self.block)
        outer_symbols = [symbol(f"{LOCAL}o{i}", size) for i, size in enumerate(self.outer)]
        by_outer = {d: (0 if r.full[d] == 1 else s) for d, s in zip(outer, outer_symbols)}
        column = symbol(f"{LOCAL}i", self.width)
        by_column = dict(zip(columns, unravel(column, tuple(r.full[d] for d in columns))))
        self.kept_index = tuple((by_outer | by_column)[d] for d in r.kept)
        self.kinds = {n: r.accumulator_dtype(n) for n in r.reductions}
        self.rounded = _rounded_sums(r.reductions, self.kinds, product(self.apart))
        self.place = int_name("i") if self.blocks == 1 else int_sum("i", "-start")
        self.scratch = 0

    def launch(self, target: Target) -> Launch:
        r = self.r
        total = product(self.outer) * self.blocks
        columns = (
            self.block if not isinstance(self.width, int) else max(1, min(self.block, self.width))
        )
        cost = body_cost(r.body).element * columns
        grain = r.choices.grain(cost, product(r.full[a] for a in r.axes))
        return r.c.launch(target, r.node.outputs, total, grain, self.scratch, r.node)

    def emit(self) -> None:
        with self.nest.loop("p", int_name("begin"), int_name("end")):
            columns = self._columns()
            self._begin(columns)
            self._add_rows(columns)
            self._finish(columns)

    def _columns(self) -> tuple[Index, Index]:
        """The first column of a block, and the one behind its last. Of one block LLVM knows where
        it starts, and of few columns where it ends."""
        nest = self.nest
        extents = [*self.outer, *([] if self.blocks == 1 else [self.blocks])]
        if extents:
            split_flat(self.r.c, extents, "o")
        stop = nest.size(self.width)
        if self.blocks == 1:
            return int_number(0), stop
        start = nest.named("start", int_sum((self.block, f"o{len(self.outer)}")))
        end = nest.declare("stop", int_sum("start", self.block))
        nest.assign("stop", int_op("smaller", end, stop))
        return start, end

    def _begin(self, columns: tuple[Index, Index]) -> None:
        """Carves the totals, and makes them those of no rows."""
        nest, reductions = self.nest, self.r.reductions
        totals = {f"a{i}": n for i, n in enumerate(reductions)}
        totals |= {f"whole{i}": n for i, n in enumerate(reductions) if n in self.rounded}
        for name, n in totals.items():
            nest.body.append(Carve(name, self.kinds[n], int_number(self.scratch)))
            self.scratch += self.block * max(8, self.kinds[n].size)
        with nest.loop("i", *columns):
            for name, n in totals.items():
                nest.store(name, self.place, self.r.neutral(n, self.kinds[n]))

    def _add_rows(self, columns: tuple[Index, Index]) -> None:
        r, nest = self.r, self.nest
        is_plain = not (self.run or body_cost(r.body).has_compute_bound or is_small(r.node))
        is_short = isinstance(self.width, int) and self.width < SHORT
        fills_vectors = is_short and self.width % SHORT_VECTOR == 0 and not is_small(r.node)
        together = ROWS_TOGETHER if is_plain and (fills_vectors or not is_short) else 1
        with _parts_of_rows(r, product(self.apart), bool(self.rounded), together) as loops:
            for rows, count in loops:
                with rows, nest.loop("i", *columns):
                    self._add(count)
                    if fills_vectors and r.choices.inner_loops:
                        nest.invoke("keep_rolled")
            if self.rounded:
                with nest.loop("i", *columns):
                    self._join_parts()

    def _add(self, count: int) -> None:
        """Adds the elements of a column in so many rows from `r` on to its totals."""
        r = self.r
        row = symbol(f"{LOCAL}r", product(self.apart))
        sums = _of_runs(r, self.kinds, self._index(row), product(self.run)) if self.run else {}
        for i, n in enumerate(r.reductions):
            x = sums.get(n)
            if x is not None:
                self._join(f"a{i}", n, x)
                continue
            elements = [r.prepared(n, self._index(row + k)) for k in range(count)]
            if count > 1 and r.looks_for_nan(n, self.kinds[n]):
                self._join_extreme(f"a{i}", n, elements)
            else:
                self._join(f"a{i}", n, _total_of(r, n, elements))

    def _index(self, row: Dim) -> tuple[Dim, ...]:
        """That of an element of a row, and of the run behind it, by `k`."""
        of_run = symbol(f"{LOCAL}k", product(self.run))
        folded = [*unravel(row, self.apart), *unravel(of_run, self.run)]
        return full_index(self.r, self.kept_index, folded)

    def _join_parts(self) -> None:
        """Adds the sums of a part of the rows to those of all, and begins the next part."""
        for i, n in enumerate(self.r.reductions):
            if n in self.rounded:
                self._join(f"whole{i}", n, Load(f"a{i}", self.place, self.kinds[n]))
                self.nest.store(f"a{i}", self.place, self.r.neutral(n, self.kinds[n]))

    def _join(self, total: str, n: Node, x: Scalar | Load) -> None:
        """Combines a total with what is computed, or with another one in memory."""
        before = self.nest.let(Load(total, self.place, self.kinds[n]))
        found = self.nest.let(x) if isinstance(x, Load) else x
        joined = self.r.combine(n, before, found, in_one_order=True)
        self.nest.store(total, self.place, self.nest.let(joined))

    def _join_extreme(self, total: str, n: Node, elements: Sequence[Scalar]) -> None:
        """The largest or smallest of a total and some elements: of numbers first, and NaN where one
        of them is, for which a comparison looks at two at once."""
        nest, dtype = self.nest, self.kinds[n]
        among = [nest.let(Load(total, self.place, dtype)), *elements]
        faults = [nest.let(compare("ne", x, x)) for x in among]
        fault = _in_pairs(faults, lambda x, y: nest.let(either(x, y)))
        how = f"{FOLD}{self.r.lowerings[n].combine}_number"
        number = _in_pairs(among, lambda x, y: nest.let(Apply(how, (x, y), dtype)))
        chosen = Apply("select", (fault, Literal("nan", dtype), number), dtype)
        nest.store(total, self.place, nest.let(chosen))

    def _finish(self, columns: tuple[Index, Index]) -> None:
        """What the cluster makes of the totals, column by column."""
        r, c, nest = self.r, self.r.c, self.nest
        with nest.loop("i", *columns):
            for i, n in enumerate(r.reductions):
                name = f"whole{i}" if n in self.rounded else f"a{i}"
                total = nest.let(Load(name, self.place, self.kinds[n]))
                c.rows[n.output] = (r.row_index(n.output, self.kept_index), r.finished(n, total))
            for value in r.body.results:
                index = r.row_index(value, self.kept_index)
                c.store(value, index, c.element(value, index))


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


def _total_of(r: Reducing, n: Node, elements: Sequence[Scalar]) -> Scalar:
    return _in_pairs(elements, lambda x, y: r.c.nest.let(r.combine(n, x, y, in_one_order=True)))


def _in_pairs(elements: Sequence[Scalar], join: Callable[[Scalar, Scalar], Scalar]) -> Scalar:
    """Neighbours first, then what is made of them."""
    found = list(elements)
    while len(found) > 1:
        pairs = zip(found[::2], found[1::2])
        found = [*starmap(join, pairs), *found[len(found) & ~1 :]]
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
