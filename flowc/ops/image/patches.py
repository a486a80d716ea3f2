"""Patches: every window of an image or a volume as one row of numbers.

In: channels-last images, or volumes. Out: [batch, *places, window*channels], zeros where a window
leaves the image. Invariant: a View, which costs nothing where it fuses.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.dims import Dim, floordiv
from flowc.ir.inference import Inference
from flowc.ir.lowering import Lowering, View
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.nn.convolution_reference import met
from flowc.ops.nn.convolution_window import sliding_window

if TYPE_CHECKING:
    from flowc.ir.computation import Node
    from flowc.ir.scalar import ScalarBuilder

PATCH_TYPES = "{bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, c64, c128, bool}"


def _infer_patches(c: Inference) -> Dims:
    rank = 4 if c.op.tf_name == "ExtractImagePatches" else 5
    if c.rank(0) != rank:
        raise c.fail(f"input must be {rank}-dimensional")
    for name in ("ksizes", "strides", "rates"):
        values = c.attrs.get(name, (1,) * rank)
        if len(values) != rank or values[0] != 1 or values[-1] != 1 or min(values) < 1:
            raise c.fail(
                f"{name} must be {rank} positive numbers, 1 for batch and depth, found"
                f" {list(values)}"
            )
    batch, *image, depth = c.dims(0)
    window = sliding_window(image, c.attrs["ksizes"][1:-1], c.attrs)
    for size in window.output:
        if isinstance(size, int) and size < 0:
            raise c.fail(f"Computed output size would be negative: {size}")
    return (batch, *window.output, depth * math.prod(c.attrs["ksizes"]))


def _patches(node: Node) -> Lowering:
    _, *image, depth = node.inputs[0].dims
    window = sliding_window(image, node.attrs["ksizes"][1:-1], node.attrs)

    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        rest, places = floordiv(index[-1], depth), list[Dim]()
        for size in reversed(window.sizes):
            places.insert(0, rest % size)
            rest = floordiv(rest, size)
        at = [
            index[1 + i] * window.strides[i] + place * window.dilations[i] - window.pad[i][0]
            for i, place in enumerate(places)
        ]
        inside = k.in_range(at[0], 0, image[0])
        for place, size in zip(at[1:], image[1:]):
            inside = k.logical_and(inside, k.in_range(place, 0, size))
        zero = k.const(0, node.output.type.dtype)
        return k.load_if(inside, 0, (index[0], *at, index[-1] % depth), zero)

    return View(read)


def _patches_reference(x: np.ndarray, **attrs: Any) -> np.ndarray:
    window = sliding_window(x.shape[1:-1], attrs["ksizes"][1:-1], attrs)
    found = np.stack([part for _, part in met(x, window)], axis=x.ndim - 1)
    return found.reshape(*found.shape[: x.ndim - 1], math.prod(attrs["ksizes"]) * x.shape[-1])


def _patches_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """Each number of a patch goes back to the pixel that it came from, which the patches of an
    image of the pixels' places tell: 0 beside the image."""
    x = node.inputs[0]
    sizes = b.shape_of(x)
    batch, *image, depth = (b.size_of(x, axis) for axis in range(b.rank_of(x)))
    pixels = reduce(b.mul, image)
    places = b.reshape(b.range(1, b.add(pixels, 1), 1), b.pack(1, *image, 1))
    seen = b.reshape(b.with_attrs_of(node, node.op.name, places), np.array([-1], np.int32))
    given = b.reshape(dy, b.pack(batch, b.size(seen), depth))
    by_place = b.transpose(given, np.array([1, 0, 2], np.int32))
    total = b.unsorted_segment_sum(by_place, seen, b.add(pixels, 1))
    inside = b.slice(total, (1, 0, 0), (-1, -1, -1))
    return b.reshape(b.transpose(inside, np.array([1, 0, 2], np.int32)), sizes)


extract_image_patches = define(
    "extract_image_patches",
    "ExtractImagePatches(images: T; ksizes: list(int) >= 4, strides: list(int) >= 4, "
    f'rates: list(int) >= 4, T: {PATCH_TYPES}, padding: {{"SAME", "VALID"}}) -> patches: T',
    infer=_infer_patches,
    lowering=_patches,
    reference=_patches_reference,
    gradient=_patches_gradient,
    examples=(
        'T[1,5,4,2]; ksizes=[1,2,3,1]; strides=[1,1,2,1]; rates=[1,1,1,1]; padding="VALID"',
        'f32[2,7,6,3]; ksizes=[1,3,2,1]; strides=[1,2,1,1]; rates=[1,2,3,1]; padding="SAME"',
        'f32[1,3,3,1]; ksizes=[1,1,1,1]; strides=[1,2,2,1]; rates=[1,1,1,1]; padding="SAME"',
    ),
)

define(
    "extract_volume_patches",
    "ExtractVolumePatches(input: T; ksizes: list(int) >= 5, strides: list(int) >= 5, T: {f32, f64,"
    ' i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}, padding: {"SAME", "VALID"}) -> patches: T',
    infer=_infer_patches,
    lowering=_patches,
    reference=_patches_reference,
    gradient=_patches_gradient,
    examples=(
        'T[1,4,3,5,2]; ksizes=[1,2,2,3,1]; strides=[1,1,1,2,1]; padding="VALID"',
        'f32[2,3,4,3,1]; ksizes=[1,2,3,2,1]; strides=[1,2,1,1,1]; padding="SAME"',
    ),
)
