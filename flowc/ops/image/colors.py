"""Colour spaces and adjustments of images: RGBToHSV and back, hue, saturation, contrast.

In: images [..., 3] of red, green and blue, of contrast [..., height, width, channels]. Out: images
of the same shape. Invariant: the arithmetic of TensorFlow's kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.image import colors as kernels
from flowc.ops.math.elementwise import widened

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]
f32 = np.float32


def _infer(c: Inference) -> Dims:
    dims = c.dims(0)
    rank = 3 if len(c.inputs) > 1 else 1
    if len(dims) < rank:
        raise c.fail(f"Shape must be at least rank {rank} but is rank {len(dims)}")
    c.equal(dims[-1], 3, f"input must have 3 channels but instead has {dims[-1]} channels.")
    if len(c.inputs) > 1:
        c.need_rank(1, 0)
    return dims


_NUMBERS = {"UNIT": 1, "SIX": 6, "SIXTH": 1 / 6, "THIRD": 2 / 6, "TWO_THIRDS": 4 / 6}


def _lower(kernel: Callable[..., None]) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        kind = np.float64 if node.output.type.dtype is dtypes.f64 else np.float32
        constants = {name: kind(value) for name, value in _NUMBERS.items()}
        return Native(kernel, parallel=product(node.output.dims[:-1]), constants=constants)

    return lower


# -- references


def _hue(colors: Array, most: Array, spread: Array, sixth: Array) -> Array:
    """0 to 1, from the largest channel and how far the smallest is from it."""
    kind = colors.dtype.type
    r, g, b = np.moveaxis(colors, -1, 0)
    by_green = np.where(g == most, sixth * (b - r) + kind(2 / 6), sixth * (r - g) + kind(4 / 6))
    hue = np.where(r == most, sixth * (g - b), by_green)
    hue = np.where(spread > 0, hue, kind(0))
    return np.where(hue < 0, hue + kind(1), hue)


def _extremes(colors: Array) -> tuple[Array, Array]:
    return colors.max(-1), colors.max(-1) - colors.min(-1)


def _to_hsv(images: Array) -> Array:
    colors = widened(images)
    kind = colors.dtype.type
    most, spread = _extremes(colors)
    hue = _hue(colors, most, spread, (kind(1) / spread) * kind(1 / 6))
    saturation = np.where(most > 0, spread / most, most * kind(0))
    return np.stack([hue, saturation, most], -1).astype(images.dtype)


def _from_hsv(images: Array) -> Array:
    colors = widened(images)
    kind = colors.dtype.type
    hue, s, v = np.moveaxis(colors, -1, 0)
    place = hue * kind(6)
    ramps = (abs(place - 3) - 1, 2 - abs(place - 2), 2 - abs(place - 4))
    found = [((kind(1) - s) + s * np.clip(ramp, 0, 1)) * v for ramp in ramps]
    return np.stack(found, -1).astype(images.dtype)


# Which channel has the largest number, the one between and the smallest, by the order of a hue.
_PLACES = np.array([[0, 1, 2], [1, 0, 2], [1, 2, 0], [2, 1, 0], [2, 0, 1], [0, 2, 1]])


def _placed(order: Array, values: list[Array]) -> Array:
    """Pixels whose largest, middle and smallest channels have the values."""
    found = np.empty((*order.shape, 3), values[0].dtype)
    for place, value in enumerate(values):
        np.put_along_axis(found, _PLACES[order][..., place, None], value[..., None], -1)
    return found


def _with_hue(images: Array, delta: Array) -> Array:
    colors = widened(images)
    r, g, b = np.moveaxis(colors, -1, 0)
    below = np.where(b < r, 1, np.where(b > g, 3, 2))
    order = np.where(r < g, below, np.where(b < g, 0, np.where(b > r, 4, 5)))
    most, spread = _extremes(colors)
    least = colors.min(-1)
    middle = np.take_along_axis(colors, _PLACES[order][..., 1, None], -1)[..., 0]
    ratio = (middle - least) / np.where(spread > 0, spread, f32(1))
    hue = order.astype(f32) + np.where(order % 2 == 0, ratio, f32(1) - ratio)
    hue = np.where(spread > 0, hue, f32(0)) + delta * f32(6)
    far = ~((hue < 12) & (hue > -6))
    hue = np.where(far, hue - f32(6) * np.trunc(hue / f32(6)), hue)
    hue = np.where(abs(hue) < 1e7, hue, f32(0))
    hue = np.where(hue < 0, hue + f32(6), hue)
    hue = np.where(hue >= 6, hue - f32(6), hue)
    order = hue.astype(np.int64)
    ratio = hue - order.astype(f32)
    ratio = np.where(order % 2 == 0, ratio, f32(1) - ratio)
    values = [most, least + ratio * (most - least), least]
    return _placed(order, values).astype(images.dtype)


def _with_saturation(images: Array, scale: Array) -> Array:
    colors = widened(images)
    most, spread = _extremes(colors)
    saturation = np.where(most > 0, spread / most, f32(0))
    hue = _hue(colors, most, spread, f32(1) / (f32(6) * spread))
    chroma = np.clip(saturation * scale, f32(0), f32(1)) * most
    place = hue * f32(6)
    order = place.astype(np.int64)
    within = place - (2 * (order // 2)).astype(f32)
    second = chroma * (f32(1) - abs(within - f32(1)))
    values = [np.where(order > 5, f32(0), v) for v in (chroma, second, np.zeros_like(chroma))]
    found = _placed(np.minimum(order, 5), values) + (most - chroma)[..., None]
    return found.astype(images.dtype)


# -- contrast


def _infer_contrast(c: Inference) -> Dims:
    if c.rank(0) < 3:
        raise c.fail(f"Shape must be at least rank 3 but is rank {c.rank(0)}")
    for i in range(1, len(c.inputs)):
        c.need_rank(i, 0)
    return c.dims(0)


def _contrast(b: Builder, node: Node) -> Value:
    """Each channel's distance from its mean over the image times a factor."""
    images, factor, *ends = node.inputs
    floats = images if images.type.dtype is dtypes.f32 else b.cast(images, DstT=dtypes.f32)
    rank = images.type.rank
    mean = b.mean(floats, b.const(np.array([rank - 3, rank - 2], np.int32)), keep_dims=True)
    found = b.add(b.mul(b.sub(floats, mean), factor), mean)
    if ends:
        found = b.minimum(b.maximum(found, ends[0]), ends[1])
    kind = node.output.type.dtype
    return found if kind is dtypes.f32 else b.cast(found, DstT=kind)


def _contrast_reference(images: Array, factor: Array, *ends: Array) -> Array:
    floats = images.astype(f32)
    mean = floats.mean((-3, -2), keepdims=True, dtype=f32)
    found = (floats - mean) * factor + mean
    if ends:
        return np.minimum(np.maximum(found, ends[0]), ends[1])
    return found.astype(images.dtype)


# -- gradient


def _marks(
    b: GradientBuilder, first: Any, second: Any, third: Any, compare: Any
) -> tuple[Any, ...]:
    """1 at the one of three channels that compares best, the first of equals, and 0 elsewhere."""
    kind = first.dtype
    is_first = b.logical_and(compare(first, second), compare(first, third))
    one = b.cast(is_first, DstT=kind)
    two = b.mul(
        b.cast(b.logical_not(is_first), DstT=kind), b.cast(compare(second, third), DstT=kind)
    )
    return one, two, b.sub(b.sub(1, one), two)


def _sum(b: GradientBuilder, *terms: Any) -> Any:
    total = terms[0]
    for term in terms[1:]:
        total = b.add(total, term)
    return total


def _hsv_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """With most, least and spread = most - least of a pixel: value = most, saturation = spread /
    most, hue = a sixth of the difference of the channels that are not the most, over the spread."""
    channels = r, g, blue = b.unpack(node.inputs[0], num=3, axis=-1)
    hue_dy, saturation_dy, value_dy = b.unpack(dy, num=3, axis=-1)
    tops = _marks(b, r, g, blue, b.greater_equal)
    lows = _marks(b, blue, g, r, b.less_equal)[::-1]
    most = _sum(b, *map(b.mul, tops, channels))
    least = _sum(b, *map(b.mul, lows, channels))
    is_lit = b.cast(b.greater(most, 0), DstT=most.dtype)
    whole, part = b.div_no_nan(is_lit, most), b.div_no_nan(1, b.sub(most, least))
    ahead = [b.sub(tops[(i + 2) % 3], tops[(i + 1) % 3]) for i in range(3)]
    sixth = b.mul(b.mul(hue_dy, part), 1 / 6)
    turn = b.mul(b.mul(_sum(b, *map(b.mul, ahead, channels)), part), sixth)
    of_most = _sum(
        b, value_dy, b.mul(b.mul(saturation_dy, least), b.mul(whole, whole)), b.neg(turn)
    )
    of_least = b.sub(turn, b.mul(saturation_dy, whole))
    found = [
        _sum(b, b.mul(top, of_most), b.mul(low, of_least), b.mul(sign, sixth))
        for top, low, sign in zip(tops, lows, ahead)
    ]
    return b.pack(*found, axis=-1)


_EXAMPLES = ("T[2,3,4,3]~prob", "T[5,3]~unit", "f32[2,2,3]~distinct", "f32[0,3]", "T[3]~positive")

rgb_to_hsv = define(
    "rgb_to_hsv",
    "RGBToHSV(images: T; T: {f16, bf16, f32, f64} = f32) -> output: T",
    infer=_infer,
    lowering=_lower(kernels.rgb_to_hsv),
    reference=_to_hsv,
    gradient=_hsv_gradient,
    examples=_EXAMPLES,
)
hsv_to_rgb = define(
    "hsv_to_rgb",
    "HSVToRGB(images: T; T: {f16, bf16, f32, f64} = f32) -> output: T",
    infer=_infer,
    lowering=_lower(kernels.hsv_to_rgb),
    reference=_from_hsv,
    examples=_EXAMPLES,
)
_ADJUSTED = tuple(
    f"{images} f32[]={amount}"
    for images, amount in (
        ("T[2,3,4,3]~prob", 0.25),
        ("f32[3,4,3]~prob", -0.7),
        ("f32[3,4,3]~small", 1.5),
        ("f32[2,5,3]~unit", 0.0),
        ("f32[0,3,3]", 0.5),
    )
)
adjust_hue = define(
    "adjust_hue",
    "AdjustHue(images: T, delta: f32; T: {f16, f32} = f32) -> output: T",
    infer=_infer,
    lowering=_lower(kernels.adjust_hue),
    reference=_with_hue,
    examples=_ADJUSTED,
)
adjust_saturation = define(
    "adjust_saturation",
    "AdjustSaturation(images: T, scale: f32; T: {f16, f32} = f32) -> output: T",
    infer=_infer,
    lowering=_lower(kernels.adjust_saturation),
    reference=_with_saturation,
    examples=_ADJUSTED,
)
adjust_contrast_v2 = define(
    "adjust_contrast_v2",
    "AdjustContrastv2(images: T, contrast_factor: f32; T: {f16, f32} = f32) -> output: T",
    infer=_infer_contrast,
    lowering=Decompose(_contrast),
    reference=_contrast_reference,
    examples=("T[2,3,4,3] f32[]=2", "f32[5,4,1] f32[]=-0.5", "f32[2,0,4,3] f32[]=2"),
)
adjust_contrast = define(
    "adjust_contrast",
    "AdjustContrast(images: T, contrast_factor: f32, min_value: f32, max_value: f32;"
    " T: {u8, i8, i16, i32, i64, f32, f64}) -> output: f32",
    infer=_infer_contrast,
    lowering=Decompose(_contrast),
    reference=_contrast_reference,
    examples=("T[2,3,4,3]~small f32[]=2 f32[]=0 f32[]=5",),
)
