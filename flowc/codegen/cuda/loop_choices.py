"""What loop nests a GPU wants: an element of the result for each thread, or lanes for each row.

In: costs and sizes. Out: choices by which no nest has loops that a CPU's vectors and caches want.
"""

from __future__ import annotations

from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim

_NEVER = 1 << 62
BLOCK = 256  # threads in a block
WARP = 32  # threads that exchange values without memory
FEW_ROWS = 256
MANY = 1 << 16  # elements
CHEAP = 8.0  # nanoseconds of a CPU for an element
LOAD = 16  # bytes
BUSY = 1 << 17  # threads


@dataclass(frozen=True, slots=True)
class DeviceChoices(LoopChoices):
    """Threads stand side by side: none computes several elements at a time."""

    def lanes(self, row: Dim, rows: Dim) -> int:
        """Neighbouring lanes read neighbouring elements. Where one thread has a short row, its
        neighbours read what is left of the same lines."""
        if isinstance(row, int) and row <= 16:
            return 1
        if isinstance(row, int) and row <= 64:
            return 8
        is_long = isinstance(row, int) and row > 512
        return BLOCK if is_long or (isinstance(rows, int) and rows < FEW_ROWS) else WARP

    def parts(self, folded: Dim, kept: Dim, is_row: bool) -> int:
        """As many as keep a GPU busy, none of them short."""
        if not isinstance(folded, int) or not isinstance(kept, int) or kept == 0:
            return 1
        busy, least = (BUSY // BLOCK, 16 * BLOCK) if is_row else (BUSY, 64)
        if kept >= busy // 2:
            return 1
        return max(1, min(-(-folded // least), -(-busy // kept)))

    def neighbours(self, total: Dim, cost: float, size: int) -> int:
        """As many as one load takes, where this leaves enough threads and little code."""
        if cost > CHEAP or (isinstance(total, int) and total < MANY):
            return 1
        return max(1, LOAD // max(size, 2))

    def is_interleaved(self, compute_bound: bool, count: Dim) -> bool:
        return False


DEVICE_CHOICES = DeviceChoices(
    chunk_nanoseconds=1,
    column_block=1,
    sum_block=1024,
    most_parts=1,
    most_bodies=1,
    most_nodes=_NEVER,
    tile_side=1,
    tile_rows=1,
    few=16,
    short=_NEVER,
    whole=_NEVER,
    inner_loops=False,
    tells_places=False,
    block=BLOCK,
)
