"""The sizes of tiles: which part of a product a block computes, and which part each of its threads;
and into how many parts the inner dimension is split where there are few tiles.

In: a dtype and the sizes of a product. Out: a `ProductTile`, and the number of parts. Sizes that
only the run knows count as if each symbol in them were `ASSUMED`.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, evaluate, symbols_of

VECTOR_BYTES = 16  # the widest access to memory


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A block computes `rows` x `columns` of the result, `depth` steps of the inner dimension at a
    time; a thread `thread_rows` x `thread_columns`, in parts of `row_lanes` x `column_lanes`."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    row_lanes: int = 4
    column_lanes: int = 4

    @property
    def threads(self) -> int:
        return (self.rows // self.thread_rows) * (self.columns // self.thread_columns)

    @property
    def row_parts(self) -> int:
        return self.thread_rows // self.row_lanes

    @property
    def column_parts(self) -> int:
        return self.thread_columns // self.column_lanes


@dataclass(frozen=True, slots=True)
class TensorTile:
    """A block computes `rows` x `columns` of the result by its tensor cores, `depth` steps of the
    inner dimension at a time; each of its warps `warp_rows` x `warp_columns`."""

    rows: int
    columns: int
    depth: int
    warp_rows: int
    warp_columns: int

    @property
    def threads(self) -> int:
        return 32 * (self.rows // self.warp_rows) * (self.columns // self.warp_columns)


# By the bytes of an element: for many tiles, and for few.
TENSOR_TILES = {
    2: (TensorTile(128, 128, 32, 64, 64), TensorTile(64, 64, 32, 32, 32)),
    4: (TensorTile(128, 128, 16, 64, 64), TensorTile(64, 64, 16, 32, 32)),
}

LARGE = ProductTile(128, 128, 8, 8, 8)
SMALL = ProductTile(64, 64, 16, 4, 4)
FEW_ROWS = ProductTile(8, 128, 32, 1, 4, row_lanes=1)
FEW_COLUMNS = ProductTile(128, 8, 32, 4, 1, column_lanes=1)
WIDE = ProductTile(64, 64, 8, 4, 4, row_lanes=2, column_lanes=2)  # for elements of 64 bits

ASSUMED = 64
FEW = 8  # rows or columns that are not worth a square tile
ENOUGH_TILES = 96  # below so many large tiles, small ones keep more multiprocessors busy
WANTED_BLOCKS = 264  # two for each multiprocessor of a large GPU
LEAST_STEPS = 8  # of a tile's depth that one part of the inner dimension has


def expected(size: Dim) -> int:
    """A size as choices count it."""
    return evaluate(size, dict.fromkeys(symbols_of(size), ASSUMED))


def product_tile(
    dtype: DType, entries: Dim, rows: Dim, columns: Dim, tensor_cores: bool
) -> ProductTile | TensorTile:
    """The tile for a product, by tensor cores where these are allowed and worth it."""
    if dtype.size == 8:
        return WIDE
    if dtype not in (dtypes.f32, dtypes.f16, dtypes.bf16):
        return SMALL
    count, height, width = expected(entries), expected(rows), expected(columns)
    if height <= FEW:
        return FEW_ROWS
    if width <= FEW:
        return FEW_COLUMNS
    large, small = TENSOR_TILES[dtype.size] if tensor_cores else (LARGE, SMALL)
    if min(height, width) <= small.rows:
        return small
    tiles = count * -(-height // large.rows) * -(-width // large.columns)
    return large if tiles >= ENOUGH_TILES else small


def inner_parts(
    tile: ProductTile | TensorTile, entries: Dim, rows: Dim, columns: Dim, depth: Dim
) -> int:
    """Into how many parts the inner dimension is split, so that there are enough blocks. Only known
    sizes are split: what is added up where, the sums' rounding with it, must not follow from a
    guess."""
    sizes = (entries, rows, columns, depth)
    if not all(isinstance(d, int) for d in sizes):
        return 1
    count, height, width, inner = map(expected, sizes)
    blocks = max(1, count * -(-height // tile.rows) * -(-width // tile.columns))
    return max(1, min(WANTED_BLOCKS // blocks, inner // (tile.depth * LEAST_STEPS)))
