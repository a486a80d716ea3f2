"""Image resizing: nearest, bilinear, bicubic, area, and crops of boxes.

In: channels-last images and a size. Out: resized images, f32 except for nearest. Invariant: source
positions are computed in f32 in TensorFlow's order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim, floordiv
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, Native, View
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, Gradient, GradientBuilder
from flowc.ops.image.crop_gradients import crop_gradient
from flowc.ops.kernels.image import resize as kernels

if TYPE_CHECKING:
    from flowc.ir.computation import Node

f32 = np.float32
TILE = 256  # columns whose weights and stretched source rows a worker holds: they fit its L2 cache
REAL = "{i8, u8, i16, u16, i32, i64, f16, f32, f64, bf16}"
EMPTY_IMAGE = ("input image must be of non-zero size, found [{a}, {b}]",)
CENTERS = "align_corners: bool = False, half_pixel_centers: bool = False"


def new_size(c: Inference, operand: int, what: str, least: int = 1) -> tuple[Dim, Dim]:
    """The height and width that an operand states, of the image that is the first output."""
    shapes = [(None,) * 4, *[()] * (len(c.op.signature.outputs) - 1)]
    c.need_dims(operand, (2,), "shape_t must have two elements")
    height, width = c.need_sizes(operand, shapes=shapes)
    for size in (height, width):
        c.at_least(size, least, f"{what} must be {'positive' if least else 'nonnegative'}")
    return height, width


def check_image(c: Inference) -> None:
    if c.rank(0) != 4:
        raise c.fail("input must be 4-dimensional")
    if c.attrs["align_corners"] and c.attrs.get("half_pixel_centers", False):
        raise c.fail("If half_pixel_centers is True, align_corners must be False.")


def _infer_resize(c: Inference) -> Dims:
    check_image(c)
    batch, height, width, channels = c.dims(0)
    if any(isinstance(n, int) and n == 0 for n in (height, width)):
        raise c.fail("input image must be of non-zero size")
    return (batch, *new_size(c, 1, "output dimensions"), channels)


def _resize_arguments(node: Node) -> tuple[Dim, ...]:
    _, height, width, channels = node.inputs[0].dims
    _, out_h, out_w, _ = node.output.dims
    align = int(node.attrs["align_corners"])
    half = int(node.attrs.get("half_pixel_centers", False))
    return (height, width, channels, out_h, out_w, align, half)


def _lower_resize(kernel: Callable[..., None]) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        batch, out_h, _, _ = node.output.dims
        return Native(
            kernel,
            arguments=_resize_arguments(node),
            parallel=batch * out_h,
            errors=EMPTY_IMAGE,
        )

    return lower


def _lower_bilinear(node: Node) -> Lowering:
    batch, out_h, _, channels = node.output.dims
    return Native(
        kernels.resize_bilinear,
        arguments=(*_resize_arguments(node), TILE),
        parallel=batch * out_h,
        # Two lines of pixels and an element, and a weight and two positions a column.
        scratch=8 * (TILE * channels + 1) + 12 * TILE,
        errors=EMPTY_IMAGE,
    )


def _lower_nearest(node: Node) -> Lowering:
    """Whole ratios (2x upsampling, say) are index arithmetic, which fuses; others are a kernel."""
    maps = [
        _whole_ratio(size, new, node.attrs)
        for size, new in zip(node.inputs[0].dims[1:3], node.output.dims[1:3])
    ]
    if any(m is None for m in maps):
        return _lower_resize(kernels.resize_nearest)(node)
    rows, columns = (m for m in maps if m is not None)

    def read(k: Any, index: tuple[Dim, ...]) -> Any:
        return k.load(0, (index[0], rows(index[1]), columns(index[2]), index[3]))

    return View(read)


def _whole_ratio(size: Dim, new: Dim, attrs: Any) -> Callable[[Dim], Dim] | None:
    """The source index as exact integer arithmetic, where it is that for every output index."""
    if new == size:
        times = 1
    elif isinstance(size, int) and isinstance(new, int):
        times = new // size if new % size == 0 else 0
    else:
        # Only powers of two divide exactly in f32 for sizes that are not known.
        times = next((t for t in (2, 4, 8, 16, 32) if new == size * t), 0)
    if not times or attrs["align_corners"]:
        return None
    if isinstance(size, int) and isinstance(new, int):
        found = nearest_indices(size, new, False, attrs["half_pixel_centers"])
        if not np.array_equal(found, np.arange(new) // times):
            return None
    return lambda i: floordiv(i, times)


# -- references


def _scale(size: int, new: int, align: bool) -> np.float32:
    if align and new > 1:
        return f32(size - 1) / f32(new - 1)
    return f32(size) / f32(new)


def _places(size: int, new: int, align: bool, half: bool, back: bool = True) -> np.ndarray:
    """Where each output pixel lies among the source pixels, in f32."""
    index = np.arange(new, dtype=f32)
    if not half:
        return index * _scale(size, new, align)
    places = (index + f32(0.5)) * _scale(size, new, align)
    return places - f32(0.5) if back else places


def nearest_indices(size: int, new: int, align: bool, half: bool) -> np.ndarray:
    places = _places(size, new, align, half, back=False)
    whole = np.floor(places)
    if align:
        whole += places - whole >= 0.5
    return np.clip(whole.astype(np.int64), 0, size - 1)


def _nearest_reference(
    x: np.ndarray, size: np.ndarray, *, align_corners: bool, half_pixel_centers: bool
) -> np.ndarray:
    rows = nearest_indices(x.shape[1], int(size[0]), align_corners, half_pixel_centers)
    columns = nearest_indices(x.shape[2], int(size[1]), align_corners, half_pixel_centers)
    return np.ascontiguousarray(x[:, rows][:, :, columns])


def _neighbours(places: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixel below and above each place, and how far it lies between them."""
    whole = np.floor(places)
    low = np.maximum(whole.astype(np.int64), 0)
    high = np.minimum(np.ceil(places).astype(np.int64), size - 1)
    return low, high, places - whole


def _bilinear_reference(
    x: np.ndarray, size: np.ndarray, *, align_corners: bool, half_pixel_centers: bool
) -> np.ndarray:
    centers = (align_corners, half_pixel_centers)
    rows = _neighbours(_places(x.shape[1], int(size[0]), *centers), x.shape[1])
    columns = _neighbours(_places(x.shape[2], int(size[1]), *centers), x.shape[2])
    return _blended(x.astype(f32), rows, columns)


def _blended(
    x: np.ndarray, rows: Sequence[np.ndarray], columns: Sequence[np.ndarray]
) -> np.ndarray:
    """Bilinear interpolation of images [..., height, width, channels] between neighbouring rows and
    columns."""
    (top, bottom, down), (left, right, across) = rows, columns
    across, down = across[:, None], down[:, None, None]
    upper, lower = x[..., top, :, :], x[..., bottom, :, :]
    upper, lower = (
        line[..., left, :] + (line[..., right, :] - line[..., left, :]) * across
        for line in (upper, lower)
    )
    return upper + (lower - upper) * down


def _cubic(offset: np.ndarray, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the pixels at distance offset/1024 and one more."""
    near = (offset / 1024.0).astype(f32)
    far = (near + f32(1)).astype(np.float64)
    near = near.astype(np.float64)
    inner = ((bend + 2) * near - (bend + 3)) * near * near + 1
    outer = ((bend * far - 5 * bend) * far + 8 * bend) * far - 4 * bend
    return inner.astype(f32), outer.astype(f32)


def linear_taps(size: int, new: int, align: bool, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices and weights, each [2, new]."""
    low, high, part = _neighbours(_places(size, new, align, half), size)
    return np.stack([low, high]), np.stack([f32(1) - part, part])


def cubic_taps(size: int, new: int, align: bool, half: bool) -> tuple[np.ndarray, np.ndarray]:
    """Indices and weights, each [4, new]."""
    places = _places(size, new, align, half)
    whole = np.floor(places)
    offset = np.rint((places - whole) * f32(1024)).astype(np.int64)
    bend = -0.5 if half else -0.75
    (w1, w0), (w2, w3) = _cubic(offset, bend), _cubic(1024 - offset, bend)
    weights = np.stack([w0, w1, w2, w3])
    index = whole.astype(np.int64) + np.arange(-1, 3)[:, None]
    kept = np.clip(index, 0, size - 1)
    if half:
        weights = np.where(index == kept, weights, f32(0))
        total = weights[0] + weights[1] + weights[2] + weights[3]
        large = np.abs(total) >= 1000 * np.finfo(f32).tiny
        weights = weights * np.where(large, f32(1) / np.where(large, total, f32(1)), f32(1))
    return kept, weights


def _bicubic_reference(
    x: np.ndarray, size: np.ndarray, *, align_corners: bool, half_pixel_centers: bool
) -> np.ndarray:
    centers = (align_corners, half_pixel_centers)
    rows, row_weights = cubic_taps(x.shape[1], int(size[0]), *centers)
    columns, column_weights = cubic_taps(x.shape[2], int(size[1]), *centers)
    x = x.astype(f32)
    x = _weighted(lambda t: x[:, rows[t]], row_weights[:, :, None, None])
    lines = x
    return _weighted(lambda t: lines[:, :, columns[t]], column_weights[:, :, None])


def _weighted(tap: Callable[[int], np.ndarray], weights: np.ndarray) -> np.ndarray:
    total = tap(0) * weights[0]
    for t in range(1, len(weights)):
        total = total + tap(t) * weights[t]
    return total


def _area_weights(size: int, new: int, align: bool) -> np.ndarray:
    """How much of each source pixel each output pixel covers: [new, size]."""
    scale = _scale(size, new, align)
    weights = np.zeros((new, size), f32)
    for i in range(new):
        start, stop = f32(i) * scale, f32(i + 1) * scale
        for j in range(int(start), int(np.ceil(stop))):
            covered = min(f32(j + 1), stop) - max(f32(j), start)
            weights[i, min(j, size - 1)] += covered
    return weights / scale


def _area_reference(x: np.ndarray, size: np.ndarray, *, align_corners: bool) -> np.ndarray:
    rows = _area_weights(x.shape[1], int(size[0]), align_corners)
    columns = _area_weights(x.shape[2], int(size[1]), align_corners)
    return np.einsum("ih,nhwc,jw->nijc", rows, x.astype(f32), columns, dtype=f32)


def _define_resize(
    name: str,
    tf_name: str,
    lowering: Callable[[Node], Lowering],
    reference: Any,
    attrs: str = CENTERS,
    result: str = "f32",
    gradient: Gradient | None = None,
) -> Op:
    flags = ["align_corners=True", "half_pixel_centers=True"][: attrs.count(":")]
    return define(
        name,
        f"{tf_name}(images: T, size: i32; T: {REAL}, {attrs}) -> resized_images: {result}",
        infer=_infer_resize,
        lowering=lowering,
        reference=reference,
        gradient=gradient,
        examples=(
            "T[1,3,4,2] i32[2]=[5,3]",
            "f32[2,5,4,3] i32[2]=[10,8]",
            "f32[1,1,3,1] i32[2]=[1,1]",
            *(f"f32[2,4,5,3] i32[2]=[7,9]; {flag}" for flag in flags),
            *(f"u8[1,9,7,17] i32[2]=[4,14]; {flag}" for flag in flags),
            *(f"f32[1,6,4,2] i32[2]=[1,12]; {flag}" for flag in flags),
            "f32[0,3,3,2] i32[2]=[2,5]",
        ),
    )


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    image = node.inputs[0]
    to_size = b.shape_of(image, 1, 3) if node.op is resize_nearest_neighbor else image
    if not image.dtype.is_floating:
        return None
    return b.with_attrs_of(node, f"{node.op.name}_grad", dy, to_size)


resize_nearest_neighbor = _define_resize(
    "resize_nearest_neighbor",
    "ResizeNearestNeighbor",
    _lower_nearest,
    _nearest_reference,
    result="T",
    gradient=_gradient,
)
resize_bilinear = _define_resize(
    "resize_bilinear", "ResizeBilinear", _lower_bilinear, _bilinear_reference, gradient=_gradient
)
resize_bicubic = _define_resize(
    "resize_bicubic",
    "ResizeBicubic",
    _lower_resize(kernels.resize_bicubic),
    _bicubic_reference,
    gradient=_gradient,
)
resize_area = _define_resize(
    "resize_area",
    "ResizeArea",
    _lower_resize(kernels.resize_area),
    _area_reference,
    "align_corners: bool = False",
)


# -- crops


def _infer_crops(c: Inference) -> Dims:
    if c.rank(0) != 4:
        raise c.fail("input image must be 4-D")
    if c.rank(1) != 2 or (isinstance(c.dims(1)[1], int) and c.dims(1)[1] != 4):
        raise c.fail("boxes must have 4 columns")
    c.equal(c.dims(1)[1], 4)
    if c.rank(2) != 1:
        raise c.fail("box_index must be 1-D")
    for size in c.dims(0)[1:3]:
        c.at_least(size, 1, "image dimensions must be positive")
    count = c.equal(c.dims(1)[0], c.dims(2)[0])
    return (count, *new_size(c, 3, "crop dimensions"), c.dims(0)[3])


def _lower_crops(node: Node) -> Lowering:
    count, out_h, out_w, channels = node.output.dims
    nearest = int(node.attrs["method"] == "nearest")
    return Native(
        kernels.crop_and_resize,
        arguments=(*node.inputs[0].dims[:3], channels, out_h, out_w, nearest),
        parallel=count * out_h,
        errors=(
            "OutOfRangeError: box_index has values outside [0, batch_size): {a}",
            "Boxes contains at least one element that is not finite (box {a})",
        ),
        constants={"outside": f32(node.attrs["extrapolation_value"])},
    )


def _crop_places(first: np.float32, last: np.float32, size: int, new: int) -> np.ndarray:
    if new == 1:
        return np.array([f32(0.5) * (first + last) * f32(size - 1)], f32)
    scale = (last - first) * f32(size - 1) / f32(new - 1)
    return first * f32(size - 1) + np.arange(new, dtype=f32) * scale


def _crops_reference(
    image: np.ndarray,
    boxes: np.ndarray,
    box_ind: np.ndarray,
    crop_size: np.ndarray,
    *,
    method: str,
    extrapolation_value: float,
) -> np.ndarray:
    wrong = np.flatnonzero((box_ind < 0) | (box_ind >= len(image)))
    if len(wrong):
        raise InvalidArgumentError(f"box_index has values outside [0, batch_size): {wrong[0]}")
    wild = np.flatnonzero(~np.isfinite(boxes).all(axis=1))
    if len(wild):
        raise InvalidArgumentError(
            f"Boxes contains at least one element that is not finite (box {wild[0]})"
        )
    height, width, channels = image.shape[1:]
    out_h, out_w = (int(n) for n in crop_size)
    crops = np.empty((len(boxes), out_h, out_w, channels), f32)
    for i, (y1, x1, y2, x2) in enumerate(boxes):
        rows, columns = _crop_places(y1, y2, height, out_h), _crop_places(x1, x2, width, out_w)
        # Places of boxes near the largest numbers are no numbers, which are outside.
        rows, columns = np.nan_to_num(rows, nan=-1), np.nan_to_num(columns, nan=-1)
        inside = ((rows >= 0) & (rows <= height - 1))[:, None]
        inside = inside & ((columns >= 0) & (columns <= width - 1))
        near_rows = _neighbours(np.clip(rows, 0, height - 1), height)
        near_columns = _neighbours(np.clip(columns, 0, width - 1), width)
        source = image[box_ind[i]].astype(f32)
        if method == "nearest":
            (top, _, down), (left, _, across) = near_rows, near_columns
            found = source[top + (down >= 0.5)][:, left + (across >= 0.5)]
        else:
            found = _blended(source, near_rows, near_columns)
        crops[i] = np.where(inside[:, :, None], found, f32(extrapolation_value))
    return crops


crop_and_resize = define(
    "crop_and_resize",
    "CropAndResize(image: T, boxes: f32, box_ind: i32, crop_size: i32; "
    "T: {u8, u16, i8, i16, i32, i64, f16, f32, f64}, "
    'method: {"bilinear", "nearest"} = "bilinear", extrapolation_value: float = 0.0)'
    " -> crops: f32",
    infer=_infer_crops,
    lowering=_lower_crops,
    reference=_crops_reference,
    gradient=crop_gradient,
    examples=(
        "T[2,5,4,3] f32[3,4]~prob i32[3]=[1,0,1] i32[2]=[3,4]",
        "f32[1,6,7,2] f32[2,4]=[[-0.2,0.1,0.8,1.3],[0.9,0.8,0.1,0]] i32[2]=[0,0] "
        "i32[2]=[4,5]; extrapolation_value=2.5",
        'f32[2,6,7,2] f32[2,4]~prob i32[2]=[0,1] i32[2]=[5,3]; method="nearest"',
        "f32[1,5,5,17] f32[2,4]=[[0,0,1,1],[-1,0.5,1.5,0.5]] i32[2]=[0,0] i32[2]=[5,9]; "
        'method="nearest"',
        "f32[1,3,4,2] f32[1,4]=[[0,0.25,1,0.75]] i32[1]=[0] i32[2]=[1,1]",
        "f32[1,3,4,2] f32[0,4] i32[0] i32[2]=[2,2]",
    ),
)
