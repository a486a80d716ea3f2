"""The sizes of register tiles and of the blocks around them, chosen for a target.

In: a dtype and a target's vector width and registers. Out: a `TileShape`.
"""

from __future__ import annotations

from dataclasses import replace

from flowc.codegen.llvm.vector_ir import element_type
from flowc.dataclass import dataclass
from flowc.dtypes import DType

DEPTH = 384  # elements of the inner dimension that one gathered block holds
HEIGHTS = (8, 7, 4, 1)  # of lower tiles: with 14 rows, they make up powers of two and 7 x 7 pixels
AHEAD_BYTES = 2048  # of a panel, between what is multiplied and what is fetched into the cache
LEAST_LANES = 4  # of a vector that is worth its instructions
CHAINS = 8  # of sums, at least: each multiply-add waits for the one before
BLOCK_BYTES = 160 << 10  # of a gathered block: it shares a second-level cache with a few panels
DEPTH_PAD_BYTES = 64  # a row of a block is one cache line longer: rows fall into different sets


@dataclass(frozen=True, slots=True)
class TileShape:
    """One register tile: `rows` x `columns` accumulators of `dtype`, `lanes` to a vector.
    `prefetches`: products of few rows ask for their weights before they come to them."""

    dtype: DType
    rows: int
    columns: int
    lanes: int
    prefetches: bool = True

    @property
    def name(self) -> str:
        """The tile itself, for the names of routines."""
        return f"{self.dtype}.{self.rows}x{self.columns}.{self.lanes}"

    @property
    def heights(self) -> tuple[int, ...]:
        """The heights of the tiles that share out the rows of a block, the highest first. Of few
        rows, one less is also there: all are shared out exactly, 7 x 7 pixels as 6 or 5 rows."""
        lower = HEIGHTS if self.rows > HEIGHTS[1] else (self.rows - 1, *HEIGHTS)
        return (self.rows, *dict.fromkeys(height for height in lower if height < self.rows))

    @property
    def narrow_heights(self) -> tuple[int, ...]:
        """The heights of narrower tiles."""
        return tuple(dict.fromkeys((self.rows, 1)))

    @property
    def widths(self) -> tuple[int, ...]:
        """The columns of narrower tiles."""
        half = self.lanes // 2
        widths = (self.lanes + half, self.lanes) if half else (self.lanes,)
        return tuple(width for width in widths if width < self.columns)

    @property
    def depth(self) -> int:
        return DEPTH

    @property
    def row_stride(self) -> int:
        """Elements from one row of a gathered block to the next: fixed, so it is a displacement."""
        return DEPTH + DEPTH_PAD_BYTES // self.dtype.size

    @property
    def block_rows(self) -> int:
        per_block = BLOCK_BYTES // (self.row_stride * self.dtype.size)
        return max(1, per_block // self.rows) * self.rows

    @property
    def block_columns(self) -> int:
        """Columns of one block: whole panels."""
        return 8 * self.columns if self.columns >= 32 else 256 // self.columns * self.columns

    @property
    def block_bytes(self) -> int:
        """Scratch that one gathered block takes."""
        return self.block_rows * self.row_stride * self.dtype.size


def one_vector_shape(shape: TileShape, columns: int) -> TileShape:
    """The tile that is one vector wide, for products of so few columns. The vector is the shortest
    power of two that holds them, at most one of `shape`; rows are as many as `shape` has, doubled
    where these leave the pipeline of multiply-adds waiting."""
    lanes = min(shape.lanes, max(LEAST_LANES, 1 << (columns - 1).bit_length()))
    rows = shape.rows if shape.rows >= CHAINS else 2 * shape.rows
    return replace(shape, rows=rows, columns=lanes, lanes=lanes)


def tile_shape(
    dtype: DType, vector_bits: int, *, registers: int = 16, fma: bool = True
) -> TileShape:
    """The tile for a target with vectors of `vector_bits` and that many vector `registers`.

    Two vectors wide, and as high as the registers allow beside two vectors of the panel and the
    broadcast element (and the product, where multiply and add are two instructions). Raises
    `TypeError` for dtypes without vector arithmetic.
    """
    element_type(dtype)
    lanes = max(1, vector_bits // (8 * dtype.size))
    if registers >= 32:
        rows = 14 if fma else 12
    else:
        rows = 6 if fma and dtype.is_floating else 4
    return TileShape(dtype, rows, 2 * lanes, lanes)
