"""Reductions over short last axes, with neighbouring rows in neighbouring lanes of vectors.

In: reductions that fold the same last axes, of few elements. Out: a Launch. What a block of rows
reads is transposed into scratch, where the elements of a column are neighbours; then each stage is
a loop over columns, and inside of it one over the rows of the block, in whole vectors: no total is
joined from the lanes of a vector, and no row has a rest. Results are transposed back. Invariant:
the elements of a row meet in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flowc.codegen.kernels.builder import (
    INLINE_SIZES,
    LOCAL,
    compare,
    has_local,
    int_name,
    int_number,
    int_op,
    int_sum,
    linear_factors,
)
from flowc.codegen.kernels.cluster import Read, known_product, unravel
from flowc.codegen.kernels.cost import body_cost
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import COLUMNS, MOVE, Address, Carve, Load, Name, Scalar
from flowc.codegen.kernels.reducing import Reducing, full_index
from flowc.codegen.kernels.row_stages import divides_rows, kept_values, stages_of
from flowc.codegen.kernels.sharing.launch_sizes import is_small
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Symbol, ceildiv, product, substitute, symbol
from flowc.ir.scalar import compute_dtype

MOST_ROWS = 64  # of a block
PART_BYTES = 16  # of a row, that are transposed at a time

_ROW, _COLUMN = Symbol(f"{LOCAL}p"), Symbol(f"{LOCAL}i")
_IN_BLOCK = int_sum("p", "-first")


def rows_in_lanes(again: Callable[[], Reducing], target: Target) -> Launch | None:
    """The kernel of what `again` makes; None where rows are not short, or are few, or elements
    stand where no tile can be transposed."""
    r = again()
    if not _has_short_rows(r):
        return None
    probe = _RowsInLanes(r, {})
    probe.emit()
    transposed = probe.transposed_reads()
    if transposed is None:
        return None
    found = _RowsInLanes(again(), transposed)
    found.emit()
    return found.launch(target)


def _has_short_rows(r: Reducing) -> bool:
    """Whether rows are short, and known to be more than few, and pass through several stages or
    much is computed: LLVM makes vectors of rows that it folds once, and of long ones."""
    choices = r.choices
    row, rows = known_product([r.full[a] for a in r.axes]), known_product(r.kept_sizes)
    if not choices.vector_bytes or row is None or rows is None or is_small(r.node):
        return False
    if not 1 < row < INLINE_SIZES or rows < choices.tile_side or r.runs()[0]:
        return False
    is_folded_once = not any(stages_of(r.body, r.lowerings).values())
    if is_folded_once and not body_cost(r.body).has_compute_bound:
        return False
    dtypes = [v.type.dtype for v in (*r.node.inputs, *r.node.outputs)]
    return not any(d.is_complex for d in (*dtypes, *map(r.accumulator_dtype, r.reductions))) and (
        all(compute_dtype(v.type.dtype) is v.type.dtype for v in r.node.outputs)
    )


class _RowsInLanes:
    """`transposed`: the reads that scratch stands in for, each with the distance of its rows and
    the position of element 0 of row 0. `block`: rows that are computed together."""

    def __init__(self, r: Reducing, transposed: dict[Read, tuple[Dim, Dim]]) -> None:
        self.r, self.transposed = r, transposed
        body = r.body
        self.kept = r.kept_sizes
        self.row = known_product([r.full[a] for a in r.axes]) or 0
        self.rows = known_product(self.kept) or 0
        self.stages = stages_of(body, r.lowerings)
        self.last = max(self.stages.values(), default=0)
        self.cost = body_cost(body)
        self.results = [v for v in body.results if v.dims == r.full and v.node not in r.lowerings]
        self.cached = kept_values(body, r.lowerings, self.stages, r.full, self.cost)
        self.index = unravel(symbol(_ROW.name, product(self.kept)), self.kept)
        place = unravel(symbol(_COLUMN.name, self.row), tuple(r.full[a] for a in r.axes))
        self.full_index = full_index(r, self.index, place)
        self.of_rows = self._values_of_rows()
        self.places = self._places()
        spans = len(transposed) + len({*self.places.values()})
        self.block = self._block(max(1, spans))
        self.has_edges = self.rows % self.block != 0
        self.in_column = int_sum((self.block, "i"), "p", "-first")
        self.scratch = 0

    def _places(self) -> dict[Value, str]:
        """The buffer of each kept value and result: that of a kept one for a result which is stored
        behind all that read it."""
        found = {value: f"kept{number}" for number, value in enumerate(self.cached)}
        free = [value for value in self.cached if value not in self.results]
        for number, value in enumerate(self.results):
            if value not in found:
                same = (v for v in free if compute_dtype(v.type.dtype) is value.type.dtype)
                kept = next(same, None)
                found[value] = f"result{number}" if kept is None else found[kept]
                free = [v for v in free if v is not kept]
        return found

    def _block(self, spans: int) -> int:
        size = max(compute_dtype(v.type.dtype).size for v in self.r.node.outputs)
        block = MOST_ROWS
        while block > self.r.choices.tile_side and block * self.row * size * spans > (
            self.r.choices.near
        ):
            block //= 2
        # Of a block whose height is not known LLVM makes each loop twice.
        is_whole = self.rows < block and self.rows % self.r.choices.tile_side == 0
        return self.rows if is_whole else block

    def _values_of_rows(self) -> list[Value]:
        """What has one element a row and follows from totals: computed once, not in each column."""
        r = self.r
        dims = tuple(1 if d in r.axes else size for d, size in enumerate(r.full))
        of_rows = {
            n: users
            for n, users in ((n, r.body.users()[n.output]) for n in self.stages if n.outputs)
            if n not in r.lowerings and self.stages[n] and n.output.dims == dims
        }
        return [n.output for n, users in of_rows.items() if any(u not in of_rows for u in users)]

    def transposed_reads(self) -> dict[Read, tuple[Dim, Dim]] | None:
        """The reads that step over rows, where every other one is of the same element for a column
        or a row, or of neighbours for neighbouring rows; None where one is not, or may fail."""
        c, found = self.r.c, dict[Read, tuple[Dim, Dim]]()
        stored = len(self.r.body.results) - len(self.results)
        is_plain = len(c.addresses) == len(c.reads) + stored and not divides_rows(c.nest.body)
        if c.nest.faults or not is_plain:
            return None
        for read in dict.fromkeys(c.reads):
            factors = linear_factors(read.address)
            distance, step = factors.get(_ROW, 0), factors.get(_COLUMN, 0)
            rest = substitute(read.address, {_ROW: 0, _COLUMN: 0})
            linear = rest + symbol(_ROW.name) * distance + symbol(_COLUMN.name) * step
            if linear != read.address or has_local(rest):
                return None
            if step == 1 and isinstance(distance, int) and distance >= self.row:
                found[read] = distance, rest
            elif distance not in (0, 1):
                return None
        return found

    def launch(self, target: Target) -> Launch:
        r = self.r
        grain = r.choices.grain(self.cost.element, self.row * self.block)
        total = ceildiv(self.rows, self.block)
        return r.c.launch(target, r.node.outputs, total, grain, self.scratch, r.node)

    # -- statements

    def emit(self) -> None:
        nest = self.r.c.nest
        with nest.loop("block", int_name("begin"), int_name("end")):
            nest.named("first", int_sum((self.block, "block")))
            past = nest.declare("past", int_sum("first", self.block))
            if self.has_edges:
                nest.assign("past", int_op("smaller", past, nest.parameter(self.rows)))
                count = nest.named("count", int_sum("past", "-first"))
                nest.named("tiles", int_op("idiv", count, int_number(self.r.choices.tile_side)))
            self._carve()
            for number, read in enumerate(self.transposed):
                self._transpose_in(number, read)
            for stage in range(self.last + 1):
                self._stage(stage)
            for value in self.results:
                self._transpose_out(value)

    def _carve(self) -> None:
        """Parts of scratch, one after another."""
        for number, read in enumerate(self.transposed):
            self._carve_part(f"transposed{number}", read.dtype, self.row)
        for name, value in {name: value for value, name in self.places.items()}.items():
            self._carve_part(name, compute_dtype(value.type.dtype), self.row)
        for number, n in enumerate(self.r.reductions):
            self._carve_part(f"a{number}", self.r.accumulator_dtype(n), 1)
            self._carve_part(f"total{number}", compute_dtype(n.output.type.dtype), 1)
        for number, value in enumerate(self.of_rows):
            self._carve_part(f"row{number}", compute_dtype(value.type.dtype), 1)

    def _carve_part(self, name: str, dtype: DType, columns: int) -> None:
        nest = self.r.c.nest
        nest.body.append(Carve(name, dtype, nest.size(self.scratch)))
        # Tiles are transposed into whole vectors.
        self.scratch += -(-columns * self.block * dtype.size // 64) * 64

    @contextmanager
    def _tiles(self) -> Iterator[None]:
        """Statements for each whole tile of rows."""
        nest, side = self.r.c.nest, self.r.choices.tile_side
        with nest.loop("top", int_name("first"), int_name("past"), side):
            if not self.has_edges:
                yield
                return
            whole = compare("ge", int_sum("past", "-top"), int_number(side))
            with nest.when(whole):
                yield

    @contextmanager
    def _each(self) -> Iterator[None]:
        """A loop over the rows of the block."""
        nest = self.r.c.nest
        stop = int_name("past") if self.has_edges else int_sum("first", self.block)
        with nest.loop("p", int_name("first"), stop):
            yield
            nest.invoke("keep_rolled")

    def _transpose_in(self, number: int, read: Read) -> None:
        c, nest, side = self.r.c, self.r.c.nest, self.r.choices.tile_side
        distance, rest = self.transposed[read]
        c.read_names.add(read.name)
        name, width = f"transposed{number}", min(self.row, side)
        if self.row * read.dtype.size < PART_BYTES:
            rows = nest.loop("p", int_name("first"), int_name("past"))
            with rows, nest.loop("i", int_number(0), nest.size(self.row)):
                nest.store(name, self.in_column, self._loaded(read))
            c.buffered[read] = name, self.in_column
            return
        with self._tiles():
            for left in self._lefts():
                start = nest.index(symbol(f"{LOCAL}top") * distance + rest + left)
                to = Address(name, int_sum(self.block * left, "top", "-first"))
                step = int_number(self.block)
                source = Address(read.name, start)
                nest.invoke(f"{COLUMNS}{width}", source, nest.size(distance), to, step)
        if self.has_edges:
            self._single_rows(lambda: nest.store(name, self.in_column, self._loaded(read)))
        c.buffered[read] = name, self.in_column

    def _loaded(self, read: Read) -> Scalar:
        nest = self.r.c.nest
        return nest.let(Load(read.name, nest.index(read.address), read.dtype))

    def _transpose_out(self, value: Value) -> None:
        c, nest, side = self.r.c, self.r.c.nest, self.r.choices.tile_side
        name = self.places[value]
        width = min(self.row, side)
        with self._tiles():
            for left in self._lefts():
                source = Address(name, int_sum(self.block * left, "top", "-first"))
                start = nest.index(symbol(f"{LOCAL}top") * self.row + left)
                to = Address(c.out_names[value], start)
                step = int_number(self.block)
                nest.invoke(f"{MOVE}{width}", source, step, to, nest.size(self.row))
        if self.has_edges:

            def store() -> None:
                x = nest.let(Load(name, self.in_column, value.type.dtype))
                index = nest.index(symbol(_ROW.name) * self.row + symbol(_COLUMN.name))
                nest.store(c.out_names[value], index, x)

            self._single_rows(store)

    def _single_rows(self, element: Callable[[], None]) -> None:
        """Loops over the elements of the rows behind the last whole tile."""
        nest, side = self.r.c.nest, self.r.choices.tile_side
        rows = nest.loop("p", int_sum("first", (side, "tiles")), int_name("past"))
        with rows, nest.loop("i", int_number(0), nest.parameter(self.row)):
            element()

    def _lefts(self) -> Sequence[int]:
        """The first columns of the tiles of a row; the last one may be moved back."""
        width = min(self.row, self.r.choices.tile_side)
        return [min(left, self.row - width) for left in range(0, self.row, width)]

    def _stage(self, stage: int) -> None:
        r, nest = self.r, self.r.c.nest
        folding = [n for n in r.reductions if self.stages[n] == stage]
        storing = self.results if stage == self.last else []
        for n in folding:
            with self._each():
                neutral = r.neutral(n, r.accumulator_dtype(n))
                nest.store(self._total("a", n), _IN_BLOCK, neutral)
        if folding or storing:
            # LLVM writes no loop out of a length that it is not told.
            columns = nest.loop("i", int_number(0), nest.parameter(self.row))
            with columns, self._each():
                self._element(stage, folding, storing)
        self._settle(stage, folding)

    def _total(self, prefix: str, n: Node) -> str:
        return f"{prefix}{self.r.reductions.index(n)}"

    def _of_row(self, value: Value) -> str:
        return f"row{self.of_rows.index(value)}"

    def _element(self, stage: int, folding: Sequence[Node], storing: Sequence[Value]) -> None:
        r, c, nest, index = self.r, self.r.c, self.r.c.nest, self.full_index
        keeping = [v for v in self.cached if self.stages[v.node] == stage]
        self._recall(stage, [*keeping, *storing, *(v for n in folding for v in n.inputs)])
        for value in keeping:
            x = c.element(value, index)
            nest.store(self.places[value], self.in_column, x)
        for n in folding:
            x = r.prepared(n, index)
            name = self._total("a", n)
            before = nest.let(Load(name, _IN_BLOCK, r.accumulator_dtype(n)))
            nest.store(name, _IN_BLOCK, nest.let(r.combine(n, before, x, in_one_order=True)))
        for value in storing:
            if value not in self.cached:
                nest.store(self.places[value], self.in_column, c.element(value, index))
        c.rows.clear()

    def _recall(self, stage: int, wanted: Sequence[Value]) -> None:
        """Of what was computed in stages before, what these values follow from beside what is at
        hand."""
        r, nest = self.r, self.r.c.nest
        known = {n.output: self._total("total", n) for n in r.reductions if self.stages[n] < stage}
        known |= {v: self._of_row(v) for v in self.of_rows if self.stages[v.node] <= stage}
        kept = {v: self.places[v] for v in self.cached if self.stages[v.node] < stage}
        stack, seen = list(wanted), set(wanted)
        while stack:
            value = stack.pop()
            if value in r.c.rows:
                continue
            buffer = known.get(value) or kept.get(value)
            if buffer is None:
                stack += [v for v in value.node.inputs if v not in seen]
                seen.update(value.node.inputs)
                continue
            at = self.in_column if value in kept else _IN_BLOCK
            found = nest.let(Load(buffer, at, compute_dtype(value.type.dtype)))
            index = self.full_index if value in kept else r.row_index(value, self.index)
            r.c.rows[value] = index, Name(found.name, value.type.dtype)

    def _settle(self, stage: int, folding: Sequence[Node]) -> None:
        """Totals of a stage and what follows from them, row by row."""
        r, c, nest = self.r, self.r.c, self.r.c.nest
        following = [v for v in self.of_rows if self.stages[v.node] == stage + 1]
        storing = [v for v in r.body.results if v not in self.results and stage == self.last]
        if not (folding or following or storing):
            return
        with self._each():
            for n in folding:
                total = nest.let(Load(self._total("a", n), _IN_BLOCK, r.accumulator_dtype(n)))
                x = r.finished(n, total)
                nest.store(self._total("total", n), _IN_BLOCK, x)
                c.rows[n.output] = r.row_index(n.output, self.index), x
            self._recall(stage, [*following, *storing])
            for value in following:
                x = c.element(value, r.row_index(value, self.index))
                nest.store(self._of_row(value), _IN_BLOCK, x)
            for value in storing:
                index = r.row_index(value, self.index)
                c.store(value, index, c.element(value, index))
            c.rows.clear()
