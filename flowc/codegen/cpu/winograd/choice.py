"""Which convolutions are computed by Winograd's algorithm, and with tiles of how many outputs.

In: a convolution whose weights are known, and the register tile of its target. Out: the
`WinogradSpec`s that it has, with their costs; None: computed directly. Sizes that are not known
count as the least that they may be, so what is chosen is as fast as the direct way whatever they
turn out to be.

The cost of each way is counted in multiply-adds of vectors. More outputs a tile save more of them,
and have more weights, whose reading decides where few tiles share them.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from flowc import dtypes
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.winograd.source import WinogradSpec
from flowc.codegen.cpu.winograd.transforms import Winograd, WinogradAxis
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution

# Outputs of a tile along each axis, by window: those whose error is small, the least one first. Of
# windows that move by one pixel, then of those that move by two.
OUTPUTS = {
    (2, 2): ((3, 3),),
    (3, 3): ((2, 2), (4, 4), (3, 3)),
    (4, 4): ((3, 3),),
    (5, 5): ((2, 2),),
    (1, 3): ((1, 2), (1, 4)),
    (3, 1): ((2, 1), (4, 1)),
    (1, 5): ((1, 2),),
    (5, 1): ((2, 1),),
    (1, 7): ((1, 2), (1, 4)),
    (7, 1): ((2, 1), (4, 1)),
}
STRIDED_OUTPUTS = {(3, 3): ((2, 2),), (4, 4): ((3, 3),), (5, 5): ((2, 2),)}
WEIGHTS = 2  # elements that are multiplied and added while a byte of weights comes from memory
GAIN = 0.85  # of the cost of a simpler way, at most


def winograd_for(
    lowering: Convolution,
    weights: Value,
    result: tuple[Dim, ...],
    shape: TileShape,
) -> WinogradSpec | None:
    """The one to take. `result`: the logical dims of the output."""
    chosen: WinogradSpec | None = None
    least: float | None = None
    for spec, cost in winograd_costs(lowering, weights, result, shape):
        if least is None or cost < GAIN * least:
            chosen, least = spec, cost
    return chosen


def winograd_costs(
    lowering: Convolution,
    weights: Value,
    result: tuple[Dim, ...],
    shape: TileShape,
) -> list[tuple[WinogradSpec | None, float]]:
    """The ways of a convolution, the simplest first; none where it cannot be computed so."""
    if weights.type.rank < 4:
        return []
    *taps_d, kernel_h, kernel_w, channels, n = weights.dims
    *images, height, width, _ = result
    if not (
        shape.dtype is dtypes.f32
        and len(taps_d) <= 1
        and isinstance(kernel_h, int)
        and isinstance(kernel_w, int)
        and all(isinstance(d, int) and d for d in taps_d)
        and lowering.groups == 1
        and lowering.layout == CHANNELS_LAST
        and isinstance(channels, int)
        and isinstance(n, int)
        and isinstance(height, int)
        and isinstance(width, int)
    ):
        return []
    outputs = _outputs(lowering, (kernel_h, kernel_w))
    tile = shape if _fills(shape, channels, n) else _of_half_vectors(shape)
    if not (outputs and channels * n and _fills(tile, channels, n)):
        return []
    channels *= prod(int(d) for d in taps_d)  # what the taps of the depth see are more channels
    batch = prod(d for d in images if isinstance(d, int))
    pairs, taps = channels * n, kernel_h * kernel_w
    pixels = batch * height * width
    direct = pairs * (pixels * taps / shape.lanes + _reading(taps, shape))
    found: list[tuple[WinogradSpec | None, float]] = [(None, direct)]
    (stride_h, stride_w), (dilation_h, dilation_w) = lowering.strides[-2:], lowering.dilations[-2:]
    for outputs_h, outputs_w in outputs:
        winograd = Winograd(
            WinogradAxis(outputs_h, kernel_h, stride_h), WinogradAxis(outputs_w, kernel_w, stride_w)
        )
        tiles = batch * _tiles(height, dilation_h, outputs_h) * _tiles(width, dilation_w, outputs_w)
        of_input, of_output = _transforms(winograd)
        work = winograd.positions * pairs + of_input * channels + of_output * n
        cost = tiles * work / tile.lanes + pairs * _reading(winograd.positions, shape)
        found.append((WinogradSpec(tile, winograd), cost))
    return found


def _outputs(lowering: Convolution, window: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """Along the last two axes; none where there is no tile."""
    strides, dilations = lowering.strides[-2:], lowering.dilations[-2:]
    if strides == (1, 1):
        return OUTPUTS.get(window, ())
    if strides == (2, 2) and dilations == (1, 1):
        return STRIDED_OUTPUTS.get(window, ())
    return ()


def _tiles(extent: int, dilation: int, outputs: int) -> int:
    """Of the pixels of one axis, of which every `dilation`-th belong together."""
    of_phase = -(-extent // dilation)
    return dilation * -(-of_phase // outputs)


def _fills(shape: TileShape, channels: int, n: int) -> bool:
    return channels % shape.lanes == n % shape.lanes == 0


def _of_half_vectors(shape: TileShape) -> TileShape:
    """The tile of a target whose vectors are half as long, with all the registers there are."""
    lanes = max(1, shape.lanes // 2)
    return replace(shape, lanes=lanes, columns=2 * lanes)


def _transforms(winograd: Winograd) -> tuple[float, float]:
    """What it costs to transform a tile of one channel, of the input and of the result: sums along
    each axis, loads and stores."""
    h, w = winograd.h, winograd.w
    of_input = w.side * h.side**2 / 3 + h.side * w.side**2 / 3
    of_output = w.side * h.side * h.outputs / 2 + h.outputs * w.side * w.outputs / 2
    moved = winograd.positions + h.outputs * w.outputs
    return of_input + 2 * winograd.positions, of_output + moved


def _reading(positions: int, shape: TileShape) -> float:
    """What it costs to read the weights of a pair of channels."""
    return positions * shape.dtype.size * WEIGHTS / shape.lanes
