"""Pooling: MaxPool, AvgPool, and their 3-D forms.

In: images or volumes, channels last; channels-first nodes transpose round the channels-last op.
Invariant: padding is never part of a window: not of its maximum, its sum or its count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dtypes import as_dtype
from flowc.errors import UnimplementedError
from flowc.ir.dims import floordiv, product
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels import pooling as kernels
from flowc.ops.nn.convolution_reference import parts_met
from flowc.ops.nn.pooling_window import (
    check_output,
    check_window,
    pool_arguments,
    pooling_window,
)
from flowc.ops.nn.through_channels_last import in_channels_last, is_last
from flowc.ops.reductions.folds import carried, lowest

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

MAX_TYPES = "{f16, bf16, f32, f64, i32, i64, u8, i16, i8, u16}"
FLOATS = "{f16, bf16, f32, f64}"


def infer_pool(c: Inference, image: Dims | None = None) -> Dims:
    """The output dims of a pooling node; a window over channels must divide them. `image`: the dims
    of what it pools, which are those of input 0 where no others are given."""
    attrs = c.attrs
    form = attrs.get("data_format", "NHWC")
    layout, rank = layout_of(form), len(form)
    ksize, strides = attrs["ksize"], attrs["strides"]
    check_window(c, ksize, strides, rank)
    dims = c.dims(0) if image is None else image
    if len(dims) != rank:
        built = f"Shape must be rank {rank} but is rank {len(dims)}"
        raise c.fail(f"tensor_in must be {rank}-dimensional", built=built)
    batch, *sizes, channels = layout.logical(dims)
    (_, *window, depth), (_, *steps, step) = layout.logical(ksize), layout.logical(strides)
    if depth != 1 or step != 1:
        if c.op.tf_name not in ("MaxPool", "MaxPoolV2"):
            raise c.unimplemented(f"{c.op.tf_name} is not yet supported on the depth dimension.")
        if any(k != 1 for k in (*window, *steps)):
            raise c.unimplemented(
                "MaxPooling supports exactly one of pooling across depth or pooling across "
                "width/height."
            )
        if depth != step:
            raise c.unimplemented(
                "Depthwise max pooling requires the depth window to equal the depth stride"
            )
        fault = "Depthwise max pooling requires the depth window to evenly divide the input depth"
        if isinstance(channels, int) and channels % depth:
            raise c.unimplemented(fault)
        parts = floordiv(channels, depth)
        c.equal(channels, parts * depth, fault)
        channels = parts
    explicit = attrs["explicit_paddings"] if attrs["padding"] == "EXPLICIT" else (0,) * 2 * rank
    if len(explicit) != 2 * rank or min(explicit) < 0:
        raise c.fail(f"explicit_paddings must hold {2 * rank} numbers that are not negative")
    slides = pooling_window(dims, attrs)
    check_output(c, sizes, slides)
    return layout.stored((batch, *slides.output, channels))


def _lower_max(node: Node) -> Lowering:
    x = node.inputs[0]
    if not is_last(node):
        return in_channels_last()
    if node.attrs["ksize"][-1] != 1:
        return Decompose(_pool_channels)
    return _taps(x.dims, node, MEAN=False, START=carried(lowest(x.type.dtype), x.type.dtype))


def _lower_mean(node: Node) -> Lowering:
    if not is_last(node):
        return in_channels_last()
    dims, size = node.inputs[0].dims, node.inputs[0].type.dtype.size
    taps = _taps(dims, node, MEAN=True, START=0)
    window = pooling_window(dims, node.attrs)
    if not kernels.is_sooner_by_lines(dims, window):
        return taps
    return kernels.by_lines(taps, kernels.elements_of_line(dims, window), size)


def _taps(dims: Dims, node: Node, **constants: Any) -> Native:
    """Tap by tap of each window."""
    window = pooling_window(dims, node.attrs)
    return Native(
        kernels.pool,
        arguments=pool_arguments(dims, window),
        parallel=dims[0] * product(window.output[:-1]),
        constants=constants,
    )


def _pool_channels(b: Builder, node: Node) -> Value:
    """A window over channels is one over the columns of [.., channels/k, k, 1]."""
    x, k = node.inputs[0], node.attrs["ksize"][-1]
    dims = node.output.dims
    rows = b.reshape(x, (product(dims[:-1]), dims[-1], k, 1))
    window = (1, 1, k, 1)
    pooled = b.max_pool(rows, ksize=window, strides=window, padding="VALID")
    return b.reshape(pooled, dims)


def _max_of_windows(x: np.ndarray, **attrs: Any) -> np.ndarray:
    layout = layout_of(attrs["data_format"])
    k = layout.logical(attrs["ksize"])[-1]
    if k != 1:
        image = layout.unpacked(x)
        rows = image.reshape(-1, image.shape[-1] // k, k, 1)
        one = (1, 1, k, 1)
        y = _max_of_windows(rows, ksize=one, strides=one, padding="VALID", data_format="NHWC")
        return layout.packed(y.reshape(*image.shape[:-1], -1))
    y = start = np.array(lowest(as_dtype(x.dtype)), x.dtype)
    for seen in parts_met(layout.unpacked(x), pooling_window(x.shape, attrs), start):
        y = np.where(seen > y, seen, y)
    return layout.packed(y)


def _avg_reference(x: np.ndarray, **attrs: Any) -> np.ndarray:
    layout, window = layout_of(attrs["data_format"]), pooling_window(x.shape, attrs)
    image = layout.unpacked(x).astype(np.float32 if x.dtype.itemsize < 4 else x.dtype)
    sums: Any = sum(parts_met(image, window))
    counts: Any = sum(parts_met(np.ones_like(image), window))
    return layout.packed((sums / counts).astype(x.dtype))


# -- records


def with_windows(c: Inference, at: int) -> Inference:
    """A node whose window and strides are inputs from `at` on, as one that has them as attrs."""
    windows = {"ksize": c.need_int_vector(at), "strides": c.need_int_vector(at + 1)}
    return Inference(c.op, c.inputs, dict(c.attrs) | windows, node_name=c.node_name)


def _ints(b: Builder, value: Value) -> tuple[int, ...]:
    found = b.content(value)
    assert found is not None, "the type rule needs them too"
    return tuple(int(n) for n in found)


def attrs_of_windows(b: Builder, node: Node, at: int) -> dict[str, Any]:
    """The attrs of what pools as a node whose window and strides are inputs from `at` on."""
    ksize, strides = (_ints(b, window) for window in node.inputs[at:])
    kept = {n: node.attrs[n] for n in ("padding", "data_format")}
    return {"ksize": ksize, "strides": strides, **kept}


def _max_v2_reference(
    x: np.ndarray, ksize: np.ndarray, strides: np.ndarray, *, padding: Any, data_format: Any
) -> np.ndarray:
    window, steps = tuple(ksize.tolist()), tuple(strides.tolist())
    return _max_of_windows(x, ksize=window, strides=steps, padding=padding, data_format=data_format)


def _max_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    if layout_of(node.attrs["data_format"]).logical(node.attrs["ksize"])[-1] != 1:
        raise UnimplementedError("no gradient of a maximum over channels", node=node.name)
    return b.with_attrs_of(node, f"{node.op.name}_grad", node.inputs[0], node.output, dy)


def _mean_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    return b.with_attrs_of(node, f"{node.op.name}_grad", b.shape_of(node.inputs[0]), dy)


max_pool = define(
    "max_pool",
    f"MaxPool(input: T; T: {MAX_TYPES} = f32, ksize: list(int) >= 4, strides: list(int) >= 4, "
    'padding: {"SAME", "VALID", "EXPLICIT"}, explicit_paddings: list(int) = [], '
    'data_format: {"NHWC", "NCHW"} = "NHWC") -> output: T',
    infer=infer_pool,
    lowering=_lower_max,
    gradient=_max_gradient,
    reference=_max_of_windows,
    examples=(
        'T[2,5,7,3]; ksize=[1,2,2,1]; strides=[1,2,2,1]; padding="VALID"',
        'f32[1,9,8,17]; ksize=[1,3,3,1]; strides=[1,2,2,1]; padding="SAME"',
        'f32[2,4,6,1]; ksize=[1,5,4,1]; strides=[1,1,1,1]; padding="SAME"',
        'f32[1,6,5,4]; ksize=[1,3,3,1]; strides=[1,2,2,1]; padding="EXPLICIT"; '
        "explicit_paddings=[0,0,1,0,2,1,0,0]",
        'f32[2,3,6,5]; ksize=[1,1,3,2]; strides=[1,1,2,2]; padding="SAME"; data_format="NCHW"',
        'f32[2,3,2,6]; ksize=[1,1,1,3]; strides=[1,1,1,3]; padding="VALID"',
        'f32[0,3,3,2]; ksize=[1,2,2,1]; strides=[1,1,1,1]; padding="SAME"',
    ),
)


def _v2_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, *windows = node.inputs
    return b.with_attrs_of(node, "max_pool_grad_v2", x, node.output, dy, *windows)


max_pool_v2 = define(
    "max_pool_v2",
    f"MaxPoolV2(input: T, ksize: i32, strides: i32; T: {MAX_TYPES} = f32, "
    'padding: {"SAME", "VALID"}, data_format: {"NHWC", "NCHW"} = "NHWC") -> output: T',
    infer=lambda c: infer_pool(with_windows(c, 1)),
    lowering=Decompose(lambda b, node: b.max_pool(node.inputs[0], **attrs_of_windows(b, node, 1))),
    reference=_max_v2_reference,
    gradient=_v2_gradient,
    examples=('f32[1,5,4,3] i32[4]=[1,2,2,1] i32[4]=[1,2,1,1]; padding="SAME"',),
)

avg_pool = define(
    "avg_pool",
    "AvgPool(value: T; ksize: list(int) >= 4, strides: list(int) >= 4, "
    'padding: {"SAME", "VALID"}, data_format: {"NHWC", "NCHW"} = "NHWC", '
    f"T: {FLOATS}) -> output: T",
    infer=infer_pool,
    lowering=_lower_mean,
    gradient=_mean_gradient,
    reference=_avg_reference,
    examples=(
        'T[2,5,7,3]; ksize=[1,2,2,1]; strides=[1,2,2,1]; padding="VALID"',
        'f32[1,9,8,17]; ksize=[1,3,3,1]; strides=[1,2,2,1]; padding="SAME"',
        'f32[1,7,7,5]; ksize=[1,7,7,1]; strides=[1,1,1,1]; padding="VALID"',
        'f32[2,3,6,5]; ksize=[1,1,3,2]; strides=[1,1,2,2]; padding="SAME"; data_format="NCHW"',
        'f32[0,3,3,2]; ksize=[1,2,2,1]; strides=[1,1,1,1]; padding="SAME"',
    ),
)

max_pool_3d = define(
    "max_pool_3d",
    "MaxPool3D(input: T; ksize: list(int) >= 5, strides: list(int) >= 5, "
    'padding: {"SAME", "VALID"}, data_format: {"NDHWC", "NCDHW"} = "NDHWC", '
    "T: {f16, bf16, f32}) -> output: T",
    infer=infer_pool,
    lowering=_lower_max,
    gradient=_max_gradient,
    reference=_max_of_windows,
    examples=(
        'T[2,3,5,4,3]; ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding="VALID"',
        'f32[1,4,3,5,2]; ksize=[1,3,2,4,1]; strides=[1,2,1,3,1]; padding="SAME"',
        'f32[1,2,4,3,5]; ksize=[1,1,3,2,2]; strides=[1,1,2,1,2]; padding="SAME"; '
        'data_format="NCDHW"',
    ),
)

avg_pool_3d = define(
    "avg_pool_3d",
    "AvgPool3D(input: T; ksize: list(int) >= 5, strides: list(int) >= 5, "
    'padding: {"SAME", "VALID"}, data_format: {"NDHWC", "NCDHW"} = "NDHWC", '
    f"T: {FLOATS}) -> output: T",
    infer=infer_pool,
    lowering=_lower_mean,
    gradient=_mean_gradient,
    reference=_avg_reference,
    examples=(
        'T[2,3,5,4,3]; ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding="VALID"',
        'f32[1,4,3,5,2]; ksize=[1,3,2,4,1]; strides=[1,2,1,3,1]; padding="SAME"',
    ),
)
