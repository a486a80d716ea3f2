"""Other spellings of convolutions: of any rank, and gradients that take tensors for their sizes.

In: what their OpDefs say. Out: records made of Conv2D, Conv3D and their gradients. Invariant: all
numbers are those of the ops that they are made of.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims
from flowc.ops.nn.convolution import CONV2D_ATTRS, convolution_array, convolved
from flowc.ops.nn.convolution_window import check_gradient, check_rank

# -- Conv


def _settings(rank: int, attrs: Any) -> dict[str, Any]:
    """The attrs of the convolution of rank 4 or 5 that it is; rank 3 gets a size of 1 more."""
    last = attrs["data_format"] == "CHANNELS_LAST"
    strides = list(attrs["strides"])
    dilations = list(attrs["dilations"]) or [1] * rank
    pads = list(attrs["explicit_paddings"])
    if rank == 3:
        at = 1 if last else 2
        strides.insert(at, 1)
        dilations.insert(at, 1)
        pads = [*pads[: 2 * at], 0, 0, *pads[2 * at :]] if pads else []
    found = {
        "strides": tuple(strides),
        "padding": attrs["padding"],
        "dilations": tuple(dilations),
        "data_format": ("NDHWC" if last else "NCDHW") if rank == 5 else "NHWC" if last else "NCHW",
    }
    return found if rank == 5 else found | {"explicit_paddings": tuple(pads)}


def _infer_conv(c: Inference) -> Dims:
    rank, batch = c.rank(1), c.attrs["batch_dims"]
    if rank not in (3, 4, 5):
        raise c.fail(f"filter must be rank 3, 4 or 5, but got: {rank}")
    if batch < 0:
        raise c.fail("Batch dims must be non-negative.")
    if c.rank(0) != rank - 1 + batch:
        raise c.fail(f"Input tensor rank must be {rank - 1 + batch}: {batch} of the batch first")
    own = Inference(c.op, c.inputs, {**c.attrs, **_settings(rank, c.attrs)})
    x, w = c.dims(0), c.dims(1)
    if rank > 3:
        found = convolved(own, (product(x[:batch]), *x[batch:]), w, False)
        return (*x[:batch], *found[1:])
    at = batch if c.attrs["data_format"] == "CHANNELS_LAST" else batch + 1
    wide = (product(x[:batch]), *x[batch:at], 1, *x[at:])
    found = convolved(own, wide, (1, *w), False)
    at -= batch - 1
    return (*x[:batch], *found[1:at], *found[at + 1 :])


def _build_conv(b: Builder, node: Node) -> Value:
    """All dims of the batch as one; a line of pixels as an image of one row."""
    x, w = node.inputs
    batch = node.attrs["batch_dims"]
    attrs = _settings(w.type.rank, node.attrs)
    dims = (product(x.dims[:batch]), *x.dims[batch:])
    if w.type.rank == 3:
        at = 1 if node.attrs["data_format"] == "CHANNELS_LAST" else 2
        dims = (*dims[:at], 1, *dims[at:])
        w = b.expand_dims(w, np.int32(0))
    convolve = b.conv3d if w.type.rank == 5 else b.conv2d
    return b.reshape(convolve(b.reshape(x, dims), w, **attrs), node.output.dims)


def _conv(x: np.ndarray, w: np.ndarray, *, batch_dims: int, **attrs: Any) -> np.ndarray:
    rank = w.ndim
    own = _settings(rank, attrs)
    flat = x.reshape(math.prod(x.shape[:batch_dims]), *x.shape[batch_dims:])
    if rank > 3:
        found = convolution_array(flat, w, **own)
    else:
        at = 1 if attrs["data_format"] == "CHANNELS_LAST" else 2
        found = np.squeeze(convolution_array(np.expand_dims(flat, at), w[None], **own), at)
    return found.reshape(*x.shape[:batch_dims], *found.shape[1:])


define(
    "conv",
    "Conv(input: T, filter: T; T: {f16, bf16, f32, f64, i32}, strides: list(int),"
    ' padding: {"SAME", "VALID", "EXPLICIT"}, explicit_paddings: list(int) = [],'
    ' data_format: {"CHANNELS_FIRST", "CHANNELS_LAST"} = "CHANNELS_LAST",'
    " dilations: list(int) = [], batch_dims: int = 1, groups: int = 1) -> output: T",
    infer=_infer_conv,
    lowering=Decompose(_build_conv),
    reference=_conv,
    examples=(
        'T[1,5,6,3] T[3,3,3,4]; strides=[1,1,1,1], padding="SAME"',
        'f32[1,4,5,6,2] f32[2,3,3,2,4]; strides=[1,2,1,1,1], padding="VALID"',
        'f32[2,3,6,5] f32[3,3,3,2]; strides=[1,1,2,1], padding="SAME",'
        ' data_format="CHANNELS_FIRST"',
        'f32[2,2,5,6,3] f32[3,3,3,4]; strides=[1,1,1,1], padding="SAME", batch_dims=2',
        'f32[5,6,3] f32[3,3,3,2]; strides=[1,1,1,1], padding="VALID", batch_dims=0',
    ),
)


# -- gradients that are given tensors of the sizes


def _sized(name: str, place: int) -> Callable[[Builder, Node], Value]:
    """The op that takes the sizes of input `place` instead."""

    def build(b: Builder, node: Node) -> Value:
        inputs = list(node.inputs)
        inputs[place] = b.sizes(inputs[place].dims)
        attrs = {k: v for k, v in node.attrs.items() if k != "T"}
        return getattr(b, name)(*inputs, **attrs)

    return build


def _sized_reference(name: str, place: int) -> Callable[..., Any]:
    def reference(*arrays: np.ndarray, **attrs: Any) -> Any:
        op = op_named(name)
        assert op.reference is not None
        given = list(arrays)
        given[place] = np.array(given[place].shape, np.int32)
        own = {k: v for k, v in attrs.items() if k in op.signature.attrs}
        return op.reference(*given, **{**op.signature.default_attrs, **own})

    return reference


def _infer_sized(c: Inference, place: int) -> Dims:
    rank = 5 if "Conv3D" in c.op.tf_name else 4
    for i in range(3):
        check_rank(c, i, rank)
    own = Inference(c.op, c.inputs, {"data_format": "NDHWC", **c.attrs})
    check_gradient(own, c.dims(2), convolved(own, c.dims(0), c.dims(1), False))
    return c.dims(place)


_OLD_3D = (
    'strides: list(int) >= 5, padding: {"SAME", "VALID"}, dilations: list(int) = [1, 1, 1, 1, 1]'
)
for _name, _tf_name, _made_of, _place, _types, _attrs, _example in (
    (
        "conv2d_backprop_input_v2", "Conv2DBackpropInputV2", "conv2d_backprop_input", 0,
        "{f16, bf16, f32, f64, i32}", CONV2D_ATTRS,
        'f32[1,5,6,3] f32[3,3,3,4] f32[1,5,6,4]; strides=[1,1,1,1], padding="SAME"',
    ),
    (
        "conv2d_backprop_filter_v2", "Conv2DBackpropFilterV2", "conv2d_backprop_filter", 1,
        "{f16, bf16, f32, f64}", CONV2D_ATTRS,
        'f32[1,5,6,3] f32[3,3,3,4] f32[1,5,6,4]; strides=[1,1,1,1], padding="SAME"',
    ),
    (
        "conv3d_backprop_input_v1", "Conv3DBackpropInput", "conv3d_backprop_input", 0,
        "{f16, f32, f64}", _OLD_3D,
        'f32[1,4,4,4,2] f32[2,2,2,2,3] f32[1,4,4,4,3]; strides=[1,1,1,1,1], padding="SAME"',
    ),
    (
        "conv3d_backprop_filter_v1", "Conv3DBackpropFilter", "conv3d_backprop_filter", 1,
        "{f16, f32, f64}", _OLD_3D,
        'f32[1,4,4,4,2] f32[2,2,2,2,3] f32[1,4,4,4,3]; strides=[1,1,1,1,1], padding="SAME"',
    ),
):  # fmt: skip
    define(
        _name,
        f"{_tf_name}(input: T, filter: T, out_backprop: T; T: {_types}, {_attrs}) -> output: T",
        infer=lambda c, place=_place: _infer_sized(c, place),
        lowering=Decompose(_sized(_made_of, _place)),
        reference=_sized_reference(_made_of, _place),
        examples=(_example,),
    )
