"""Which convolutions are computed by planes, and in what blocks.

In: a `TileShape` and a convolution with weights that are known. Out: a `PlanarBlock`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowc.codegen.cpu.tile_shape import TileShape
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution

VECTORS = 8  # of pixels side by side, at most
TILES = 8  # of pixels side by side in a task, at most
# Of the planes of a task, which stay in a second-level cache: wanted, and at most.
PLANE_BYTES, MOST_BYTES = 192 << 10, 768 << 10
USES = 4  # of an element of the input, at least: else taking planes apart costs more than it saves
FILLED = 3 / 4  # of the vectors of a row of pixels are pixels, at least


@dataclass(frozen=True, slots=True)
class PlanarBlock:
    """How a convolution is cut: output `rows` and `pixels` of a task; `pitch`: elements from one
    plane to the next; `scratch_bytes`: of all planes."""

    rows: int
    pixels: int
    pitch: int
    scratch_bytes: int


def vectors_of_pixels(shape: TileShape, outputs: int) -> int:
    """Vectors of pixels that have the sums of all outputs in registers, with one for a weight and
    those of the pixels."""
    registers = 2 * shape.rows + 3
    return max(1, min(VECTORS, registers // (outputs + 1)))


def planar_block(
    shape: TileShape, lowering: Convolution, weights: Sequence[Dim], result: Sequence[Dim]
) -> PlanarBlock | None:
    """The blocks of a convolution that is to be computed by planes; None for others. `weights` and
    `result` are dims, those of the result in logical order."""
    if len(lowering.strides) != 2 or lowering.groups != 1 or lowering.transposed:
        return None
    if not all(isinstance(d, int) for d in weights):
        return None
    kernel_h, kernel_w, channels, outputs = (int(d) for d in weights)
    (stride_h, stride_w), (dilation_h, dilation_w) = lowering.strides, lowering.dilations
    taps, uses = kernel_h * kernel_w, USES * stride_h * stride_w
    if not 0 < outputs <= shape.lanes // 2 or not channels or taps < uses or kernel_w < stride_w:
        return None
    height, width = result[1:3]
    tile = vectors_of_pixels(shape, outputs) * shape.lanes
    tiles = TILES
    if isinstance(width, int):
        if width < FILLED * -(-width // shape.lanes) * shape.lanes:
            return None
        tiles = max(1, min(TILES, -(-width // tile)))
    around = (kernel_h - 1) * dilation_h + 1
    while True:
        seen = tiles * tile + (kernel_w - 1) * dilation_w // stride_w
        pitch = -(-seen // shape.lanes) * shape.lanes
        row_bytes = stride_w * channels * pitch * shape.dtype.size
        if tiles == 1 or around * row_bytes <= PLANE_BYTES:
            break
        tiles //= 2
    rows = max(1, (PLANE_BYTES // row_bytes - around) // stride_h + 1)
    if isinstance(height, int):
        rows = max(1, min(rows, height))
    total = ((rows - 1) * stride_h + around) * row_bytes
    return PlanarBlock(rows, tiles * tile, pitch, total) if total <= MOST_BYTES else None
