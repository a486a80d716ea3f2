"""The sums of products of pixels: C[rows, columns] = A x B, whose rows of A are read in place.

In: the height and the width of a tile, and how its right operand stands. Out: a routine that makes
rows of a panel, tile by tile. Invariant: every element of C is a chain of multiply-adds over the
channels in order, or the sum of a few.

A routine is a tile of one height and nothing else: what chooses among heights is code of its own.
Where the target has masks, it is for all numbers of columns that need as many vectors. So kernels
of many sizes share few of them, which take LLVM long.
"""

from __future__ import annotations

from llvmlite import ir

from flowc.codegen.cpu.products.pixel_tiles import (
    has_masks,
    panel_vectors,
    panel_width,
    tile_columns,
)
from flowc.codegen.cpu.strided_rows import StridedRows
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import (
    CACHE_LINE,
    STEPS,
    Ahead,
    Sums,
    Vector,
    emit_steps,
    first_lanes,
    unroll_factor,
)
from flowc.codegen.llvm.vector_ir import (
    Counter,
    Index,
    Routine,
    Value,
    Values,
    byte_offset,
    element_type,
    index_range,
    indices,
    load_vector,
    masked_load,
    masked_store,
    offset,
    opaque,
    prefetch,
    store_vector,
    vector_mask,
)
from flowc.dataclass import dataclass
from flowc_runtime.native.writer import i64

KINDS = "pppp" + "i" * 9


@dataclass(frozen=True, slots=True)
class Stored:
    """How operands stand: the right one `in_place`, its rows a stride apart, else in panels; the
    left one `transposed`, as [channels, rows]."""

    in_place: bool = False
    transposed: bool = False

    @property
    def name(self) -> str:
        """What tells the names of routines apart."""
        return ".in_place" * self.in_place + ".transposed" * self.transposed


IN_PANELS = Stored()


def row_sums_routine(shape: TileShape, columns: int, height: int, stored: Stored) -> Routine:
    """`sums(x, w, y, next, begin, end, channels, x_stride, chain, y_stride, w_stride, columns,

    next_step)`: y[begin:end, columns] = x[begin:end, channels] x w[channels, columns], `height`
    rows at a time. The last are those before `end`, of which some may have been made before. Sums
    of more than `chain` steps are several, the first of which stand in y when the next are added.
    x has rows `x_stride` apart, or columns if it is transposed; w is a panel, or rows in place,
    `w_stride` apart.

    What stands at `next` is fetched into the second cache, `next_step` bytes for each step of a
    sum, which may be 0; nothing where w is in place.
    """
    width = tile_columns(shape, columns)
    # To load with a mask takes a port that multiply-adds need: 4 % of a whole tile.
    is_cut = stored.in_place and columns < width
    ways = stored.name + ".cut" * is_cut
    return Routine(
        f"row_sums.{shape.dtype}.{height}x{width}.{shape.lanes}{ways}",
        shape.dtype,
        KINDS,
        lambda b, values: _RowSums(b, values, shape, width, height, stored, is_cut).emit(),
        shared=True,
    )


class PanelTile:
    """Rows of a panel that a tile has in registers: which vectors hold its columns, and how these
    are loaded, added to what stands in memory, and stored. `columns`: how many there are, of at
    most `width`. `in_place`: no vector reads beyond them."""

    def __init__(
        self, b: ir.IRBuilder, shape: TileShape, width: int, columns: Index, *, in_place: bool,
        is_cut: bool,
    ) -> None:  # fmt: skip
        self.b, self.is_cut = b, is_cut
        self.element, self.size = element_type(shape.dtype), shape.dtype.size
        self.vectors = panel_vectors(shape, width, in_place=in_place)
        # Lanes of vectors that are stored, and of the last those that are columns.
        self.kept = [min(lanes, width - first) for first, lanes in self.vectors]
        self.mask: Value = None
        if has_masks(shape):
            self.mask = vector_mask(b, columns - self.vectors[-1][0], self.kept[-1])

    def load(self, row: Value, vector: Vector) -> Value:
        """Weights of a vector; panels are as wide as all of these, and rows `in_place` that are not
        cut."""
        place = self.b.gep(row, [i64(vector[0])])
        if self.is_cut and self._has_mask(vector):
            return masked_load(self.b, place, self.mask, self.size)
        return load_vector(self.b, place, vector[1], self.size)

    def totals(self, sums: Sums) -> list[list[Value]]:
        """The lanes of sums that are stored."""
        return [
            [first_lanes(self.b, value, count) for value, count in zip(vectors, self.kept)]
            for vectors in sums.totals()
        ]

    def add(self, sums: list[list[Value]], rows: list[Value], is_later: Value) -> None:
        """Sums of later chains are added to what stands in C. Vectors may share columns: all are
        read before any is stored."""
        b, before = self.b, self.b.block
        with b.if_then(is_later):
            found = [self._with_stored(row, vectors) for row, vectors in zip(rows, sums)]
            inside = b.block
        for vectors, added in zip(sums, found):
            for number, (alone, both) in enumerate(zip(vectors, added)):
                vectors[number] = b.phi(alone.type)
                vectors[number].add_incoming(alone, before)
                vectors[number].add_incoming(both, inside)

    def store(self, row: Value, vectors: list[Value]) -> None:
        b = self.b
        for value, vector in zip(vectors, self.vectors):
            place = b.gep(row, [i64(vector[0])])
            if self._has_mask(vector):
                masked_store(b, value, place, self.mask, self.size)
            else:
                store_vector(b, value, place, self.size)

    def _has_mask(self, vector: Vector) -> bool:
        return self.mask is not None and vector == self.vectors[-1]

    def _with_stored(self, row: Value, vectors: list[Value]) -> list[Value]:
        b = self.b
        plus = b.add if isinstance(self.element, ir.IntType) else b.fadd
        found: list[Value] = []
        for value, vector, count in zip(vectors, self.vectors, self.kept):
            place = b.gep(row, [i64(vector[0])])
            if self._has_mask(vector):
                stored = masked_load(b, place, self.mask, self.size)
            else:
                stored = load_vector(b, place, count, self.size)
            found.append(plus(stored, value))
        return found


class _RowSums:
    """The code of one routine."""

    def __init__(
        self, b: ir.IRBuilder, args: Values, shape: TileShape, width: int, height: int,
        stored: Stored, is_cut: bool,
    ) -> None:  # fmt: skip
        self.b, self.height, self.stored = b, height, stored
        size = shape.dtype.size
        self.x, self.w, self.y, self.following = args[:4]
        self.begin, self.end, self.channels, self.x_stride, *sizes = indices(b, args[4:])
        self.chain, self.y_stride, self.w_stride, columns, self.next_step = sizes
        self.tile = PanelTile(b, shape, width, columns, in_place=stored.in_place, is_cut=is_cut)
        self.width = panel_width(shape, width)
        self.rows = StridedRows(b, self.x_stride, STEPS if stored.transposed else height, size)
        self.strided = None
        if stored.in_place:
            self.strided = StridedRows(b, self.w_stride, STEPS, size)

    def emit(self) -> None:
        b, fetched = self.b, Counter(self.b, 0)
        with index_range(b, self.begin, self.end, self.height) as i:
            first = i.least(self.end - self.height)
            row = offset(self.x, first if self.stored.transposed else first * self.x_stride)
            with index_range(b, Index(b, i64(0)), self.channels, self.chain) as channel:
                self._ask_for_results(first)
                sums = self._emit_sums(row, channel, fetched)
                # Addresses that are known earlier would be kept in memory.
                target = offset(self.y, Index(b, opaque(b, (first * self.y_stride).value)))
                rows = [offset(target, self.y_stride * n) for n in range(self.height)]
                self.tile.add(sums, rows, channel.compare(">", 0))
                for row_of_c, vectors in zip(rows, sums):
                    self.tile.store(row_of_c, vectors)

    def _ask_for_results(self, first: Index) -> None:
        """Results that have left the caches are on their way while their sums are made."""
        b, size = self.b, self.tile.size
        start = offset(self.y, Index(b, opaque(b, (first * self.y_stride).value)))
        for n in range(self.height):
            row = offset(start, self.y_stride * n)
            for at in range(0, sum(self.tile.kept) * size, CACHE_LINE):
                prefetch(b, b.gep(row, [i64(at // size)]), write=True)

    def _emit_sums(self, row: Value, channel: Index, fetched: Counter) -> list[list[Value]]:
        """A chain of each sum, which begins with `channel`."""
        b, done = self.b, Counter(self.b, 0)
        depth = (self.channels - channel).least(self.chain)
        first, weights = (
            self._left_after(row, channel),
            offset(self.w, channel * self._row_of_weights),
        )
        vectors = self.tile.vectors
        sums = Sums(b, self.tile.element, self.height, vectors)
        ahead = Ahead(b, byte_offset(self.following, fetched.get()), self.next_step)

        def emit(steps: int) -> None:
            if not self.stored.in_place:
                with b.if_then(self.next_step.compare(">", 0)):
                    ahead.fetch(steps, at_once=False)
            left = self._rows_of_left(self._left_after(first, done.get()), steps)
            rows = self._rows_of_weights(weights, done.get(), steps)
            for elements, row_of_weights in zip(left, rows):
                right = [self.tile.load(row_of_weights, v) for v in vectors]
                sums.add_products(elements, right)
            done.add(steps)

        emit_steps(b, depth, unroll_factor(self.height * len(vectors)), emit, sums)
        if not self.stored.in_place:
            fetched.add(depth * self.next_step)
        return self.tile.totals(sums)

    def _left_after(self, place: Value, steps: Index) -> Value:
        """The place in the left operand that is read so many steps of the inner dimension after
        another one."""
        return offset(place, steps * self.x_stride if self.stored.transposed else steps)

    def _rows_of_left(self, first: Value, steps: int) -> list[list[Value]]:
        """Pointers to an element of each row, for each of so many steps."""
        b = self.b
        if self.stored.transposed:
            lines = self.rows.at(first, steps)
            return [[b.gep(x, [i64(n)]) for n in range(self.height)] for x in lines]
        rows = self.rows.at(first, self.height)
        return [[b.gep(x, [i64(n)]) for x in rows] for n in range(steps)]

    @property
    def _row_of_weights(self) -> Index | int:
        """Elements from one row of weights to the next."""
        return self.w_stride if self.stored.in_place else self.width

    def _rows_of_weights(self, weights: Value, done: Index, steps: int) -> list[Value]:
        first = offset(weights, done * self._row_of_weights)
        if self.strided is not None:
            return self.strided.at(first, steps)
        return [self.b.gep(first, [i64(n * self.width)]) for n in range(steps)]
