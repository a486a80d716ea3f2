"""Dilation2D: grey-scale morphological dilation.

In: an image [N, H, W, C], a structuring function [kh, kw, C]. Out: for each place the largest sum
of an image element and the window element over it. Invariant: elements outside of the image take no
part, and a place that meets none has the dtype's smallest number.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.nn.convolution_reference import known, met
from flowc.ops.nn.convolution_window import check_fit, check_rank, sliding_window
from flowc.ops.reductions.folds import carried, lowest

if TYPE_CHECKING:
    from flowc.ir.computation import Node


def infer_dilation(c: Inference) -> Dims:
    check_rank(c, 0, 4)
    check_rank(c, 1, 3)
    for name in ("strides", "rates"):
        values = c.attrs[name]
        if len(values) != 4 or values[0] != 1 or values[3] != 1 or min(values) < 1:
            raise c.fail(f"{name} must be [1, rows, columns, 1], found {list(values)}")
    image, window = c.dims(0), c.dims(1)
    if isinstance(image[3], int) and isinstance(window[2], int) and image[3] != window[2]:
        raise c.fail(f"input and filter must have the same depth: {image[3]} vs {window[2]}")
    geometry = sliding_window(image[1:3], window[:2], c.attrs)
    check_fit(c, image[1:3], geometry)
    return (image[0], *geometry.output, c.equal(image[3], window[2]))


# Set through `Native.constants`, in the dtype of the elements.
LOWEST: Any = 0.0


def dilation_kernel(
    x, w, y, height, width, rows, columns, channels, kh, kw, sh, sw, dh, dw, top, left, begin, end
):
    """Output rows [begin, end) of all images: maxima over the window, channel by channel."""
    for row in range(begin, end):
        image = row // rows
        first = (row % rows) * sh - top
        for column in range(columns):
            at = (row * columns + column) * channels
            start = column * sw - left
            for c in range(channels):
                y[at + c] = LOWEST
            for i in range(kh):
                h = first + i * dh
                if h < 0 or h >= height:
                    continue
                for j in range(kw):
                    v = start + j * dw
                    if v < 0 or v >= width:
                        continue
                    source = ((image * height + h) * width + v) * channels
                    over = (i * kw + j) * channels
                    for c in range(channels):
                        total = x[source + c] + w[over + c]
                        if total > y[at + c]:
                            y[at + c] = total


def _lower(node: Node) -> Native:
    image, window = (v.dims for v in node.inputs)
    geometry = sliding_window(image[1:3], window[:2], node.attrs)
    rows, columns = geometry.output
    dtype = node.inputs[0].type.dtype
    (top, _), (left, _) = geometry.pad
    return Native(
        dilation_kernel,
        arguments=(
            *(image[1], image[2], rows, columns, image[3], window[0], window[1]),
            *geometry.strides,
            *geometry.dilations,
            *(top, left),
        ),
        parallel=product((image[0], rows)),
        constants={"LOWEST": carried(lowest(dtype), dtype)},
    )


def _reference(input: np.ndarray, filter: np.ndarray, **attrs: Any) -> np.ndarray:
    geometry = sliding_window(input.shape[1:3], filter.shape[:2], attrs)
    floor = lowest(dtypes.as_dtype(input.dtype))
    inside = met(np.ones(input.shape, bool), geometry)
    dims = (input.shape[0], *known(geometry.output), input.shape[3])
    result = np.full(dims, floor, input.dtype)
    with np.errstate(all="ignore"):
        for (tap, seen), (_, there) in zip(met(input, geometry), inside):
            total = seen + filter[tap]
            result = np.where(there & (total > result), total, result)
    return result


dilation2d = define(
    "dilation2d",
    "Dilation2D(input: T, filter: T; T: {f16, bf16, f32, f64, i32, i64},"
    ' strides: list(int) >= 4, rates: list(int) >= 4, padding: {"SAME", "VALID"}) -> output: T',
    infer=infer_dilation,
    lowering=_lower,
    reference=_reference,
    gradient=lambda b, node, dy: tuple(
        b.with_attrs_of(node, f"dilation2d_backprop_{part}", *node.inputs, dy)
        for part in ("input", "filter")
    ),
    examples=(
        'T[1,5,6,3] T[3,2,3]; strides=[1,1,1,1], rates=[1,1,1,1], padding="SAME"',
        'T[2,6,7,2] T[2,2,2]; strides=[1,2,1,1], rates=[1,2,3,1], padding="VALID"',
        'T[1,4,4,17] T[2,2,17]; strides=[1,2,2,1], rates=[1,1,1,1], padding="SAME"',
    ),
)
