"""Boxes drawn on images, images seen through projections, and glimpses of them.

In: channels-last images; boxes, transforms or offsets. Out: images. Invariant: one kernel each, in
TensorFlow's arithmetic; what a glimpse shows beyond the edges is noise that nobody can name.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import UnimplementedError
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.image.resize import new_size
from flowc.ops.kernels.image import drawing as kernels
from flowc.ops.math.elementwise import widened

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]
f32 = np.float32

# -- boxes

# TensorFlow's colours of boxes, one after the other; gray images see the first number.
COLORS = np.array(
    [
        [1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1],
        [0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1],
    ],
    f32,
)  # fmt: skip
WHITE = np.ones((1, 4), f32)
NOTHING = f32(0)
_BELOW = -(1 << 62)


def _infer_boxes(c: Inference) -> Dims:
    if c.rank(0) != 4:
        raise c.fail("The rank of the images should be 4")
    if c.rank(1) != 3:
        raise c.fail("The rank of the boxes tensor should be 3")
    channels = c.dims(0)[3]
    if isinstance(channels, int) and channels not in (1, 3, 4):
        raise c.fail("Channel depth should be either 1 (GRY), 3 (RGB), or 4 (RGBA)")
    c.equal(c.dims(0)[0], c.dims(1)[0], "The batch sizes should be the same")
    c.equal(c.dims(1)[2], 4, "The size of the third dimension of the box must be 4")
    if len(c.inputs) > 2:
        c.need_rank(2, 2)
        count, size = c.dims(2)
        if isinstance(size, int) and isinstance(channels, int) and (size < channels or count == 0):
            raise c.fail(
                f"colors must have equal or more channels than the image provided: [{count},{size}]"
            )
    return c.dims(0)


def _lower_boxes(node: Node) -> Native:
    batch, *sizes = node.inputs[0].dims
    return Native(
        kernels.draw_boxes,
        arguments=(*sizes, node.inputs[1].dims[1], *node.inputs[2].dims),
        parallel=batch,
        updates=0,
        errors=("colors must have equal or more channels than the image provided: [{a},{b}]",),
    )


def _edge(place: Any, size: int) -> int:
    at = place * f32(size - 1)
    return int(at) if abs(at) < 9e18 else _BELOW


def _draw(images: Array, boxes: Array, colors: Array) -> Array:
    found = images.copy()
    _, height, width, channels = images.shape
    for image, mine in zip(found, boxes):
        for k, box in enumerate(mine):
            sizes = (height, width, height, width)
            top, left, bottom, right = (_edge(x, n) for x, n in zip(box, sizes))
            if top > bottom or left > right or top >= height or left >= width:
                continue
            if bottom < 0 or right < 0:
                continue
            color = colors[k % len(colors), :channels].astype(images.dtype)
            rows = slice(max(top, 0), min(bottom, height - 1) + 1)
            columns = slice(max(left, 0), min(right, width - 1) + 1)
            for row in (top, bottom):
                if 0 <= row < height:
                    image[row, columns] = color
            for column in (left, right):
                if 0 <= column < width:
                    image[rows, column] = color
    return found


def _colored(b: Builder, node: Node) -> Value:
    gray = node.inputs[0].dims[3] == 1
    return b.draw_bounding_boxes_v2(*node.inputs, b.const(WHITE if gray else COLORS))


_BOX = (
    "f32[2,3,4]=[[[0,0,1,1],[0.1,0.3,0.6,0.7],[-0.4,0.5,0.4,1.6]],"
    "[[0.9,0,0.1,1],[2,0,3,1],[0.5,0.5,0.5,0.5]]]"
)
draw_bounding_boxes = define(
    "draw_bounding_boxes",
    "DrawBoundingBoxes(images: T, boxes: f32; T: {f32, f16} = f32) -> output: T",
    infer=_infer_boxes,
    lowering=Decompose(_colored),
    reference=lambda images, boxes: _draw(images, boxes, WHITE if images.shape[3] == 1 else COLORS),
    examples=(f"T[2,6,7,3] {_BOX}", f"f32[2,4,5,1] {_BOX}", "f32[1,3,3,4] f32[1,0,4]"),
)
draw_bounding_boxes_v2 = define(
    "draw_bounding_boxes_v2",
    "DrawBoundingBoxesV2(images: T, boxes: f32, colors: f32; T: {f32, f16} = f32) -> output: T",
    infer=_infer_boxes,
    lowering=_lower_boxes,
    reference=_draw,
    examples=(f"T[2,6,7,3] {_BOX} f32[2,4]~prob", f"f32[2,4,5,1] {_BOX} f32[1,1]~prob"),
)

# -- projections

_FILLS = {
    "CONSTANT": kernels.CONSTANT,
    "REFLECT": kernels.REFLECT,
    "WRAP": kernels.WRAP,
    "NEAREST": kernels.NEAREST,
}


def _infer_projected(c: Inference) -> Dims:
    if c.rank(0) != 4:
        raise c.fail("input images must be 4-dimensional")
    c.need_rank(1, 2)
    batch, _, _, channels = c.dims(0)
    count, size = c.dims(1)
    if size != 8 or (count != 1 and count != batch):
        c.equal(size, 8, "Input transform should be num_images x 8 or 1 x 8")
        c.equal(count, batch, "Input transform should be num_images x 8 or 1 x 8")
    if len(c.inputs) > 3:
        c.need_rank(3, 0)
    if c.attrs["fill_mode"] not in _FILLS:
        raise c.fail(f"Invalid mode {c.attrs['fill_mode']}")
    if c.attrs["interpolation"] not in ("NEAREST", "BILINEAR"):
        raise c.fail(f"Invalid interpolation {c.attrs['interpolation']}")
    return (batch, *new_size(c, 2, "output dimensions"), channels)


def _lower_projected(node: Node) -> Native:
    batch, out_h, out_w, _ = node.output.dims
    return Native(
        kernels.project,
        arguments=(*node.inputs[0].dims[1:], node.inputs[1].dims[0], out_h, out_w),
        parallel=batch * out_h,
        constants={
            "FILL": _FILLS[node.attrs["fill_mode"]],
            "BILINEAR": int(node.attrs["interpolation"] == "BILINEAR"),
        },
    )


def _within(place: Array, size: int, fill: str) -> Array:
    """Places within an image that stand for those beyond its edges."""
    last = f32(size - 1)
    if fill == "CONSTANT":
        return place
    if size > 1 and fill == "REFLECT":
        period = f32(2 * size)
        low = np.where(place < period, period * np.trunc(-place / period) + place, place)
        low = np.where(low < -size, low + period, -low - f32(1))
        high = place - period * np.trunc(place / period)
        high = np.where(high >= size, period - high - f32(1), high)
        place = np.where(place < 0, low, np.where(place > last, high, place))
    elif size > 1 and fill == "WRAP":
        low = place + f32(size) * (np.trunc(-place / last) + f32(1))
        high = place - f32(size) * np.trunc(place / last)
        place = np.where(place < 0, low, np.where(place > last, high, place))
    return np.clip(np.where(place > 0, place, f32(0)), f32(0), last)


def _read(image: Array, rows: Array, columns: Array, fill: Any) -> Array:
    height, width, _ = image.shape
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    at = np.where(inside, rows, 0).astype(np.int64), np.where(inside, columns, 0).astype(np.int64)
    return np.where(inside[..., None], image[at], image.dtype.type(fill))


def _project(
    images: Array, transforms: Array, size: Array, fill_value: Any = NOTHING, *,
    interpolation: str, fill_mode: str,
) -> Array:  # fmt: skip
    height, width = images.shape[1:3]
    down, across = (x.astype(f32) for x in np.indices(tuple(size.tolist())))
    found = np.empty((len(images), *size.tolist(), images.shape[3]), images.dtype)
    for k, image in enumerate(images):
        t = transforms[k if len(transforms) > 1 else 0]
        share = t[6] * across + t[7] * down + f32(1)
        x = _within((t[0] * across + t[1] * down + t[2]) / share, width, fill_mode)
        z = _within((t[3] * across + t[4] * down + t[5]) / share, height, fill_mode)
        x, z = (np.where((share != 0) & (abs(v) < 1e9), v, f32(-1e9)) for v in (x, z))
        if interpolation == "NEAREST":
            near = [np.sign(v) * np.floor(abs(v) + f32(0.5)) for v in (z, x)]
            found[k] = _read(image, near[0], near[1], fill_value)
            continue
        top, left, wide = np.floor(z), np.floor(x), widened(image).astype(f32)
        p, q, r, s = (_read(wide, top + i, left + j, fill_value) for i in (0, 1) for j in (0, 1))
        right_part, lower_part = (x - left)[..., None], (z - top)[..., None]
        left_part, upper_part = (left + 1 - x)[..., None], (top + 1 - z)[..., None]
        upper, lower = left_part * p + right_part * q, left_part * r + right_part * s
        value = upper_part * upper + lower_part * lower
        outside = (z < -1) | (x < -1) | (z >= height) | (x >= width)
        found[k] = np.where(outside[..., None], f32(fill_value), value).astype(images.dtype)
    return found


_PROJECTED = "{u8, i32, i64, f16, bf16, f32, f64}"
_PROJECTION = f'interpolation: string, fill_mode: string = "CONSTANT", dtype: {_PROJECTED}'
_TURN = "f32[1,8]=[[0.9,-0.4,1.3,0.3,1.1,-0.7,0.02,-0.01]]"
_FAR = "f32[2,8]=[[2.5,0,-7.3,0,1.7,-5.2,0,0],[1,0,0,0,1,0,-0.25,0]]"
_MODES = tuple(
    f'interpolation="{how}", fill_mode="{fill}"'
    for how in ("NEAREST", "BILINEAR")
    for fill in _FILLS
)


def _project_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient is seen through the inverse of the projection."""
    images, transforms, *_ = node.inputs
    if node.attrs["interpolation"].upper() not in ("NEAREST", "BILINEAR"):
        raise UnimplementedError(
            f"{node.op.tf_name}: no gradient of {node.attrs['interpolation']!r} interpolation",
            node=node.name,
        )
    ones = b.ones_like(b.slice(transforms, (0, 0), (-1, 1)))
    squares = b.reshape(b.concat(transforms, ones, np.int32(1)), (-1, 3, 3))
    inverted = b.reshape(b.matrix_inverse(squares), (-1, 9))
    flat = b.real_div(inverted, b.slice(inverted, (0, 8), (-1, 1)))
    size = b.shape_of(images, 1, 3)
    given = (dy, b.slice(flat, (0, 0), (-1, 8)), size)
    if len(node.inputs) == 4:
        given = (*given, b.zeros_like(node.inputs[3]))
    return b.with_attrs_of(node, node.op.name, *given), None, None, *(None,) * (len(given) - 3)


image_projective_transform_v2 = define(
    "image_projective_transform_v2",
    "ImageProjectiveTransformV2(images: dtype, transforms: f32, output_shape: i32;"
    f" {_PROJECTION}) -> transformed_images: dtype",
    infer=_infer_projected,
    lowering=Decompose(
        lambda b, node: b.image_projective_transform_v3(
            *node.inputs, b.const(np.array(0, f32)), **node.attrs
        )
    ),
    reference=_project,
    gradient=_project_gradient,
    examples=(
        f'dtype[1,5,6,2]~small {_TURN} i32[2]=[4,7]; interpolation="NEAREST"',
        f'dtype[1,5,6,2]~small {_TURN} i32[2]=[4,7]; interpolation="BILINEAR"',
    ),
)
image_projective_transform_v3 = define(
    "image_projective_transform_v3",
    "ImageProjectiveTransformV3(images: dtype, transforms: f32, output_shape: i32,"
    f" fill_value: f32; {_PROJECTION}) -> transformed_images: dtype",
    infer=_infer_projected,
    lowering=_lower_projected,
    reference=_project,
    gradient=_project_gradient,
    examples=(
        *(f"f32[2,5,6,1] {_FAR} i32[2]=[9,8] f32[]=2.5; {mode}" for mode in _MODES),
        f'u8[1,5,6,2]~small {_TURN} i32[2]=[4,7] f32[]=7; interpolation="NEAREST"',
    ),
)

# -- glimpses

_NOISES = {"zero": 0, "uniform": 1, "gaussian": 2}


def _infer_glimpse(c: Inference) -> Dims:
    if c.rank(0) != 4:
        raise c.fail("input must be 4-dimensional")
    batch, _, _, channels = c.dims(0)
    c.need_rank(2, 2)
    c.equal(c.dims(2)[0], batch, "first dimension should be batch")
    c.equal(c.dims(2)[1], 2, "second dimension should be of size 2 (y,x)")
    if c.attrs["noise"] not in _NOISES:
        raise c.fail(f"The noise could only be uniform, gaussian, or zero, got {c.attrs['noise']}")
    if c.attrs["uniform_noise"] and c.attrs["noise"] != "uniform":
        raise c.fail("The uniform_noise and noise could not be specified at the same time")
    return (batch, *new_size(c, 1, "glimpse dimensions", 0), channels)


def _lower_glimpse(node: Node) -> Native:
    batch, out_h, out_w, _ = node.output.dims
    flags = (int(node.attrs[name]) for name in ("centered", "normalized"))
    older = int(node.op.name == "extract_glimpse")
    return Native(
        kernels.glimpse,
        arguments=(
            *node.inputs[0].dims[1:], out_h, out_w, *flags, older, _NOISES[node.attrs["noise"]],
        ),
        parallel=batch,
    )  # fmt: skip


def _glimpse(
    older: bool, images: Array, size: Array, offsets: Array, *, centered: bool, normalized: bool
) -> Array:
    """Zeros beyond the edges, where the op has noise."""
    height, width, channels = images.shape[1:]
    out = tuple(size.tolist())
    found = np.zeros((len(images), *out, channels), f32)
    for image, place, into in zip(images, offsets, found):
        starts: list[int] = []
        for at, whole, part in zip(place, (height, width), out):
            at = at * f32(whole) if normalized else at
            if centered:
                at = at * f32(0.5 if older or normalized else 1) + f32(whole) / f32(2)
            if older or (centered and normalized):
                at = at - f32(part) / f32(2)
            starts.append(int(at) if abs(at) < 1e9 else 10**9)
        rows, columns = (s + np.arange(n) for s, n in zip(starts, out))
        inside = ((rows >= 0) & (rows < height))[:, None] & ((columns >= 0) & (columns < width))
        rows, columns = np.clip(rows, 0, height - 1), np.clip(columns, 0, width - 1)
        into[:] = np.where(inside[..., None], image[rows][:, columns], f32(0))
    return found


_INSIDE = "f32[2,7,8,2] i32[2]=[2,3] f32[2,2]=[[0.1,-0.2],[0.3,0.25]]"
_OUTSIDE = (
    'f32[2,7,8,2] i32[2]=[5,9] f32[2,2]=[[1,-1],[0.2,4]]; uniform_noise=False, noise="zero", '
)
_BOTH = (True, False)
for _name, _tf in (
    ("extract_glimpse", "ExtractGlimpse"),
    ("extract_glimpse_v2", "ExtractGlimpseV2"),
):
    define(
        _name,
        f"{_tf}(input: f32, size: i32, offsets: f32; centered: bool = True, normalized: bool ="
        ' True, uniform_noise: bool = True, noise: string = "uniform") -> glimpse: f32',
        infer=_infer_glimpse,
        lowering=_lower_glimpse,
        reference=partial(_glimpse, _name == "extract_glimpse"),
        examples=(
            *(f"{_OUTSIDE}centered={c}, normalized={n}" for c in _BOTH for n in _BOTH),
            _INSIDE,
        ),
    )
