"""ScaleAndTranslate: resizing with weights of many shapes, wider where images shrink.

In: channels-last images, a size, scales and translations of rows and columns. Out: f32 images; the
gradient. Invariant: an output pixel is a sum over a span of rows and a span of columns, whose
weights (`spans`) the gradient takes, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.image.resize import REAL, new_size
from flowc.ops.kernels.image import scaling as kernels

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]
f32 = np.float32
SHAPES = {
    "lanczos1": (kernels.LANCZOS, 1.0),
    "lanczos3": (kernels.LANCZOS, 3.0),
    "lanczos5": (kernels.LANCZOS, 5.0),
    "gaussian": (kernels.GAUSSIAN, 1.5),
    "box": (kernels.BOX, 1.0),
    "triangle": (kernels.TRIANGLE, 1.0),
    "keyscubic": (kernels.KEYS, 2.0),
    "mitchellcubic": (kernels.MITCHELL, 2.0),
}
_SCALE = "scale should be greater than zero (axis {a})."
_ATTRS = 'kernel_type: string = "lanczos3", antialias: bool = True'


def _check(c: Inference) -> None:
    if c.rank(0) != 4:
        raise c.fail("input must be 4-dimensional")
    for i in (2, 3):
        c.need_rank(i, 1)
        c.equal(c.dims(i)[0], 2)
    if c.attrs["kernel_type"] not in SHAPES:
        raise c.fail(f"Unrecognized kernel type: {c.attrs['kernel_type']}")


def _infer(c: Inference) -> Dims:
    _check(c)
    batch, _, _, channels = c.dims(0)
    return (batch, *new_size(c, 1, "output dimensions"), channels)


def _infer_gradient(c: Inference) -> Dims:
    _check(c)
    if c.rank(1) != 4:
        raise c.fail("original_image must be 4-dimensional")
    c.equal(c.dims(0)[0], c.dims(1)[0])
    c.equal(c.dims(0)[3], c.dims(1)[3])
    return c.dims(1)


# -- spans


def _infer_spans(c: Inference) -> list[Dims]:
    size, new = c.need_sizes(2)
    return [(new,), (new,), (new, size)]


def _lower_spans(node: Node) -> Native:
    new, size = node.outputs[2].dims
    shape, radius = SHAPES[node.attrs["kernel_type"]]
    return Native(
        kernels.spans,
        arguments=(node.attrs["axis"], size, new),
        parallel=new,
        errors=(_SCALE,),
        functions=("sin_f32", "exp_f32"),
        constants={
            "SHAPE": shape,
            "RADIUS": radius,
            "ANTIALIAS": int(node.attrs["antialias"]),
            "PI": kernels.PI,
        },
    )


def _weights(distance: Array, shape: int, radius: float) -> Array:
    x = abs(distance)
    r = f32(radius)
    if shape == kernels.LANCZOS:
        turn = f32(kernels.PI) * x
        found = r * np.sin(turn) * np.sin(turn / r) / (turn * turn)
        return np.where(x <= f32(1e-3), f32(1), np.where(x <= r, found, f32(0)))
    if shape == kernels.GAUSSIAN:
        sigma = f32(radius / 3)
        return np.where(x < r, np.exp(-x * x / (f32(2) * sigma * sigma)), f32(0))
    if shape == kernels.BOX:
        return np.where(x < 0.5, f32(1), np.where(x == 0.5, f32(0.5), f32(0)))
    if shape == kernels.TRIANGLE:
        return np.maximum(f32(1) - x, f32(0))
    if shape == kernels.KEYS:
        near, far = (1.5, -2.5, 0.0, 1.0), (-0.5, 2.5, -4.0, 2.0)
    else:
        near, far = (7 / 6, -2.0, 0.0, 8 / 9), (-7 / 18, 2.0, -10 / 3, 16 / 9)
    cubic = [np.polyval(np.array(terms, f32), x) for terms in (near, far)]
    return np.where(x < 1, cubic[0], np.where(x < 2, cubic[1], f32(0)))


def _spans_reference(
    scale: Array, translation: Array, sizes: Array, *, axis: int, kernel_type: str, antialias: bool
) -> list[Array]:
    size, new = sizes.tolist()
    shape, radius = SHAPES[kernel_type]
    if not scale[axis] > 0:
        raise InvalidArgumentError(_SCALE.format(a=axis))
    inverse = f32(1) / scale[axis]
    grown = max(inverse, f32(1)) if antialias else f32(1)
    reach = f32(radius) * grown
    places = (np.arange(new, dtype=f32) + f32(0.5)) * inverse - inverse * translation[axis]
    starts, counts = np.zeros(new, np.int32), np.zeros(new, np.int32)
    weights = np.zeros((new, size), f32)
    for i, place in enumerate(places):
        if not 0 <= place <= size:
            continue
        first = int(np.clip(np.ceil(place - reach - f32(0.5)), 0, size - 1))
        last = int(np.clip(np.floor(place + reach - f32(0.5)), first, size - 1))
        far = (np.arange(first, last + 1, dtype=f32) + f32(0.5) - place) * (f32(1) / grown)
        found = _weights(far, shape, radius).astype(f32)
        total = found.sum(dtype=f32)
        starts[i], counts[i] = first, last + 1 - first
        weights[i, : counts[i]] = found * (f32(1) / total) if abs(total) >= 1e-35 else found
    return [starts, counts, weights]


def _dense(starts: Array, counts: Array, weights: Array) -> Array:
    """Spans as a matrix [new, size]."""
    found = np.zeros(weights.shape, f32)
    for i, (start, count) in enumerate(zip(starts, counts)):
        found[i, start : start + count] = weights[i, :count]
    return found


def _gathered(x: Array, *spans: Array) -> Array:
    rows, columns = _dense(*spans[:3]), _dense(*spans[3:])
    return np.einsum("ih,nhwc,jw->nijc", rows, x.astype(f32), columns, dtype=f32)


def _scattered(dy: Array, *spans: Array) -> Array:
    rows, columns = _dense(*spans[:3]), _dense(*spans[3:])
    return np.einsum("ih,nijc,jw->nhwc", rows, dy, columns, dtype=f32)


def _lower_sums(node: Node) -> Native:
    back = node.op.name == "scatter_spans"
    whole, made = (node.output, node.inputs[0]) if back else (node.inputs[0], node.output)
    batch, height, width, channels = whole.dims
    _, out_h, out_w, _ = made.dims
    return Native(
        kernels.scatter_spans if back else kernels.gather_spans,
        arguments=(height, width, channels, out_h, out_w),
        parallel=batch if back else batch * out_h,
        scratch=4 * width * channels + 4,  # never 0, which would take the parameter away
    )


_SPANS = (
    "row_starts: i32, row_counts: i32, row_weights: f32,"
    " column_starts: i32, column_counts: i32, column_weights: f32"
)
define(
    "spans",
    f"_Spans(scale: f32, translation: f32, sizes: i32; axis: int, {_ATTRS})"
    " -> (starts: i32, counts: i32, weights: f32)",
    infer=_infer_spans,
    lowering=_lower_spans,
    reference=_spans_reference,
)
define(
    "gather_spans",
    f"_GatherSpans(images: T, {_SPANS}; T: {REAL}) -> resized: f32",
    infer=lambda c: (c.dims(0)[0], c.dims(1)[0], c.dims(4)[0], c.dims(0)[3]),
    lowering=_lower_sums,
    reference=_gathered,
)
define(
    "scatter_spans",
    f"_ScatterSpans(grads: f32, {_SPANS}) -> images: f32",
    infer=lambda c: (c.dims(0)[0], c.dims(3)[1], c.dims(6)[1], c.dims(0)[3]),
    lowering=_lower_sums,
    reference=_scattered,
)


def _both_spans(b: Builder, node: Node, whole: Dims, made: Dims) -> list[Value]:
    """The spans of rows, and those of columns."""
    found: list[Value] = []
    for axis in (0, 1):
        sizes: tuple[Dim, ...] = (whole[1 + axis], made[1 + axis])
        scale, translation = node.inputs[2:]
        given = {name: node.attrs[name] for name in ("kernel_type", "antialias")}
        found += b.spans(scale, translation, b.sizes(sizes), axis=axis, **given)
    return found


def _scaled(b: Builder, node: Node) -> Value:
    images = node.inputs[0]
    return b.gather_spans(images, *_both_spans(b, node, images.dims, node.output.dims))


def _given_back(b: Builder, node: Node) -> Value:
    grads = node.inputs[0]
    return b.scatter_spans(grads, *_both_spans(b, node, node.output.dims, grads.dims))


def _every_span(
    whole: Dims, made: Dims, scale: Array, translation: Array, **attrs: Any
) -> list[Array]:
    found: list[Array] = []
    for axis in (0, 1):
        sizes = np.array([whole[1 + axis], made[1 + axis]])
        found += _spans_reference(scale, translation, sizes, axis=axis, **attrs)
    return found


def _reference(
    images: Array, size: Array, scale: Array, translation: Array, *, kernel_type: str,
    antialias: bool,
) -> Array:  # fmt: skip
    made = (0, *size.tolist())
    attrs = {"kernel_type": kernel_type, "antialias": antialias}
    return _gathered(images, *_every_span(images.shape, made, scale, translation, **attrs))


def _gradient_reference(
    grads: Array, image: Array, scale: Array, translation: Array, *, kernel_type: str,
    antialias: bool,
) -> Array:  # fmt: skip
    attrs = {"kernel_type": kernel_type, "antialias": antialias}
    return _scattered(grads, *_every_span(image.shape, grads.shape, scale, translation, **attrs))


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    images, _, scale, translation = node.inputs
    kind = images.dtype
    if not kind.is_floating:
        return None
    like = images if kind is dtypes.f32 else b.cast(images, DstT=dtypes.f32)
    found = b.with_attrs_of(node, "scale_and_translate_grad", dy, like, scale, translation)
    return found if kind is dtypes.f32 else b.cast(found, DstT=kind)


_FORMS = tuple(
    f'; kernel_type="{name}"{more}'
    for name in SHAPES
    for more in (("", ", antialias=False") if name in ("lanczos3", "triangle") else ("",))
)
scale_and_translate = define(
    "scale_and_translate",
    "ScaleAndTranslate(images: T, size: i32, scale: f32, translation: f32;"
    f" T: {REAL}, {_ATTRS}) -> resized_images: f32",
    infer=_infer,
    lowering=Decompose(_scaled),
    reference=_reference,
    gradient=_gradient,
    examples=(
        "T[1,6,5,2]~small i32[2]=[3,4] f32[2]=[0.5,0.8] f32[2]=[0,0]",
        *(f"f32[1,9,8,3] i32[2]=[4,11] f32[2]=[0.45,1.4] f32[2]=[0.3,-1.25]{f}" for f in _FORMS),
        "f32[0,3,3,1] i32[2]=[2,2] f32[2]=[1,1] f32[2]=[0,0]",
    ),
)
scale_and_translate_grad = define(
    "scale_and_translate_grad",
    "ScaleAndTranslateGrad(grads: T, original_image: T, scale: f32, translation: f32;"
    f" T: {{f32}}, {_ATTRS}) -> output: T",
    infer=_infer_gradient,
    lowering=Decompose(_given_back),
    reference=_gradient_reference,
    examples=tuple(
        f"f32[2,4,7,3] f32[2,9,5,3] f32[2]=[0.45,1.4] f32[2]=[0.3,-1.25]{f}" for f in _FORMS[::3]
    ),
)
