"""Which convolutions are computed by Winograd's algorithm, and with tiles of how many outputs.

In: a convolution, and the register tile of its target. Out: the `WinogradSpec`s that it has, with
their costs; None: computed directly. The number of images counts
as the least that it may be where it is not known, so what is chosen is as fast as the direct way
whatever it turns out to be. Of a height or a width that only the run knows, what is chosen is for
images as they usually are, and `least_pixels` says for how few the direct way is as fast.

Of a window that has no tile of its own, sections have: 7 x 7 taps are seven sections of 1 x 7, 11
along an axis two of 7, whose last three are zeros. The best of them is a way.

The cost of each way is counted in multiply-adds of vectors. More outputs a tile save more of them,
and have more weights, whose reading decides where few tiles share them.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, isqrt, prod

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
FEW_CHANNELS = 32  # whose sums are short and err little, beside which many points would
FEW_POINTS = 4  # along one of the axes, at most: of so few channels
MOST_SCRATCH = 2 << 20  # elements of a task of many sections: 8 MB
WEIGHTS = 2  # elements that are multiplied and added while a byte of weights comes from caches
OF_MEMORY = 4  # the same of weights that no cache has
TRANSFORMED = 4  # multiply-adds that take as long as it takes to make a weight of a position
FINER = 12  # of a number of pixels, the part by which the next one that is looked at is less
GAIN = 0.85  # of the cost of a simpler way, at most
USUAL = 1024  # pixels of an image or a sequence whose size only the run knows

Way = tuple[WinogradSpec | None, float]  # with its cost; None: directly


def winograd_for(
    lowering: Convolution,
    weights: Value,
    result: tuple[Dim, ...],
    shape: TileShape,
) -> WinogradSpec | None:
    """The one to take. `result`: the logical dims of the output. Weights of the run have tiles for
    sizes that are known."""
    if weights.constant is None and not all(isinstance(d, int) for d in result[-3:-1]):
        return None
    chosen = _least(winograd_costs(lowering, weights, _of_side(result, _usual(result)), shape))
    return chosen[0][0] if chosen else None


def least_pixels(
    spec: WinogradSpec,
    lowering: Convolution,
    weights: Value,
    result: tuple[Dim, ...],
    shape: TileShape,
) -> int:
    """Of how many pixels of all images on `spec` is faster than the direct way; 0 where the sizes
    are known: then it was chosen for them."""
    if all(isinstance(d, int) for d in result[-3:-1]):
        return 0

    def gains(side: int) -> bool:
        sized = _of_side(result, side)
        of_window, of_sections = _ways(lowering, weights, sized, shape, OF_MEMORY)
        costs = dict([*of_window, *of_sections])
        return costs[spec] < GAIN * costs[None]

    side = _usual(result)
    while side > 1 and gains(side - ceil(side / FINER)):
        side -= ceil(side / FINER)
    return prod(d for d in _of_side(result, side)[:-1] if isinstance(d, int))


def _usual(result: tuple[Dim, ...]) -> int:
    """How long the axes are usually that are not known."""
    known = [d for d in result[-3:-1] if isinstance(d, int)]
    return max(1, USUAL // known[0]) if known and known[0] else isqrt(USUAL)


def _of_side(result: tuple[Dim, ...], side: int) -> tuple[Dim, ...]:
    """The dims of an output whose height and width, where they are not known, are `side`."""
    *images, height, width, n = result
    height, width = (d if isinstance(d, int) else side for d in (height, width))
    return (*images, height, width, n)


def _least(ways: list[Way]) -> list[Way]:
    """The one to take of several, the simplest first; none of none."""
    chosen = ways[:1]
    for way in ways:
        if way[1] < GAIN * chosen[0][1]:
            chosen = [way]
    return chosen


def winograd_costs(
    lowering: Convolution,
    weights: Value,
    result: tuple[Dim, ...],
    shape: TileShape,
) -> list[Way]:
    """The ways of a convolution, the simplest first; none where it cannot be computed so."""
    of_window, of_sections = _ways(lowering, weights, result, shape)
    return [*of_window, *_least(sorted(of_sections, key=_weights_of))]


def _ways(
    lowering: Convolution,
    weights: Value,
    result: tuple[Dim, ...],
    shape: TileShape,
    per_byte: int = WEIGHTS,
) -> tuple[list[Way], list[Way]]:
    """With tiles of the whole window, the direct way first, and with tiles of its sections."""
    if weights.type.rank < 4:
        return [], []
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
        return [], []
    tiles_of = _tiles_of(lowering, (kernel_h, kernel_w))
    tile = shape if _fills(shape, channels, n) else _of_half_vectors(shape)
    if not (tiles_of and channels * n and _fills(tile, channels, n)):
        return [], []
    channels *= prod(int(d) for d in taps_d)  # what the taps of the depth see are more channels
    batch = prod(d for d in images if isinstance(d, int))
    taps, pixels = kernel_h * kernel_w, batch * height * width
    direct = channels * n * (pixels * taps / shape.lanes + _reading(taps, shape, per_byte))
    is_known = weights.constant is not None
    of_window: list[Way] = [(None, direct)]
    of_sections: list[Way] = []
    for winograd, sections in tiles_of:
        if is_known and channels <= FEW_CHANNELS and _errs(winograd):
            continue
        tiles = batch * prod(
            map(_tiles, (height, width), lowering.dilations[-2:], winograd.outputs)
        )
        spec = WinogradSpec(tile, winograd, sections)
        reading = _reading(spec.winograd.positions, shape, per_byte)
        if not is_known:
            reading += winograd.positions * TRANSFORMED / shape.lanes
        way = (spec, _cost(spec, tiles, (channels, n), reading))
        if sections == (1, 1):
            of_window.append(way)
        elif not is_known:
            continue
        elif spec.scratch_elements(spec.sections_in_all * channels) <= MOST_SCRATCH:
            of_sections.append(way)
    return of_window, of_sections


def _cost(spec: WinogradSpec, tiles: int, channels: tuple[int, int], reading: float) -> float:
    """`channels` of the input and the output. What the sections of a window see are more."""
    seen, n = spec.sections_in_all * channels[0], channels[1]
    winograd = spec.winograd
    of_input, of_output = _transforms(winograd)
    work = winograd.positions * seen * n + of_input * seen + of_output * n
    return tiles * work / spec.shape.lanes + seen * n * reading


def _weights_of(way: Way) -> int:
    spec, _ = way
    return 0 if spec is None else spec.sections_in_all * spec.winograd.positions


def _tiles_of(
    lowering: Convolution, window: tuple[int, int]
) -> list[tuple[Winograd, tuple[int, int]]]:
    """Along the last two axes, of the window or of its sections, and how many of these there are;
    none where there is no tile."""
    strides, dilations = lowering.strides[-2:], lowering.dilations[-2:]
    if strides not in ((1, 1), (2, 2)) or (strides == (2, 2) and dilations != (1, 1)):
        return []
    table = OUTPUTS if strides == (1, 1) else STRIDED_OUTPUTS
    cut = [window] if window in table else table
    found: list[tuple[Winograd, tuple[int, int]]] = []
    for section in cut:
        if section[0] > window[0] or section[1] > window[1]:
            continue
        sections = -(-window[0] // section[0]), -(-window[1] // section[1])
        for outputs in table[section]:
            h, w = (WinogradAxis(*sizes) for sizes in zip(outputs, section, strides))
            found.append((Winograd(h, w), sections))
    return found


def _errs(winograd: Winograd) -> bool:
    """Whether what an element is off by is more than short sums are: of 16 channels F(4 x 4, 3 x 3)
    errs 2.7 times as much as the direct way, F(2 x 2, 3 x 3) 0.9 times."""
    points = (max(p.side for p in axis.phases) for axis in (winograd.h, winograd.w))
    return min(points) > FEW_POINTS


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


def _reading(positions: int, shape: TileShape, per_byte: int) -> float:
    """What it costs to read the weights of a pair of channels."""
    return positions * shape.dtype.size * per_byte / shape.lanes
