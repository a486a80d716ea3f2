"""What loop nests a GPU wants: an element of the result for each thread.

In: costs and sizes. Out: choices by which no nest has loops that a CPU's vectors and caches want.
"""

from __future__ import annotations

from dataclasses import dataclass

from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.ir.dims import Dim

_NEVER = 1 << 62


@dataclass(frozen=True, slots=True)
class DeviceChoices(LoopChoices):
    """Threads stand side by side: none computes several elements at a time."""

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
