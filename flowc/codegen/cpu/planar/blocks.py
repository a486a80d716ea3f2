"""Which convolutions are computed by planes or by lines, and in what blocks.

In: a `TileShape` and a convolution with weights that are known. Out: a `PlanarBlock`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from flowc.codegen.cpu.tile_shape import TileShape
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution

VECTORS = 8  # of pixels side by side, at most
TILES = 16  # of pixels side by side in a task, at most
# Of the planes of a task, which stay in a second-level cache: wanted, and at most.
PLANE_BYTES, MOST_BYTES = 192 << 10, 768 << 10
USES = 4  # of an element of the input, at least: else taking planes apart costs more than it saves
FILLED = 3 / 4  # of the vectors of a row of pixels are pixels, at least
LINE_STRIDE = 8  # elements from one pixel to the next, at most: more are worth gathering
TASKS, FEWEST_ROWS = 16, 7  # so many tasks are wanted, unless they have fewer rows than these


@dataclass(frozen=True, slots=True)
class PlanarBlock:
    """How a convolution is cut: output `rows` and `pixels` of a task; `pitch`: elements from one
    plane to the next; `scratch_bytes`: of all planes. `line_stride`: if not 0, the rows of the
    input are not taken apart, and it is the elements from what a pixel sees to what the next does.
    """

    rows: int
    pixels: int
    pitch: int
    scratch_bytes: int
    line_stride: int = 0


def vectors_of_pixels(shape: TileShape, outputs: int) -> int:
    """Vectors of pixels that have the sums of all outputs in registers, with one for a weight and
    those of the pixels."""
    registers = 2 * shape.rows + 3
    return max(1, min(VECTORS, registers // (outputs + 1)))


def planar_block(
    shape: TileShape, lowering: Convolution, weights: Sequence[Dim], result: Sequence[Dim]
) -> PlanarBlock | None:
    """The blocks of a convolution that is to be computed by planes or by lines; None for others.
    `weights` and `result` are dims, those of the result in logical order."""
    if len(lowering.strides) != 2 or lowering.groups != 1 or lowering.transposed:
        return None
    known = [d for d in weights if isinstance(d, int) and d]
    if len(known) != len(weights):
        return None
    _, kernel_w, channels, outputs = known
    stride, dilation = lowering.strides[1], lowering.dilations[1]
    if outputs <= shape.lanes // 2:
        if not _fills_planes(shape, lowering, known, result[2]):
            return None
        tile = vectors_of_pixels(shape, outputs) * shape.lanes
        shift = (kernel_w - 1) * dilation // stride
        return _cut(shape, lowering, known, result, tile, (1, shift), stride * channels)
    line_stride = stride * channels
    if line_stride > LINE_STRIDE or dilation != 1 or prod(known[:-1]) < USES:
        return None
    seen = (line_stride, (kernel_w - stride) * channels)
    found = _cut(shape, lowering, known, result, shape.rows, seen, 1)
    return None if found is None else replace(found, line_stride=line_stride)


def _fills_planes(
    shape: TileShape, lowering: Convolution, weights: Sequence[int], width: Dim
) -> bool:
    """Whether planes are used often enough, and rows of pixels fill vectors."""
    stride_h, stride_w = lowering.strides
    taps, kernel_w = weights[0] * weights[1], weights[1]
    if taps < USES * stride_h * stride_w or kernel_w < stride_w:
        return False
    return not isinstance(width, int) or (width >= FILLED * -(-width // shape.lanes) * shape.lanes)


def _cut(
    shape: TileShape,
    lowering: Convolution,
    weights: Sequence[int],
    result: Sequence[Dim],
    tile: int,
    seen: tuple[int, int],
    planes: int,
) -> PlanarBlock | None:
    """Tasks of whole tiles, of so many pixels; a plane holds `seen[0]` elements for each of them
    and `seen[1]` more, and there are `planes` to a row of the input."""
    height, width = result[1:3]
    tiles = TILES
    if isinstance(width, int):
        needed = -(-width // tile)
        tiles = max(1, -(-needed // -(-needed // TILES))) if needed else 1
    around = (weights[0] - 1) * lowering.dilations[0] + 1
    while True:
        pitch = -(-(tiles * tile * seen[0] + max(0, seen[1])) // shape.lanes) * shape.lanes
        row_bytes = planes * pitch * shape.dtype.size
        if tiles == 1 or around * row_bytes <= PLANE_BYTES:
            break
        tiles //= 2
    stride = lowering.strides[0]
    rows = max(1, (PLANE_BYTES // row_bytes - around) // stride + 1)
    if isinstance(height, int):
        rows = min(rows, max(FEWEST_ROWS, -(-height // TASKS)), max(1, height))
    total = ((rows - 1) * stride + around) * row_bytes
    return PlanarBlock(rows, tiles * tile, pitch, total) if total <= MOST_BYTES else None
