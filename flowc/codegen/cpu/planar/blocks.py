"""Which convolutions are computed by planes or by lines, and in what blocks.

In: a `TileShape` and a convolution with weights that are known. Out: a `PlanarBlock`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from flowc.codegen.cpu.products.pixel_tiles import pixel_shape
from flowc.codegen.cpu.tile_shape import TileShape, one_vector_shape
from flowc.dataclass import dataclass
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution

VECTORS = 8  # of pixels side by side, at most
TILES, FEWEST_TILES = 16, 4  # of pixels side by side in a task, at most, and of few rows at least
# Of the planes of a task, which stay in a second-level cache: wanted, of volumes, and at most.
PLANE_BYTES, VOLUME_BYTES, MOST_BYTES = 192 << 10, 384 << 10, 768 << 10
USES = 4  # of an element of the input, at least: else taking planes apart costs more than it saves
FILLED = 3 / 4  # of the vectors of a row of pixels are pixels, at least
# Elements from one pixel to the next, at most, of lines for any number of outputs, and for those of
# two panels, of which the last is for high tiles; more share what is gathered, unless tiles are
# about as high as they may be and weights are near, which each row of pixels reads.
LINE_STRIDE, NARROW_STRIDE, FAR_STRIDE = 12, 256, 512
FILLED_TILES, NEAR_WEIGHT_BYTES = 0.8, 3 << 20
SHORT_RUN = 32  # elements: to gather fewer of a row takes as long, and copies no less of the image
HIGH_TILES = 0.7  # of the rows that a tile may have, on average: it reads weights seldom enough
LONGEST_SUM = 16384  # of lines, whose sums are one chain of roundings
TASKS, FEWEST_ROWS = 16, 7  # so many tasks are wanted, unless they have fewer rows than these,
NEAR_PANEL_BYTES = 112 << 10  # of a wide panel that each few rows read anew
FEWEST_LINES = 1  # or than this, of lines that are many sums for each element
FAR_BYTES = 4 << 20  # of a result: more than second-level caches have
SLICES = 8  # of a task, at most


@dataclass(frozen=True, slots=True)
class PlanarBlock:
    """How a convolution is cut: output `slices` (one of an image), `rows` of each and `pixels` of
    a row of a task; `pitch`: elements from one plane to the next; `scratch_bytes`: of all planes.
    `line_stride`: if not 0, the rows of the input are not taken apart, and it is the elements from
    what a pixel sees to what the next does. `tile`: that of lines, which are read group by group
    where they are `grouped`. `is_far`: the result of an image has left the near caches before it is
    written again.
    """

    slices: int
    rows: int
    pixels: int
    pitch: int
    scratch_bytes: int
    line_stride: int = 0
    tile: TileShape | None = None
    grouped: bool = False
    is_far: bool = False


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
    if len(lowering.strides) not in (2, 3) or lowering.transposed:
        return None
    known = [d for d in weights if isinstance(d, int) and d]
    if len(known) != len(weights):
        return None
    *_, kernel_w, channels, outputs = known
    stride, dilation = lowering.strides[-1], lowering.dilations[-1]
    if lowering.groups != 1:
        return _lines_by_group(shape, lowering, known, result) if channels > 1 else None
    if outputs <= shape.lanes // 2:
        if stride > 1 and _is_seldom_used(lowering, known):
            return _lines_by_group(shape, lowering, known, result)
        if not _fills_planes(shape, lowering, known, result[-2]):
            return _lines_of_few_outputs(shape, lowering, known, result)
        tile = vectors_of_pixels(shape, outputs) * shape.lanes
        shift = (kernel_w - 1) * dilation // stride
        tiling = _Tiling(shape, tile, (1, shift), stride * channels)
        return _cut(tiling, lowering, known, result)
    line_stride = stride * channels
    if not _fits_lines(shape, lowering, known, result[-2]):
        return None
    if dilation != 1:  # of more outputs, gathered rows are read often enough
        is_narrow = outputs <= shape.lanes
        return _lines_by_group(shape, lowering, known, result) if is_narrow else None
    seen = (line_stride, (kernel_w - stride) * channels)
    fewest = FEWEST_ROWS if line_stride <= LINE_STRIDE else FEWEST_LINES
    tile = _tile_of_lines(shape, known)
    found = _cut(_Tiling(tile, tile.rows, seen, 1, fewest), lowering, known, result)
    is_far = _bytes_of_image(shape, result) >= FAR_BYTES
    return found and replace(found, line_stride=line_stride, tile=tile, is_far=is_far)


def _bytes_of_image(shape: TileShape, result: Sequence[Dim]) -> int:
    """Of a result; 0 where that is not known."""
    known = [d for d in result[1:] if isinstance(d, int)]
    return prod(known) * shape.dtype.size if len(known) == len(result) - 1 else 0


def _lines_of_few_outputs(
    shape: TileShape, lowering: Convolution, weights: Sequence[int], result: Sequence[Dim]
) -> PlanarBlock | None:
    """By tiles of one vector, which may have lanes that stand empty."""
    *window, channels, outputs = weights
    is_run = window[-1] * channels >= SHORT_RUN or prod(window) == 1
    if prod(window) <= prod(lowering.strides) and is_run:
        return None
    if len(lowering.strides) == 2:
        return _lines_by_group(shape, lowering, weights, result)
    if lowering.dilations[-1] != 1 or prod(weights[:-1]) > LONGEST_SUM:
        return None
    tile, stride = one_vector_shape(shape, outputs), lowering.strides[-1]
    seen = (stride * channels, (window[-1] - stride) * channels)
    found = _cut(_Tiling(tile, tile.rows, seen, 1, FEWEST_LINES), lowering, weights, result)
    return None if found is None else replace(found, line_stride=seen[0], tile=tile)


def _tile_of_lines(shape: TileShape, weights: Sequence[int]) -> TileShape:
    """A wide tile loads less for each multiply-add, but is lower: it reads a panel more often,
    which only pays if it is near, and may have more vectors than the outputs fill."""
    *before, outputs = weights
    wide = pixel_shape(shape, outputs)
    is_near = prod(before) * wide.columns * shape.dtype.size <= NEAR_PANEL_BYTES
    is_filled = _vectors_of_pixel(wide, outputs) <= _vectors_of_pixel(shape, outputs)
    return wide if is_near and is_filled else shape


def _vectors_of_pixel(tile: TileShape, outputs: int) -> int:
    """Vectors of sums of a pixel."""
    whole, rest = divmod(outputs, tile.columns)
    width = min(width for width in (tile.columns, *tile.widths, 0) if width >= rest)
    return -(-(whole * tile.columns + width) // tile.lanes)


def _lines_by_group(
    shape: TileShape, lowering: Convolution, weights: Sequence[int], result: Sequence[Dim]
) -> PlanarBlock | None:
    """Of groups with two panels of outputs at most: gathered, each would copy what it sees."""
    *_, kernel_w, channels, outputs = weights
    of_group = outputs // lowering.groups
    if len(lowering.strides) != 2 or of_group > 2 * shape.columns:
        return None
    tile = one_vector_shape(shape, of_group) if of_group <= shape.lanes else shape
    (_, stride), (_, dilation) = lowering.strides, lowering.dilations
    line_stride = stride * channels * lowering.groups
    beside = ((kernel_w - 1) * dilation + 1 - stride) * channels * lowering.groups
    tiling = _Tiling(tile, tile.rows, (line_stride, beside), 1, FEWEST_LINES)
    found = _cut(tiling, lowering, weights, result)
    return (
        None if found is None else replace(found, line_stride=line_stride, tile=tile, grouped=True)
    )


def _fits_lines(
    shape: TileShape, lowering: Convolution, weights: Sequence[int], width: Dim
) -> bool:
    """Whether the input is used often enough, by few enough outputs, to be read where it stands."""
    *window, channels, outputs = weights
    line_stride = lowering.strides[-1] * channels
    if line_stride <= LINE_STRIDE:
        return prod(window) * channels >= USES
    if line_stride > FAR_STRIDE or prod(window) <= prod(lowering.strides):
        return False
    if outputs <= 2 * shape.columns:
        is_high = isinstance(width, int) and width >= (
            HIGH_TILES * -(-width // shape.rows) * shape.rows
        )
        return is_high or line_stride <= NARROW_STRIDE
    if line_stride > NARROW_STRIDE:
        return False
    is_near = prod(weights) * shape.dtype.size <= NEAR_WEIGHT_BYTES
    if not isinstance(width, int) or not is_near or prod(weights[:-1]) > LONGEST_SUM:
        return False
    return width >= FILLED_TILES * -(-width // shape.rows) * shape.rows


def _is_seldom_used(lowering: Convolution, weights: Sequence[int]) -> bool:
    """Whether an element is in fewer sums than it takes to move it to its plane: better lanes stand
    empty."""
    *window, _, outputs = weights
    uses = prod(window) / prod(lowering.strides)
    return len(lowering.strides) == 2 and 1 < uses <= outputs


def _fills_planes(
    shape: TileShape, lowering: Convolution, weights: Sequence[int], width: Dim
) -> bool:
    """Whether planes are used often enough, and rows of pixels fill vectors."""
    *window, _, _ = weights
    if prod(window) < USES * prod(lowering.strides) or window[-1] < lowering.strides[-1]:
        return False
    return not isinstance(width, int) or (width >= FILLED * -(-width // shape.lanes) * shape.lanes)


@dataclass(frozen=True, slots=True)
class _Tiling:
    """What a row of a task holds: a plane has `seen[0]` elements for each pixel of whole tiles, of
    `tile` pixels each, and `seen[1]` more; there are `planes` to a row of the input. A task has so
    many rows at least, unless there are no more."""

    shape: TileShape
    tile: int
    seen: tuple[int, int]
    planes: int
    fewest_rows: int = FEWEST_ROWS

    def most_tiles(self, width: Dim, rows: Dim = TASKS) -> int:
        """Tiles of a task, which share a row evenly; where there are few `rows`, so few of them
        that there are enough tasks."""
        if not isinstance(width, int):
            return TILES
        needed = max(1, -(-width // self.tile))
        parts = -(-TASKS // max(1, rows)) if isinstance(rows, int) else 1
        most = min(TILES, max(FEWEST_TILES, -(-needed // parts)))
        return -(-needed // -(-needed // most))

    def pitch(self, tiles: int) -> int:
        elements = tiles * self.tile * self.seen[0] + max(0, self.seen[1])
        return -(-elements // self.shape.lanes) * self.shape.lanes

    def row_bytes(self, tiles: int) -> int:
        return self.planes * self.pitch(tiles) * self.shape.dtype.size


def _cut(
    tiling: _Tiling, lowering: Convolution, weights: Sequence[int], result: Sequence[Dim]
) -> PlanarBlock | None:
    """Tasks of whole tiles."""
    cut = _cut_image if len(lowering.strides) == 2 else _cut_volume
    return cut(tiling, lowering, weights, result)


def _cut_image(
    tiling: _Tiling, lowering: Convolution, weights: Sequence[int], result: Sequence[Dim]
) -> PlanarBlock | None:
    height, width = result[1:3]
    tiles = tiling.most_tiles(width, height)
    stride, around = lowering.strides[0], (weights[0] - 1) * lowering.dilations[0] + 1
    while tiles > 1 and around * tiling.row_bytes(tiles) > PLANE_BYTES:
        tiles //= 2
    row_bytes = tiling.row_bytes(tiles)
    rows = max(1, (PLANE_BYTES // row_bytes - around) // stride + 1)
    if isinstance(height, int):
        rows = min(rows, max(tiling.fewest_rows, height // TASKS), max(1, height))
    total = ((rows - 1) * stride + around) * row_bytes
    if total > MOST_BYTES:
        return None
    return PlanarBlock(1, rows, tiles * tiling.tile, tiling.pitch(tiles), total)


def _cut_volume(
    tiling: _Tiling, lowering: Convolution, weights: Sequence[int], result: Sequence[Dim]
) -> PlanarBlock | None:
    """The blocks that read the least of the input for each of their pixels: neighbours read what
    is around them again."""
    depth, height, width = (d if isinstance(d, int) else 1 << 20 for d in result[1:4])
    (stride_d, stride_h, _), dilations = lowering.strides, lowering.dilations
    around_d, around_h = ((taps - 1) * by + 1 for taps, by in zip(weights[:2], dilations))
    found: PlanarBlock | None = None
    least = 0.0
    tiles = tiling.most_tiles(result[3])
    while tiles:
        pixels, row_bytes = tiles * tiling.tile, tiling.row_bytes(tiles)
        for slices in range(1, max(1, min(SLICES, depth)) + 1):
            slices_read = (slices - 1) * stride_d + around_d
            rows = (VOLUME_BYTES // (row_bytes * slices_read) - around_h) // stride_h + 1
            in_tasks = -(-depth // slices) * height * -(-width // pixels) // TASKS
            rows = min(rows, max(tiling.fewest_rows // slices, in_tasks, 1), max(1, height))
            if rows < 1:
                break
            bytes_read = slices_read * ((rows - 1) * stride_h + around_h) * row_bytes
            cost = bytes_read / (slices * rows * pixels)
            if found is None or cost < least:
                least = cost
                found = PlanarBlock(slices, rows, pixels, tiling.pitch(tiles), bytes_read)
        tiles //= 2
    return found
