"""Gradients of image resizing: nearest, bilinear, bicubic.

In: gradients of resized images, channels last, and the images (or their size). Out: gradients of
the images. Invariant: the pixels and weights are those that the forward ops (`resize`) take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, Native
from flowc.ir.op import Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, Gradient, GradientBuilder
from flowc.ops.image.resize import (
    CENTERS,
    check_image,
    cubic_taps,
    linear_taps,
    nearest_indices,
    new_size,
)
from flowc.ops.kernels.image import resize_gradients as kernels
from flowc.ops.math.elementwise import wide_dtype

if TYPE_CHECKING:
    from flowc.ir.computation import Node

f32 = np.float32


_EMPTY = (
    "original dimensions must be positive, found [{a}, {b}]",
    "resized dimensions must be positive, found [{a}, {b}]",
)


def _check_sizes(c: Inference, what: str, sizes: Sequence[Dim]) -> None:
    if 0 in sizes:
        raise c.fail(f"{what} must be positive")


def _infer_like_image(c: Inference) -> Dims:
    check_image(c)
    if c.rank(1) != 4:
        raise c.fail("original_image must be 4-dimensional")
    batch, height, width, channels = c.dims(1)
    _check_sizes(c, "original dimensions", (height, width))
    _check_sizes(c, "resized dimensions", c.dims(0)[1:3])
    c.equal(c.dims(0)[0], batch)
    c.equal(c.dims(0)[3], channels)
    return (batch, height, width, channels)


def _infer_sized(c: Inference) -> Dims:
    check_image(c)
    height, width = new_size(c, 1, "shape_t's elements")
    return (c.dims(0)[0], height, width, c.dims(0)[3])


def _lower(kernel: Callable[..., None]) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        batch, height, width, channels = node.output.dims
        _, out_h, out_w, _ = node.inputs[0].dims
        flags = int(node.attrs["align_corners"]), int(node.attrs["half_pixel_centers"])
        arguments = (height, width, channels, out_h, out_w, *flags)
        return Native(kernel, arguments=arguments, parallel=batch, errors=_EMPTY)

    return lower


Taps = tuple[np.ndarray, np.ndarray]  # indices and weights, each [taps, out_size]


def _nearest_taps(size: int, new: int, align: bool, half: bool) -> Taps:
    return nearest_indices(size, new, align, half)[None], np.ones((1, new), f32)


def _given_back(taps: Callable[..., Taps], products: Any = None) -> Callable[..., np.ndarray]:
    """Adds each gradient to the pixels that it came from. `products`: the dtype in which gradients
    are multiplied by weights, if not that of the sums."""

    def reference(
        grads: np.ndarray, like: np.ndarray, *, align_corners: bool, half_pixel_centers: bool
    ) -> np.ndarray:
        if like.ndim == 1:  # the image's size
            like = np.empty((len(grads), *like, grads.shape[3]), grads.dtype)
        centers = (align_corners, half_pixel_centers)
        rows, row_weights = taps(like.shape[1], grads.shape[1], *centers)
        columns, column_weights = taps(like.shape[2], grads.shape[2], *centers)
        carrier = wide_dtype(like.dtype)
        given, dx = grads.astype(products or carrier), np.zeros(like.shape, carrier)
        for r, down in zip(rows, row_weights):
            for s, across in zip(columns, column_weights):
                value = given * down[:, None, None] * across[:, None]
                at: Any = (slice(None), r[:, None], s[None, :])
                np.add.at(dx, at, value.astype(carrier))
        return dx.astype(like.dtype)

    return reference


def _interpolation_gradient(forward: str) -> Gradient:
    """A gradient is linear in what it is given: its own gradient is the forward op."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        return b.with_attrs_of(node, forward, dy, b.shape_of(node.inputs[0], 1, 3))

    return gradient


_SHAPES = (
    ("[1,5,3,2]", "[1,3,4,2]", "[3,4]"),
    ("[2,3,7,3]", "[2,6,4,3]", "[6,4]"),
    ("[1,1,3,1]~positive", "[1,4,1,1]", "[4,1]"),
)
_FLAGS = ("", "; align_corners=True", "; half_pixel_centers=True")

resize_nearest_neighbor_grad = define(
    "resize_nearest_neighbor_grad",
    "ResizeNearestNeighborGrad(grads: T, size: i32; T: {u8, i8, i32, f16, f32, f64, bf16},"
    f" {CENTERS}) -> output: T",
    infer=_infer_sized,
    lowering=_lower(kernels.resize_nearest_grad),
    reference=_given_back(_nearest_taps),
    gradient=_interpolation_gradient("resize_nearest_neighbor"),
    examples=(
        "T[1,5,3,2]~small i32[2]=[3,4]",
        *(f"f32{g} i32[2]={s}{f}" for g, _, s in _SHAPES[1:] for f in _FLAGS),
    ),
)


def _define_interpolation(tf_name: str, kernel: Any, reference: Any, allowed: str) -> Op:
    forward = "resize_" + tf_name.removeprefix("Resize").removesuffix("Grad").lower()
    return define(
        f"{forward}_grad",
        f"{tf_name}(grads: f32, original_image: T; T: {allowed}, {CENTERS}) -> output: T",
        infer=_infer_like_image,
        lowering=_lower(kernel),
        reference=reference,
        gradient=_interpolation_gradient(forward),
        examples=(
            "f32[1,5,3,2] T[1,3,4,2]",
            *(f"f32{g} f32{i}{f}" for g, i, _ in _SHAPES for f in _FLAGS),
        ),
    )


resize_bilinear_grad = _define_interpolation(
    "ResizeBilinearGrad",
    kernels.resize_bilinear_grad,
    _given_back(linear_taps, f32),
    "{f32, bf16, f16, f64}",
)
resize_bicubic_grad = _define_interpolation(
    "ResizeBicubicGrad",
    kernels.resize_bicubic_grad,
    _given_back(cubic_taps, np.float64),
    "{f32, f64}",
)
