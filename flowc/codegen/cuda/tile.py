"""The sizes of tiles: which part of a product a block computes, and which part each of its threads.

In: a dtype and the sizes of a product, as far as they are known. Out: a `ProductTile`.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim

VECTOR_BYTES = 16  # the widest access to memory


@dataclass(frozen=True, slots=True)
class ProductTile:
    """A block computes `rows` x `columns` of the result, `depth` steps of the inner dimension at a
    time; a thread `thread_rows` x `thread_columns`, in parts of `lanes`."""

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    lanes: int = 4

    @property
    def threads(self) -> int:
        return (self.rows // self.thread_rows) * (self.columns // self.thread_columns)

    @property
    def row_parts(self) -> int:
        return self.thread_rows // self.lanes

    @property
    def column_parts(self) -> int:
        return self.thread_columns // self.lanes


LARGE = ProductTile(128, 128, 8, 8, 8)
SMALL = ProductTile(64, 64, 16, 4, 4)
WIDE = ProductTile(64, 64, 8, 4, 4, lanes=2)  # for elements of 64 bits

# Below so many large tiles, small ones keep more multiprocessors busy.
ENOUGH_TILES = 96


def product_tile(dtype: DType, batch: Dim, rows: Dim, columns: Dim) -> ProductTile:
    """The tile for a product; sizes that only the run knows count as large."""
    if dtype.size == 8:
        return WIDE
    if dtype not in (dtypes.f32, dtypes.f16, dtypes.bf16):
        return SMALL
    known = [d for d in (batch, rows, columns) if isinstance(d, int)]
    if len(known) == 3:
        tiles = known[0] * -(-known[1] // LARGE.rows) * -(-known[2] // LARGE.columns)
        if tiles < ENOUGH_TILES:
            return SMALL
    if any(isinstance(d, int) and d <= SMALL.rows for d in (rows, columns)):
        return SMALL
    return LARGE
