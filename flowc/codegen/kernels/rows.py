"""Reductions over the last axes, among others, as loops over rows.

In: reductions that fold the same axes. Out: a Launch. Each stage is a loop over a row, so that
softmax or layer norm is one kernel that reads a row once. Short rows go through the stages several
together: a row's total is known long after its last element is, and other rows fill the time. On a
GPU a row may have several lanes, threads that take its elements in turn. Invariant: how the
elements of a row meet depends on its size alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

from flowc.codegen.kernels.builder import INLINE_SIZES, LOCAL, int_name, int_number, int_op, int_sum
from flowc.codegen.kernels.cluster import known_product, row_major, unravel
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import Carve, Index, Load, Name
from flowc.codegen.kernels.pointwise import split_flat
from flowc.codegen.kernels.reducing import Reducing, full_index
from flowc.codegen.kernels.row_folds import RowFolds
from flowc.codegen.kernels.row_stages import divides_rows, kept_values, stages_of
from flowc.codegen.kernels.rows_in_lanes import rows_in_lanes
from flowc.codegen.kernels.sharing.launch_sizes import is_small
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, ceildiv, minimum, product, symbol
from flowc.ir.scalar import compute_dtype


def rows_launch(r: Reducing, again: Callable[[], Reducing], target: Target) -> Launch:
    """The kernel of these reductions, of which `again` makes another `Reducing`. A row's indices
    follow from its number by divisions, which no address needs where rows follow each other."""
    in_lanes = rows_in_lanes(again, target)
    if in_lanes is not None:
        return in_lanes
    rows = _RowLoops(r, target, in_order=True)
    rows.emit()
    if divides_rows(r.c.nest.body):
        rows = _RowLoops(again(), target, in_order=False)
        rows.emit()
    return rows.launch()


class _RowLoops:
    """`in_order`: addresses follow from a row's number, else from its indices. `together`: rows
    that go through a stage before the next. `cached`: the values that are kept between stages,
    `places`: the buffer of each. `lanes`: elements in a vector, 0 where LLVM is told nothing."""

    def __init__(self, r: Reducing, target: Target, in_order: bool) -> None:
        self.r, self.target, self.in_order = r, target, in_order
        body, choices = r.body, r.choices
        self.kept = r.kept_sizes
        self.row = product(r.full[a] for a in r.axes)
        self.stages = stages_of(body, r.lowerings)
        self.last = max(self.stages.values(), default=0)
        self.cost = body_cost(body)
        if not any(r.accumulator_dtype(n).is_complex for n in r.reductions):
            r.lanes = choices.lanes(self.row, product(self.kept))
        # What lanes computed before they compute again.
        keeps = self.row != 0 and r.lanes == 1
        # Where a row has size 1, what a fold gives spans it, but only in name.
        self.results = [v for v in body.results if v.dims == r.full and v.node not in r.lowerings]
        self.cached = (
            kept_values(body, r.lowerings, self.stages, r.full, self.cost) if keeps else []
        )
        self.places = self._places()
        self.is_small = is_small(r.node)
        values = (*r.node.inputs, *r.node.outputs)
        widest = max(compute_dtype(v.type.dtype).size for v in values)
        in_vectors = r.lanes == 1 and not self.is_small
        self.lanes = choices.vector_bytes // widest if in_vectors else 0
        self.together = 1
        if self.last and r.lanes == 1 and not self.is_small:
            self.together = choices.rows_together(self._row_bytes())
        self.scratch: Dim = 0
        self.index: tuple[Dim, ...] = ()
        if in_order:
            self.index = unravel(symbol(f"{LOCAL}p", product(self.kept)), self.kept)
        else:
            outer = (symbol(f"{LOCAL}o{i}", size) for i, size in enumerate(self.kept))
            self.index = tuple(0 if size == 1 else s for size, s in zip(self.kept, outer))

    def _places(self) -> dict[Value, str]:
        """The buffer of each kept value: that of a result, whose element is stored behind all that
        read it, or scratch. So the result's memory comes into the cache while much is computed."""
        found: dict[Value, str] = {}
        free = list(self.results)
        for number, value in enumerate(self.cached):
            dtype = compute_dtype(value.type.dtype)
            result = next((v for v in free if v.type.dtype is dtype), None)
            if result is None:
                found[value] = f"kept{number}"
            else:
                free.remove(result)
                found[value] = self.r.c.out_names[result]
        return found

    def _row_bytes(self) -> Dim:
        """What all stages of a row read, write and keep."""
        r = self.r
        spans = [p.output for p in r.body.parameters if p.output.dims == r.full]
        spans += [*self.results, *(v for v in self.cached if not self._is_at_result(v))]
        return self.row * sum(compute_dtype(v.type.dtype).size for v in spans)

    def _is_at_result(self, value: Value) -> bool:
        return self.places[value] in self.r.c.out_names.values()

    def launch(self) -> Launch:
        r, total = self.r, product(self.kept)
        if len(self.results) == len(r.body.results):
            total = minimum(total, total * self.row)  # of empty rows there may be any number
        grain = r.choices.grain(self.cost.element, self.row)
        tail = ("begin", "end", "lane", "lanes")[: 4 if r.lanes > 1 else 2]
        return r.c.launch(
            self.target,
            r.node.outputs,
            total,
            grain,
            self.scratch,
            r.node,
            tail,
            lanes=r.lanes,
        )

    # -- statements

    def emit(self) -> None:
        nest, together = self.r.c.nest, self.together
        if together == 1:
            with nest.loop("p", int_name("begin"), int_name("end")):
                self._locate()
                self._carve()
                for stage in range(self.last + 1):
                    self._stage(stage)
                self._store_totals()
            return
        with nest.loop("first", int_name("begin"), int_name("end"), together):
            past = nest.declare("past", int_sum("first", together))
            nest.assign("past", int_op("smaller", past, int_name("end")))
            self._carve()
            for stage in range(self.last + 1):
                with nest.loop("p", int_name("first"), int_name("past")):
                    self._locate()
                    self._recall(stage)
                    self._stage(stage)
                    self._hand_on(stage)
                    if stage == self.last:
                        self._store_totals()

    def _locate(self) -> None:
        if self.kept and not self.in_order:
            split_flat(self.r.c, self.kept, "o")

    def _carve(self) -> None:
        """Parts of scratch: what is kept of rows, and the totals of several."""
        for value, name in self.places.items():
            if not self._is_at_result(value):
                self._carve_part(name, compute_dtype(value.type.dtype), self.row * self.together)
        if self.together > 1:
            for number, n in enumerate(self.r.reductions):
                if self.stages[n] < self.last:
                    self._carve_part(f"total{number}", _held(n), self.together)

    def _carve_part(self, name: str, dtype: DType, count: Dim) -> None:
        nest = self.r.c.nest
        nest.body.append(Carve(name, dtype, nest.size(self.scratch)))
        self.scratch = self.scratch + ceildiv(count * dtype.size, 64) * 64

    def _recall(self, stage: int) -> None:
        """The totals of stages before."""
        r, nest = self.r, self.r.c.nest
        for number, n in enumerate(r.reductions):
            if self.stages[n] < stage:
                found = nest.let(Load(f"total{number}", _OF_ROW, _held(n)))
                x = Name(found.name, n.output.type.dtype)
                r.c.rows[n.output] = (r.row_index(n.output, self.index), x)

    def _hand_on(self, stage: int) -> None:
        for number, n in enumerate(self.r.reductions):
            if self.stages[n] == stage < self.last:
                self.r.c.nest.store(f"total{number}", _OF_ROW, self.r.c.rows[n.output][1])

    def _stage(self, stage: int) -> None:
        r = self.r
        folding = [n for n in r.reductions if self.stages[n] == stage]
        storing = self.results if stage == self.last else []
        if folding or storing:
            self._row_loop(stage, folding, storing)
        for n in folding:
            total = Name(f"a{r.reductions.index(n)}", r.accumulator_dtype(n))
            r.join_lanes(n, total)
            x = r.finished(n, total)
            r.c.rows[n.output] = (r.row_index(n.output, self.index), x)

    def _store_totals(self) -> None:
        """Results that have one element a row."""
        r = self.r
        of_rows = [v for v in r.body.results if v not in self.results]
        with r.first_lane() if of_rows else nullcontext():
            for value in of_rows:
                index = r.row_index(value, self.index)
                r.c.store(value, index, r.c.element(value, index))

    def _row_loop(self, stage: int, folding: Sequence[Node], storing: Sequence[Value]) -> None:
        """One loop over a row: folds what it can, keeps and stores what it must."""
        r, nest = self.r, self.r.c.nest
        kinds = {n: r.accumulator_dtype(n) for n in folding}
        for n in folding:
            nest.declare(f"a{r.reductions.index(n)}", r.neutral(n, kinds[n]))
        blocked = any(
            r.lowerings[n].combine == "add" and kind.is_floating for n, kind in kinds.items()
        )
        apart, adjacent = r.runs()
        runs, run = product(apart), product(adjacent)
        size = known_product([run])
        totals = {n: Name(f"a{r.reductions.index(n)}", kind) for n, kind in kinds.items()}
        folds = RowFolds(r, totals, run)
        element = partial(self._element, stage, folds, storing, blocked)
        together = r.choices.sum_block * r.lanes
        is_short = size is not None and size <= together
        all_runs = nest.loop("run", int_number(0), nest.size(runs)) if apart else nullcontext()
        if not blocked:
            with all_runs, nest.loop("i", r.lane, self._end(run), r.lanes):
                element()
        elif is_short and apart:
            together = max(1, together // max(1, size or 1))
            blocks = nest.loop("block", int_number(0), nest.size(runs), together)
            with blocks, _parts(r, folds, totals):
                several = nest.loop("run", int_name("block"), _end_of_block(r, together, runs))
                with several, nest.loop("i", int_number(0), self._end(run)):
                    element()
        elif is_short:
            with _parts(r, folds, totals), nest.loop("i", r.lane, self._end(run), r.lanes):
                element()
        else:
            blocks = nest.loop("block", int_number(0), nest.size(run), together)
            with all_runs, blocks, _parts(r, folds, totals):
                first = int_sum("block", "lane") if r.lanes > 1 else int_name("block")
                with nest.loop("i", first, _end_of_block(r, together, run), r.lanes):
                    element()
        folds.settle()

    def _element(
        self, stage: int, folds: RowFolds, storing: Sequence[Value], blocked: bool
    ) -> None:
        """The body of a loop over a row. `blocked`: sums go to those of a part of it."""
        r, c, nest = self.r, self.r.c, self.r.c.nest
        apart, adjacent = r.runs()
        run = product(adjacent)
        place = symbol(f"{LOCAL}i", run)
        of_run: Dim = symbol(f"{LOCAL}run", product(apart)) if apart else 0
        places = [*unravel(of_run, apart), *unravel(place, adjacent)]
        # Where all of a row is one element, its results are known at the very same index.
        folded = [0 if size == 1 else at for size, at in zip([*apart, *adjacent], places)]
        index = full_index(r, self.index, folded)
        position = of_run * run + place
        if self.together > 1:
            number = symbol(f"{LOCAL}p") - symbol(f"{LOCAL}first")
            position = position + number * self.row
        restored = [v for v in self.cached if self.stages[v.node] < stage]
        for value in restored:
            dtype = compute_dtype(value.type.dtype)
            kept = Load(self.places[value], self._place_of(value, index, position), dtype)
            c.rows[value] = (index, Name(nest.let(kept).name, value.type.dtype))
        for value in self.cached:
            if self.stages[value.node] == stage:
                at = self._place_of(value, index, position)
                nest.store(self.places[value], at, c.element(value, index))
        for n in folds.totals:
            x = r.prepared(n, index)
            name = f"{'part' if blocked else 'a'}{r.reductions.index(n)}"
            folds.join(n, Name(name, x.dtype), x)
            folds.look(n, x)
        for value in storing:
            c.store(value, index, c.element(value, index))
        for value in restored:
            del c.rows[value]
        self._end_loop(run)

    def _place_of(self, value: Value, index: tuple[Dim, ...], position: Dim) -> Index:
        at = row_major(value.dims, index) if self._is_at_result(value) else position
        return self.r.c.nest.index(at)

    def _end(self, run: Dim) -> Index:
        """Where a loop over a run ends. Of whole vectors, LLVM is told that there are: it makes no
        code for a rest then, whose constants would take registers."""
        nest = self.r.c.nest
        if isinstance(run, int) and run >= INLINE_SIZES:
            unit = self._vectors(run) * self.lanes
            if unit and run % unit == 0:
                return int_sum((unit, nest.parameter(run // unit).name))
        return nest.size(run)

    def _end_loop(self, run: Dim) -> None:
        """Says how many vectors of a run are computed at a time, if not as many as LLVM likes."""
        if isinstance(run, int) and run >= INLINE_SIZES:
            mark = _MARKS.get(self._vectors(run))
            if mark is not None:
                self.r.c.nest.invoke(mark)

    def _vectors(self, run: int) -> int:
        """How many vectors of a run are computed at a time: so many that none is left over; 0 where
        a run has none, or is not computed in vectors."""
        count = run // self.lanes if self.lanes else 0
        if count == 0 or run >= self.r.choices.short:
            return min(count, MOST_VECTORS)
        return next(n for n in (MOST_VECTORS, 2, 1) if count % n == 0)


MOST_VECTORS = 4  # as many as LLVM takes of loops that it knows nothing of
_MARKS = {1: "interleave_one", 2: "interleave_two"}
_OF_ROW = int_sum("p", "-first")


def _held(n: Node) -> DType:
    return compute_dtype(n.output.type.dtype)


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
