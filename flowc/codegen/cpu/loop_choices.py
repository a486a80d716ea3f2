"""A CPU's parameters of loop nests, which follow from caches, vectors and threads.

They hold for every CPU that there is a target for. One alone differs: with AVX-512, comparisons
give masks.
"""

from __future__ import annotations

from dataclasses import replace

from flowc.codegen.kernels.loop_choices import LoopChoices

MULTIPLICATIONS = 25  # a core does about so many a nanosecond, each with its addition
TILE_SIDE = 16

CPU_CHOICES = LoopChoices(
    chunk_nanoseconds=5_000,
    column_block=1024,
    sum_block=1024,
    most_parts=32,
    most_bodies=48,
    most_nodes=400,
    tile_side=TILE_SIDE,
    tile_rows=64,  # for the sake of the pages that they read
    few=TILE_SIDE // 2,
    short=512,
    whole=64,
    nan_masks=False,
    near=16 * 1024,
    most_rows=4,
    vector_bytes=32,
)
MASK_CHOICES = replace(CPU_CHOICES, nan_masks=True, vector_bytes=64)
