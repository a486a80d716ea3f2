"""Gradients of image resizing: nearest, bilinear, bicubic.

In: gradients of resized images, channels last, and the images (or their size). Out: gradients of
the images. Invariant: the pixels and weights are those that the forward ops (`resize`) take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.lowering import Lowering, Native
from flowc.ir.op import Inference, Op, define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, Gradient, GradientBuilder
from flowc.ops.image.resize import CENTERS, cubic_taps, linear_taps, nearest_indices
from flowc.ops.kernels import resize_gradients as kernels

if TYPE_CHECKING:
    from flowc.ir.computation import Node

f32 = np.float32


def _check(c: Inference) -> None:
    if c.rank(0) != 4:
        raise c.fail("input must be 4-dimensional")
    if c.attrs["align_corners"] and c.attrs["half_pixel_centers"]:
        raise c.fail("If half_pixel_centers is True, align_corners must be False.")


def _infer_like_image(c: Inference) -> Dims:
    _check(c)
    if c.rank(1) != 4:
        raise c.fail("original_image must be 4-dimensional")
    batch, height, width, channels = c.dims(1)
    c.equal(c.dims(0)[0], batch)
    c.equal(c.dims(0)[3], channels)
    return (batch, height, width, channels)


def _infer_sized(c: Inference) -> Dims:
    _check(c)
    if c.dims(1) != (2,):
        raise c.fail("shape_t must have two elements")
    height, width = c.need_sizes(1)
    if any(isinstance(n, int) and n <= 0 for n in (height, width)):
        raise c.fail("shape_t's elements must be positive")
    return (c.dims(0)[0], height, width, c.dims(0)[3])


def _lower(kernel: Callable[..., None]) -> Callable[[Node], Lowering]:
    def lower(node: Node) -> Lowering:
        batch, height, width, channels = node.output.dims
        _, out_h, out_w, _ = node.inputs[0].dims
        flags = int(node.attrs["align_corners"]), int(node.attrs["half_pixel_centers"])
        arguments = (height, width, channels, out_h, out_w, *flags)
        return Native(kernel, arguments=arguments, parallel=batch)

    return lower


def _give_back(
    dy: np.ndarray, dims: Sequence[int], dtype: Any, rows: np.ndarray, columns: np.ndarray,
    row_weights: np.ndarray, column_weights: np.ndarray,
) -> np.ndarray:  # fmt: skip
    """Adds each gradient to the pixels that it came from. Taps are [taps, out_size] arrays."""
    carrier = np.dtype(f32) if dtype.itemsize == 2 else dtype
    dx = np.zeros(dims, carrier)
    for r, down in zip(rows, row_weights):
        for s, across in zip(columns, column_weights):
            value = dy * down[:, None, None] * across[:, None]
            at: Any = (slice(None), r[:, None], s[None, :])
            np.add.at(dx, at, value.astype(carrier))
    return dx.astype(dtype)


def _nearest_grad(
    grads: np.ndarray, size: np.ndarray, *, align_corners: bool, half_pixel_centers: bool
) -> np.ndarray:
    height, width = (int(n) for n in size)
    _, out_h, out_w, channels = grads.shape
    centers = (align_corners, half_pixel_centers)
    carrier = f32 if grads.dtype.itemsize == 2 and grads.dtype.kind in "fV" else grads.dtype
    dx = np.zeros((grads.shape[0], height, width, channels), carrier)
    rows = nearest_indices(height, out_h, *centers)
    columns = nearest_indices(width, out_w, *centers)
    at: Any = (slice(None), rows[:, None], columns[None, :])
    np.add.at(dx, at, grads.astype(carrier))
    return dx.astype(grads.dtype)


def _interpolated(
    taps: Callable[..., tuple[np.ndarray, np.ndarray]], products: Any
) -> Callable[..., np.ndarray]:
    """`products`: the dtype in which gradients are multiplied by weights."""

    def reference(
        grads: np.ndarray, original: np.ndarray, *, align_corners: bool, half_pixel_centers: bool
    ) -> np.ndarray:
        centers = (align_corners, half_pixel_centers)
        rows, row_weights = taps(original.shape[1], grads.shape[1], *centers)
        columns, column_weights = taps(original.shape[2], grads.shape[2], *centers)
        given = grads.astype(products)
        return _give_back(
            given, original.shape, original.dtype, rows, columns, row_weights, column_weights
        )

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
    reference=_nearest_grad,
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
    _interpolated(linear_taps, f32),
    "{f32, bf16, f16, f64}",
)
resize_bicubic_grad = _define_interpolation(
    "ResizeBicubicGrad",
    kernels.resize_bicubic_grad,
    _interpolated(cubic_taps, np.float64),
    "{f32, f64}",
)
