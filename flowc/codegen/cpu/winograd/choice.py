"""Which convolutions are computed by Winograd's algorithm, and with tiles of how many outputs.

In: a convolution whose weights are known, and the register tile of its target. Out: a
`WinogradSpec`, or None: computed directly. Sizes that are not known count as the least that they
may be, so what is chosen is as fast as the direct way whatever they turn out to be.

The cost of each way is counted in multiply-adds of vectors. Tiles of 4 x 4 outputs are left out for
a large part of what they save where few tiles share weights, which are four times as many then.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.cpu.winograd.source import WinogradSpec
from flowc.codegen.cpu.winograd.transforms import WINDOW, Winograd
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.layout import CHANNELS_LAST
from flowc.ir.lowering import Convolution

# Of a tile, for a vector of channels: what transforming it costs, of the input and of the result.
TRANSFORMS = {2: (60, 40), 4: (220, 180)}
WEIGHTS = 2  # elements that are multiplied and added while a byte of weights comes from memory
GAIN = 0.85  # of the cost of a simpler way, at most


def winograd_for(
    lowering: Convolution,
    weights: Value,
    image: tuple[Dim, ...],
    result: tuple[Dim, ...],
    shape: TileShape,
) -> WinogradSpec | None:
    """`image` and `result` are the logical dims of the input and the output."""
    *window, channels, n = weights.dims
    height, width = result[1:3]
    if not (
        shape.dtype is dtypes.f32
        and window == [WINDOW, WINDOW]
        and lowering.strides == lowering.dilations == (1, 1)
        and lowering.groups == 1
        and lowering.layout == CHANNELS_LAST
        and isinstance(channels, int)
        and isinstance(n, int)
        and isinstance(height, int)
        and isinstance(width, int)
    ):
        return None
    if channels % shape.lanes or n % shape.lanes or not channels * n:
        return None
    batch = image[0] if isinstance(image[0], int) else 1
    pairs, vector = channels * n, 1 / shape.lanes
    taps = WINDOW * WINDOW
    chosen, least = None, pairs * (batch * height * width * taps * vector + _reading(taps, shape))
    for outputs, (of_input, of_output) in TRANSFORMS.items():
        winograd = Winograd(outputs)
        tiles = batch * -(-height // outputs) * -(-width // outputs)
        moved = of_input * channels + of_output * n
        products = winograd.positions * pairs
        cost = tiles * (products + moved) * vector + pairs * _reading(winograd.positions, shape)
        if cost < GAIN * least:
            chosen, least = WinogradSpec(shape, winograd), cost
    return chosen


def _reading(positions: int, shape: TileShape) -> float:
    """What it costs to read the weights of a pair of channels."""
    return positions * shape.dtype.size * WEIGHTS / shape.lanes
