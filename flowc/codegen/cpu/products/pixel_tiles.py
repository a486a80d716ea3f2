"""The tiles of products of pixels: for which sizes they are meant, of what size they are, and how
their right operands stand.

In: a target's `TileShape`, sizes. Out: the `TileShape` of a product of pixels; weights packed for
it, and the vectors and heights of its panels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowc.codegen.cpu.packing import Array, pack_gemm_b
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.tile_sums import CACHE_LINE, SLOW_BYTES, Vector
from flowc.codegen.packed import Packed, packed_in_a_row
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution

POINTWISE_DEPTH = 2048  # input channels, at most: of so many, a panel and rows fill the caches
SET_BYTES = 4096  # apart, lines are in one set of the first cache
LINES = 8  # of a set, that a tile's rows may take: of more, one displaces the other
FILLED, NARROW_FILLED = 0.9, 0.75  # of the rows of all tiles, at least: whole, narrow columns
HIGHEST = 14  # rows of a tile, at most
WIDEST = 4  # vectors of a tile, at most, and its rows at least then: it loads few of either
WIDE_ROWS = 6
ODD = 3  # vectors of a tile of fewer registers, where panels of two would leave one of one vector
SHORT_TILE = 9  # rows: of so many or fewer, tiles of one row less share out nearly any number
SPARED = 1 / 128  # of the rows, by tiles of another height: at least, to be worth its code
EVEN_TILES = 4  # above one another, at most, that are made to share out known rows evenly
RIGHT_BYTES = 32 << 10  # of a right operand: so many stay in the first cache as they stand
TRANSPOSED_BYTES = 1 << 10  # of a row of [channels, rows]: of longer ones, each is in another page
FEW_ROWS = 24  # that read a right operand too seldom for copies of it to pay
CROWDED_ROWS = 64  # the same of one whose rows displace each other


def is_of_single_pixels(lowering: Convolution, weights: Sequence[Dim]) -> bool:
    """Whether a convolution, with weights of those dims, is a product with all pixels as rows."""
    window = weights[:-2]
    alone = set(window) == set(lowering.strides) == {1} and lowering.groups == 1
    return alone and not any(p != 0 for pair in lowering.pad for p in pair)


def is_product_of_pixels(shape: TileShape, channels: Dim, n: Dim, rows: Dim) -> bool:
    """Whether `pointwise_source` is for a matrix [rows, channels] times a packed [channels, n]."""
    if not (isinstance(channels, int) and isinstance(n, int)) or shape.lanes < 2:
        return False
    if isinstance(rows, int) and rows:
        height = panel_height(shape, min(n, shape.columns) or 1)
        filled = FILLED if n >= shape.columns else NARROW_FILLED
        tiles = heights_needed(height, None), heights_needed(height, {rows: 1})
        if rows < max(height, filled * min(x.computed(rows) for x in tiles)):
            return False
    return _fits_caches(pixel_shape(shape, n), channels, n)


def _fits_caches(shape: TileShape, channels: int, n: int) -> bool:
    """Whether the rows that a tile reads where they stand stay in the first cache, and a panel."""
    return n > 0 and 0 < channels <= POINTWISE_DEPTH and shape.rows <= _near_rows(shape, channels)


def _near_rows(shape: TileShape, channels: int) -> int:
    """How many rows of so many channels do not displace each other from the first cache."""
    return LINES * SET_BYTES // math.gcd(channels * shape.dtype.size, SET_BYTES)


def reads_left_in_place(shape: TileShape, channels: Dim, n: Dim, rows: Dim) -> bool:
    """Whether `pointwise_source` is for a matrix [rows, channels] times a [channels, n] that the
    run computes: where rows are few, tiles are as high as share them out evenly."""
    if not (isinstance(channels, int) and isinstance(n, int) and isinstance(rows, int)):
        return False
    return shape.lanes >= 2 and rows > 0 and _fits_caches(pixel_shape(shape, n), channels, n)


def reads_transposed_left_in_place(shape: TileShape, channels: Dim, n: Dim, rows: Dim) -> bool:
    """The same of a matrix that stands as [channels, rows]: a tile reads a line of the cache in
    each step, which those below read again."""
    if not (isinstance(channels, int) and isinstance(n, int) and isinstance(rows, int)):
        return False
    is_near = 0 < rows * shape.dtype.size <= TRANSPOSED_BYTES
    return shape.lanes >= 2 and n > 0 and is_near and 0 < channels <= POINTWISE_DEPTH


def reads_right_in_place(shape: TileShape, channels: Dim, n: Dim, rows: Dim) -> bool:
    """Whether `pointwise_source` is for a matrix [rows, channels] times a [channels, n] that the
    run computes, which is read where it stands: it is near, or one panel as it is, or read too
    seldom to be packed."""
    if not (isinstance(channels, int) and isinstance(n, int) and isinstance(rows, int)):
        return False
    if shape.lanes < 2 or not 0 < channels <= POINTWISE_DEPTH or not rows or not n:
        return False
    columns = pixel_shape(shape, n).columns
    rest = n % columns
    row = n * shape.dtype.size
    is_near = channels * row <= RIGHT_BYTES and not (
        rows > CROWDED_ROWS and _displace_each_other(columns * shape.dtype.size, channels, row)
    )
    has_vectors = has_masks(shape) or not 0 < rest < shape.lanes
    return has_vectors and (n <= columns or is_near or rows <= FEW_ROWS)


def _displace_each_other(panel: int, channels: int, row: int) -> bool:
    """Whether the pieces of a panel, of so many bytes in each row of a right operand, take more
    than half of the sets that they are in: of one line each, as they come one by one, tiles wait
    for those that left."""
    return panel <= CACHE_LINE and 2 * channels * math.gcd(row, SET_BYTES) > LINES * SET_BYTES


def pixel_shape(shape: TileShape, n: int) -> TileShape:
    """The tiles of a product of so many pixels and `n` columns: wider ones than the target's where
    its registers hold enough rows of these, as they load less for each multiply-add; panels are
    about equally wide."""
    sums = shape.rows * (shape.columns // shape.lanes)
    if sums // WIDEST >= WIDE_ROWS:
        vectors = -(-n // shape.lanes)
        panels = -(-vectors // WIDEST)
        columns = max(shape.columns, -(-vectors // max(1, panels)) * shape.lanes)
        # The elements of a row of the panel are in registers, too: of two vectors there is room.
        wider = columns // shape.lanes - 2
        height = (sums - wider) // (columns // shape.lanes)
        shape = replace(shape, rows=height, columns=columns)
    elif shape.columns == 2 * shape.lanes and -(-n // shape.lanes) % (2 * ODD) in (ODD, ODD + 2):
        shape = replace(shape, rows=sums // ODD, columns=ODD * shape.lanes)
    return shape


def with_near_rows(shape: TileShape, channels: int) -> TileShape:
    """The same tiles, lower where rows would displace each other from the first cache."""
    return replace(shape, rows=min(shape.rows, _near_rows(shape, channels)))


def with_even_tiles(shape: TileShape, rows: int) -> TileShape:
    """The same tiles, as high as share few rows out evenly."""
    tiles = -(-rows // shape.rows)
    return replace(shape, rows=-(-rows // tiles)) if 0 < tiles <= EVEN_TILES else shape


@dataclass(frozen=True, slots=True)
class Heights:
    """The tiles that share out rows: of `high` rows, of `low` ones (0: none), and of a `single`
    one, where there may be fewer than `high` in all."""

    high: int
    low: int
    single: bool

    def computed(self, rows: int) -> int:
        """Rows that the tiles make for so many: those that the last tile shares with the one before
        are made twice. `pointwise.py` shares them out."""
        if rows < self.high:
            return rows
        left, tiles = rows % self.high, -(-rows // self.high)
        if not left or (self.low == self.high - 1 and tiles * self.high - rows <= tiles):
            return rows
        return rows - left + (self.low if left <= self.low else self.high)


def heights_needed(high: int, counts: Mapping[int, int] | None) -> Heights:
    """The tiles for panels of so many rows, each so many times (None: of any). Lower ones are worth
    their code where they save some rows: one row lower share out nearly any number exactly, where
    there are enough of them; else the last tile is about half as high."""
    plain, even = Heights(high, 0, True), Heights(high, high - 1, True)
    half = Heights(high, (high + 2) // 2, True)
    if counts is None:
        return even if high <= SHORT_TILE else half
    rows = lambda tiles: sum(tiles.computed(count) * times for count, times in counts.items())
    best = min((plain, even, half) if high > 2 else (plain,), key=rows)
    if rows(plain) - rows(best) <= SPARED * rows(best):
        best = plain
    return replace(best, single=any(0 < count < high for count in counts))


def pack_pointwise(weights: Array, shape: TileShape) -> Packed:
    """[*window, channels, n] -> the whole panels, then one of the remaining columns, each of its
    rows padded with zeros to whole vectors."""
    *_, channels, n = weights.shape
    rest = n % shape.columns
    whole = n - rest
    matrix = weights.reshape(channels, n)
    panels = pack_gemm_b(matrix[:, :whole], shape)

    def fill_rest(found: Array) -> None:
        found[:, :rest] = matrix[:, whole:]

    of_rest = Packed((channels, panel_width(shape, rest)), panels.dtype, fill_rest)
    return packed_in_a_row([panels, of_rest])


def has_masks(shape: TileShape) -> bool:
    """Whether the target stores any first lanes of a vector as fast as all, which AVX-512 does."""
    return shape.lanes * shape.dtype.size >= SLOW_BYTES


def tile_columns(shape: TileShape, columns: int) -> int:
    """The columns of the tile that so many have: with masks, as many as fill vectors, of which the
    last may be half a one, for which the clock of many processors is faster. Of the widest tiles
    all are whole: LLVM would spill the sums."""
    if not has_masks(shape):
        return columns
    is_widest = columns > (WIDEST - 1) * shape.lanes
    unit = shape.lanes if is_widest else shape.lanes // 2
    return -(-columns // unit) * unit


def panel_vectors(shape: TileShape, columns: int, *, in_place: bool = False) -> list[Vector]:
    """The vectors that hold so many columns; of the last, fewer lanes may be stored. All are
    equally long, as LLVM would spill the sums of others; and where storing the last would take
    several stores, it is moved back to end with the columns, unless it is alone: those that it
    shares are computed twice. `in_place`: none reaches beyond columns that fill a vector, if not
    by lanes that a mask leaves out."""
    if has_masks(shape):
        end = tile_columns(shape, columns)
        return [(first, min(shape.lanes, end - first)) for first in range(0, end, shape.lanes)]
    lanes = min(shape.lanes, _power_of_two(columns))
    if in_place and lanes > columns:
        lanes //= 2
    rest = columns % lanes
    found = [(first, lanes) for first in range(0, columns, lanes)]
    if columns > lanes and (rest & (rest - 1) or (rest and in_place)):
        found[-1] = (columns - lanes, lanes)
    return found


def _power_of_two(least: int) -> int:
    return 1 << (least - 1).bit_length()


def panel_width(shape: TileShape, columns: int) -> int:
    """Elements from one row of a panel to the next."""
    return max(first + lanes for first, lanes in panel_vectors(shape, columns)) if columns else 0


def panel_height(shape: TileShape, columns: int) -> int:
    """Rows of a tile that is so wide: of fewer vectors than the shape has, as many more as have
    their sums in registers, so that enough are made side by side."""
    vectors, of_shape = -(-columns // shape.lanes), shape.columns // shape.lanes
    if vectors >= of_shape:
        return shape.rows
    # Sums of the shape, and what was left of registers beside the elements of a row of a panel.
    spared = 2 * of_shape - 3 if of_shape > 2 and shape.rows >= WIDE_ROWS else 0
    sums = shape.rows * of_shape + spared
    height = (sums - max(0, vectors - 2)) // vectors
    return max(shape.rows, min(HIGHEST, height))
