"""Where maxima of windows lie, and the gradients of pooling.

In: images, channels last (channels-first nodes transpose round). Out: maxima with flat positions,
or gradients in the image's shape. Invariant: of equal elements of a window the first, row by row,
is its maximum, for the position and for the gradient alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, Gradient, GradientBuilder
from flowc.ops.kernels import pooling as kernels
from flowc.ops.nn.convolution_reference import parts_met
from flowc.ops.nn.convolution_window import SlidingWindow
from flowc.ops.nn.pooling import infer_pool
from flowc.ops.nn.pooling_window import pool_arguments, pooling_window
from flowc.ops.nn.through_channels_last import in_channels_last, is_last

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

REAL = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
FLOATS = "{f16, bf16, f32, f64}"
WINDOW = "ksize: list(int) >= 4, strides: list(int) >= 4"
WINDOW_3D = WINDOW.replace("4", "5")
IMAGE_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'
VOLUME_FORMAT = 'data_format: {"NDHWC", "NCDHW"} = "NDHWC"'


# -- positions of maxima


def _lower_argmax(node: Node) -> Lowering:
    dims = node.inputs[0].dims
    window = pooling_window(dims, node.attrs)
    return Native(
        kernels.max_pool_with_argmax,
        arguments=(*pool_arguments(dims, window), int(node.attrs["include_batch_in_index"])),
        parallel=dims[0] * window.output[0],
    )


def _first_maxima(x: np.ndarray, window: SlidingWindow) -> tuple[np.ndarray, np.ndarray]:
    """Maxima of windows and their flat positions in `x`; a NaN stays only where it comes first."""
    places = np.arange(x.size).reshape(x.shape)
    best, at = np.zeros((), x.dtype), np.array(-1)
    for values, where in zip(parts_met(x, window), parts_met(places, window, -1)):
        wins = (where >= 0) & ((at < 0) | (values > best))
        best, at = np.where(wins, values, best), np.where(wins, where, at)
    return best, at


def _argmax_reference(
    x: np.ndarray, *, Targmax: DType, include_batch_in_index: bool, **attrs: Any
) -> tuple[np.ndarray, np.ndarray]:
    best, at = _first_maxima(x, pooling_window(x.shape, attrs))
    if not include_batch_in_index:
        at = at % max(1, int(np.prod(x.shape[1:])))
    return best, at.astype(Targmax.numpy)


max_pool_with_argmax = define(
    "max_pool_with_argmax",
    f"MaxPoolWithArgmax(input: T; {WINDOW}, Targmax: INDEX = i64, "
    f'padding: {{"SAME", "VALID"}}, include_batch_in_index: bool = False, T: {REAL})'
    " -> (output: T, argmax: Targmax)",
    infer=lambda c: [infer_pool(c)] * 2,
    lowering=_lower_argmax,
    reference=_argmax_reference,
    gradient=lambda b, node, dy, _: b.with_attrs_of(
        node, "max_pool_grad_with_argmax", node.inputs[0], dy, node.outputs[1]
    ),
    examples=(
        'T[2,5,7,3]; ksize=[1,2,2,1]; strides=[1,2,2,1]; padding="VALID"',
        'f32[2,5,4,3]~small; ksize=[1,3,3,1]; strides=[1,2,1,1]; padding="SAME"; '
        "include_batch_in_index=True; Targmax=i32",
    ),
)


# -- gradients


def infer_max_grad(c: Inference) -> Dims:
    pooled = infer_pool(c)
    for i in (1, 2):
        c.match_dims(c.dims(i), pooled, "orig_output and grad must have the pooled shape")
    return c.dims(0)


def _lower_max_grad(kernel: Callable[..., None]) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        if not is_last(node):
            return in_channels_last()
        dims = node.inputs[0].dims
        window = pooling_window(dims, node.attrs)
        return Native(kernel, arguments=pool_arguments(dims, window), parallel=dims[0])

    return lower


def max_grad_reference(
    x: np.ndarray, pooled: np.ndarray, dy: np.ndarray, **attrs: Any
) -> np.ndarray:
    layout = layout_of(attrs["data_format"])
    image = layout.unpacked(x)
    _, at = _first_maxima(image, pooling_window(x.shape, attrs))
    carrier = np.float32 if x.dtype.kind in "fV" and x.dtype.itemsize < 4 else x.dtype
    dx = np.zeros(x.size, carrier)
    np.add.at(dx, at.reshape(-1), layout.unpacked(dy).reshape(-1).astype(carrier))
    return layout.packed(dx.astype(x.dtype).reshape(image.shape))


def _places_met(dims: Sequence[int], attrs: Mapping[str, Any]) -> list[np.ndarray]:
    """For each window element that meets the image the flat positions, in an array of `dims`, that
    it meets; -1 beside the image."""
    places = layout_of(attrs["data_format"]).unpacked(np.arange(np.prod(dims)).reshape(dims))
    return list(parts_met(places, pooling_window(dims, attrs), -1))


def _max_3d_grad_reference(
    x: np.ndarray, pooled: np.ndarray, dy: np.ndarray, **attrs: Any
) -> np.ndarray:
    """In volumes every element that equals the maximum has the gradient."""
    layout = layout_of(attrs["data_format"])
    largest, spread = layout.unpacked(pooled), layout.unpacked(dy).astype(np.float32)
    dx = np.zeros(x.size, np.float32)
    for where in _places_met(x.shape, attrs):
        wins = (where >= 0) & (x.reshape(-1)[where] == largest)
        np.add.at(dx, where[wins], spread[wins])
    return dx.astype(dy.dtype).reshape(x.shape)


def second_order(gradient_op: str) -> Gradient:
    """The gradient of an op that is linear in its last input, by the op named."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        x, pooled, _ = node.inputs
        found = b.with_attrs_of(node, gradient_op, x, pooled, dy)
        return b.zeros_like(x), b.zeros_like(pooled), found

    return gradient


max_pool_grad = define(
    "max_pool_grad",
    f"MaxPoolGrad(orig_input: T, orig_output: T, grad: T; {WINDOW}, "
    'padding: {"SAME", "VALID", "EXPLICIT"}, explicit_paddings: list(int) = [], '
    f"{IMAGE_FORMAT}, T: {REAL} = f32) -> output: T",
    infer=infer_max_grad,
    lowering=_lower_max_grad(kernels.max_pool_grad),
    reference=max_grad_reference,
    gradient=second_order("max_pool_grad_grad"),
    examples=(
        "f32[2,5,7,3]~small f32[2,2,3,3] f32[2,2,3,3]; ksize=[1,2,2,1]; strides=[1,2,2,1]; "
        'padding="VALID"',
        "f64[1,4,5,2] f64[1,4,3,2] f64[1,4,3,2]; ksize=[1,3,2,1]; strides=[1,1,2,1]; "
        'padding="SAME"',
        "f32[1,2,4,5] f32[1,2,4,3] f32[1,2,4,3]; ksize=[1,1,3,2]; strides=[1,1,1,2]; "
        'padding="SAME"; data_format="NCHW"',
    ),
)


def _infer_avg_grad(c: Inference) -> Dims:
    """The image's dims are the elements of the shape operand."""
    shape_operand = 0 if c.rank(0) == 1 else 1
    dims = c.need_sizes(shape_operand)
    pooled = infer_pool(c, dims)
    c.match_dims(c.dims(1 - shape_operand), pooled, "out_backprop must have the pooled shape")
    return dims


def _avg_grad_image(
    b: Builder, node: Node, operands: Sequence[Value], attrs: Mapping[str, Any]
) -> Value:
    """The kernel's op on channels-last tensors, its gradient first."""
    dims = layout_of(node.attrs["data_format"]).logical(node.output.dims)
    kept = {n: attrs[n] for n in ("ksize", "strides", "padding", "data_format")}
    return b.avg_pool_grad_image(operands[1], b.sizes(dims), **kept)


def _lower_avg_grad(node: Node) -> Lowering:
    dims = node.output.dims
    window = pooling_window(dims, node.attrs)
    return Native(kernels.avg_pool_grad, arguments=pool_arguments(dims, window), parallel=dims[0])


def _avg_grad_reference(shape: np.ndarray, dy: np.ndarray, **attrs: Any) -> np.ndarray:
    carrier = np.float32 if dy.dtype.itemsize < 4 else dy.dtype
    seen = _places_met(shape.tolist(), attrs)
    counts = np.sum([where >= 0 for where in seen], axis=0).astype(carrier)
    given = layout_of(attrs["data_format"]).unpacked(dy).reshape(counts.shape)
    spread = given.astype(carrier) / counts
    dx = np.zeros(np.prod(shape), carrier)
    for where in seen:
        np.add.at(dx, where[where >= 0], spread[where >= 0])
    return dx.astype(dy.dtype).reshape(shape)


avg_pool_grad_image = define(
    "avg_pool_grad_image",
    f"_AvgPoolGradImage(grad: T, orig_input_shape: i32; {WINDOW}, "
    f'padding: {{"SAME", "VALID"}}, data_format: {{"NHWC", "NDHWC"}} = "NHWC", T: {FLOATS})'
    " -> output: T",
    infer=_infer_avg_grad,
    lowering=_lower_avg_grad,
    reference=lambda dy, shape, **attrs: _avg_grad_reference(shape, dy, **attrs),
    examples=('f32[1,2,3,2] i32[4]=[1,4,5,2]; ksize=[1,3,2,1]; strides=[1,2,2,1]; padding="SAME"',),
)


def _mean_gradient(b: GradientBuilder, node: Forward, g: Any) -> Any:
    return None, b.with_attrs_of(node, node.op.name.removesuffix("_grad"), g)


avg_pool_grad = define(
    "avg_pool_grad",
    f"AvgPoolGrad(orig_input_shape: i32, grad: T; {WINDOW}, "
    f'padding: {{"SAME", "VALID"}}, {IMAGE_FORMAT}, T: {FLOATS}) -> output: T',
    infer=_infer_avg_grad,
    lowering=in_channels_last(_avg_grad_image, (1,)),
    reference=_avg_grad_reference,
    gradient=_mean_gradient,
    examples=(
        'i32[4]=[2,5,7,3] T[2,2,3,3]; ksize=[1,2,2,1]; strides=[1,2,2,1]; padding="VALID"',
        'i32[4]=[1,4,5,2] f32[1,2,3,2]; ksize=[1,3,2,1]; strides=[1,2,2,1]; padding="SAME"',
        'i32[4]=[1,2,4,5] f32[1,2,4,3]; ksize=[1,1,3,2]; strides=[1,1,1,2]; padding="SAME"; '
        'data_format="NCHW"',
    ),
)

avg_pool_3d_grad = define(
    "avg_pool_3d_grad",
    f"AvgPool3DGrad(orig_input_shape: i32, grad: T; {WINDOW_3D}, "
    f'padding: {{"SAME", "VALID"}}, {VOLUME_FORMAT}, T: {FLOATS}) -> output: T',
    infer=_infer_avg_grad,
    lowering=in_channels_last(_avg_grad_image, (1,)),
    reference=_avg_grad_reference,
    gradient=_mean_gradient,
    examples=(
        'i32[5]=[2,3,5,4,3] T[2,1,2,2,3]; ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding="VALID"',
        "i32[5]=[1,2,4,3,5] f32[1,2,4,2,3]; ksize=[1,1,3,2,2]; strides=[1,1,1,2,2]; "
        'padding="SAME"; data_format="NCDHW"',
    ),
)

max_pool_3d_grad = define(
    "max_pool_3d_grad",
    f"MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T; {WINDOW_3D}, "
    f'padding: {{"SAME", "VALID"}}, {VOLUME_FORMAT}, T: {{f16, bf16, f32}} = f32, '
    "TInput: {f16, bf16, f32} = f32) -> output: T",
    infer=infer_max_grad,
    lowering=_lower_max_grad(kernels.max_pool_equal_grad),
    reference=_max_3d_grad_reference,
    gradient=second_order("max_pool_3d_grad_grad"),
    examples=(
        "f32[2,3,5,4,3]~small f32[2,1,2,2,3]~small f32[2,1,2,2,3]; ksize=[1,2,2,2,1]; "
        'strides=[1,2,2,2,1]; padding="VALID"',
        "f32[1,2,4,3,5]~small f32[1,2,4,2,3]~small f32[1,2,4,2,3]; ksize=[1,1,3,2,2]; "
        'strides=[1,1,1,2,2]; padding="SAME"; data_format="NCDHW"',
    ),
)
