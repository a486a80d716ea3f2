"""What loop nests a GPU wants: an element of the result for each thread, or lanes for each row.

In: costs and sizes. Out: choices by which no nest has loops that a CPU's vectors and caches want.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.ir.dims import Dim

_NEVER = 1 << 62
BLOCK = 256  # threads in a block
WARP = 32  # threads that exchange values without memory
FEW_ROWS = 256


@dataclass(frozen=True, slots=True)
class DeviceChoices(LoopChoices):
    """Threads stand side by side: none computes several elements at a time."""

    def lanes(self, row: Dim, rows: Dim) -> int:
        """Neighbouring lanes read neighbouring elements. Where one thread has a short row, its
        neighbours read what is left of the same lines."""
        if isinstance(row, int) and row <= 8:
            return 1
        if isinstance(row, int) and row <= 64:
            return 8
        is_long = isinstance(row, int) and row > 512
        return BLOCK if is_long or (isinstance(rows, int) and rows < FEW_ROWS) else WARP

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
    few=_NEVER,
    short=_NEVER,
    whole=_NEVER,
    inner_loops=False,
)
