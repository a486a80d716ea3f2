"""Gradients of max pooling in its other forms (positions given, windows as inputs), and the
gradients of those gradients.

In: images, their maxima, gradients. Out: gradients in the image's shape, or in that of the maxima.
Invariant: a gradient of a gradient is what lies at the first element that equals the maximum; where
none does, it is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels import pooling as kernels
from flowc.ops.nn.convolution_reference import parts_met
from flowc.ops.nn.pooling import attrs_of_windows, infer_pool, with_windows
from flowc.ops.nn.pooling_gradients import (
    IMAGE_FORMAT,
    REAL,
    WINDOW,
    infer_max_grad,
    max_grad_reference,
    second_order,
)
from flowc.ops.nn.pooling_window import pool_arguments, pooling_window
from flowc.ops.nn.through_channels_last import in_channels_last, is_last

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value


# -- where positions are known


def _infer_with_argmax(c: Inference) -> Dims:
    pooled = infer_pool(c)
    for i in (1, 2):
        c.match_dims(c.dims(i), pooled, "grad and argmax must have the pooled shape")
    return c.dims(0)


def _build_with_argmax(b: Builder, node: Node) -> Value:
    """Sums of what is given to each position of the images, one behind the other."""
    x, dy, places = node.inputs
    if not node.attrs["include_batch_in_index"]:
        batch, *image = x.dims
        starts = b.mul(b.range(0, b.scalar_size(batch), 1), b.scalar_size(product(image)))
        starts = b.cast(starts, DstT=places.type.dtype)
        places = b.add(places, b.reshape(starts, (batch, 1, 1, 1)))
    found = b.unsorted_segment_sum(dy, places, b.scalar_size(product(x.dims)))
    return b.reshape(found, x.dims)


def _with_argmax_reference(
    x: np.ndarray, dy: np.ndarray, places: np.ndarray, *, include_batch_in_index: bool, **_: Any
) -> np.ndarray:
    if not include_batch_in_index:
        batch, *image = x.shape
        places = places + (np.arange(batch) * np.prod(image)).reshape(-1, 1, 1, 1)
    wrong = places[(places < 0) | (places >= x.size)]
    if wrong.size:
        raise InvalidArgumentError(f"argmax has {wrong[0]}, which is not in [0, {x.size})")
    dx = np.zeros(x.size, dy.dtype)
    np.add.at(dx, places.reshape(-1), dy.reshape(-1))
    return dx.reshape(x.shape)


define(
    "max_pool_grad_with_argmax",
    f"MaxPoolGradWithArgmax(input: T, grad: T, argmax: Targmax; {WINDOW}, "
    'padding: {"SAME", "VALID"}, include_batch_in_index: bool = False, Targmax: INDEX, '
    f"T: {REAL}) -> output: T",
    infer=_infer_with_argmax,
    lowering=Decompose(_build_with_argmax),
    reference=_with_argmax_reference,
    examples=(
        "f32[2,2,4,1] f32[2,1,2,1] i64[2,1,2,1]=[[[[1],[7]]],[[[4],[2]]]]; ksize=[1,2,2,1]; "
        'strides=[1,2,2,1]; padding="VALID"',
        "f64[2,2,4,1] f64[2,1,2,1] i32[2,1,2,1]=[[[[1],[7]]],[[[12],[10]]]]; ksize=[1,2,2,1]; "
        'strides=[1,2,2,1]; padding="SAME"; include_batch_in_index=True',
    ),
)


# -- gradients of gradients


def _infer_grad_grad(c: Inference) -> Dims:
    pooled = infer_pool(c)
    c.match_dims(c.dims(1), pooled, "orig_output must have the pooled shape")
    c.match_dims(c.dims(2), c.dims(0), "grad must have the shape of orig_input")
    return pooled


def _lower_grad_grad(node: Node) -> Lowering:
    if not is_last(node):
        return in_channels_last()
    dims = node.inputs[0].dims
    window = pooling_window(dims, node.attrs)
    return Native(
        kernels.max_pool_grad_grad,
        arguments=pool_arguments(dims, window),
        parallel=dims[0] * product(window.output[:-1]),
    )


def _grad_grad_reference(
    x: np.ndarray, pooled: np.ndarray, g: np.ndarray, **attrs: Any
) -> np.ndarray:
    layout, window = layout_of(attrs["data_format"]), pooling_window(x.shape, attrs)
    image, given, largest = (layout.unpacked(v) for v in (x, g, pooled))
    inside = parts_met(np.ones(image.shape, bool), window, False)
    y, open_ = np.zeros_like(largest), np.ones(largest.shape, bool)
    for seen, value, there in zip(parts_met(image, window), parts_met(given, window), inside):
        takes = open_ & there & (seen == largest)
        y, open_ = np.where(takes, value, y), open_ & ~takes
    return layout.packed(y)


for _name, _tf, _form, _types, _examples in (
    (
        "max_pool_grad_grad",
        f"MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T; {WINDOW}",
        IMAGE_FORMAT,
        REAL,
        (
            "f32[2,5,7,3]~small f32[2,2,3,3]~small f32[2,5,7,3]; ksize=[1,2,2,1]; "
            'strides=[1,2,2,1]; padding="VALID"',
            "f64[1,4,5,2]~small f64[1,4,3,2]~small f64[1,4,5,2]; ksize=[1,3,2,1]; "
            'strides=[1,1,2,1]; padding="SAME"',
            "f32[1,2,4,5]~small f32[1,2,4,3]~small f32[1,2,4,5]; ksize=[1,1,3,2]; "
            'strides=[1,1,1,2]; padding="SAME"; data_format="NCHW"',
        ),
    ),
    (
        "max_pool_3d_grad_grad",
        f"MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T; {WINDOW.replace('4', '5')}",
        'data_format: {"NDHWC", "NCDHW"} = "NDHWC"',
        REAL,
        (
            "f32[2,3,5,4,3]~small f32[2,1,2,2,3]~small f32[2,3,5,4,3]; ksize=[1,2,2,2,1]; "
            'strides=[1,2,2,2,1]; padding="VALID"',
            "f32[1,2,4,3,5]~small f32[1,2,4,2,3]~small f32[1,2,4,3,5]; ksize=[1,1,3,2,2]; "
            'strides=[1,1,1,2,2]; padding="SAME"; data_format="NCDHW"',
        ),
    ),
):
    define(
        _name,
        f'{_tf}, padding: {{"SAME", "VALID"}}, {_form}, T: {_types}) -> output: T',
        infer=_infer_grad_grad,
        lowering=_lower_grad_grad,
        reference=_grad_grad_reference,
        gradient=second_order(_name.removesuffix("_grad")),
        examples=_examples,
    )


# -- windows as inputs


def _build_of_constants(op_name: str) -> Callable[[Builder, Node], Value]:
    def build(b: Builder, node: Node) -> Value:
        return b.emit(op_named(op_name), node.inputs[:3], attrs_of_windows(b, node, 3)).output

    return build


def _reference_of_windows(reference: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    def with_windows(
        x: np.ndarray, pooled: np.ndarray, given: np.ndarray, ksize: Any, strides: Any, **attrs: Any
    ) -> np.ndarray:
        windows = {"ksize": tuple(ksize.tolist()), "strides": tuple(strides.tolist())}
        return reference(x, pooled, given, **attrs, **windows)

    return with_windows


def _gradient_of_windows(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, pooled, _, *windows = node.inputs
    found = b.with_attrs_of(node, "max_pool_grad_grad_v2", x, pooled, dy, *windows)
    return b.zeros_like(x), b.zeros_like(pooled), found


for _tf, _of, _infer, _reference, _gradient, _default, _given in (
    ("MaxPoolGradV2", "max_pool_grad", infer_max_grad, max_grad_reference,
     _gradient_of_windows, " = f32", "f32[1,4,3,2]"),
    ("MaxPoolGradGradV2", "max_pool_grad_grad", _infer_grad_grad, _grad_grad_reference,
     None, "", "f32[1,4,5,2]"),
):  # fmt: skip
    define(
        f"{_of}_v2",
        f"{_tf}(orig_input: T, orig_output: T, grad: T, ksize: i32, strides: i32; "
        f'padding: {{"SAME", "VALID"}}, {IMAGE_FORMAT}, T: {REAL}{_default}) -> output: T',
        infer=lambda c, infer=_infer: infer(with_windows(c, 3)),
        lowering=Decompose(_build_of_constants(_of)),
        reference=_reference_of_windows(_reference),
        gradient=_gradient,
        examples=(
            f'f32[1,4,5,2] f32[1,4,3,2] {_given} i32[4]=[1,3,2,1] i32[4]=[1,1,2,1]; padding="SAME"',
        ),
    )
