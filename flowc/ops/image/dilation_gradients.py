"""Gradients of Dilation2D.

In: an image, a structuring function, the gradient of the result. Out: the gradient of the image, or
of the function. Invariant: the gradient of a place goes to the first element of the window that has
the largest sum there; where none does better than the dtype's smallest number, to the first of all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.image.dilation import infer_dilation
from flowc.ops.nn.convolution_reference import known
from flowc.ops.nn.convolution_window import sliding_window
from flowc.ops.reductions.folds import carried, lowest

if TYPE_CHECKING:
    from flowc.ir.computation import Node

    # A global that the compiler gives to kernels: the cast to the elements' dtype.
    elem: Any = None

_REAL = "{f16, bf16, f32, f64, i32, i64}"
# Set through `Native.constants`: the dtype's smallest number, and which gradient is wanted.
LOWEST: Any = 0.0
OF_WINDOW = False


def dilation_grad_kernel(
    x, w, dy, found, batch, height, width, rows, columns, channels, kh, kw, sh, sw, dh, dw, top,
    left, begin, end,
):  # fmt: skip
    """Channels [begin, end) of all images, since windows overlap."""
    size = kh * kw if OF_WINDOW else batch * height * width
    for i in range(size):
        for c in range(begin, end):
            found[i * channels + c] = elem(0)
    for row in range(batch * rows):
        image = row // rows
        first = (row % rows) * sh - top
        for column in range(columns):
            at = (row * columns + column) * channels
            start = column * sw - left
            for c in range(begin, end):
                best = LOWEST
                corner = (first if first > 0 else 0) * width + (start if start > 0 else 0)
                place = 0 if OF_WINDOW else image * height * width + corner
                for i in range(kh):
                    h = first + i * dh
                    if h < 0 or h >= height:
                        continue
                    for j in range(kw):
                        v = start + j * dw
                        if v < 0 or v >= width:
                            continue
                        source = (image * height + h) * width + v
                        total = x[source * channels + c] + w[(i * kw + j) * channels + c]
                        if total > best:
                            best = total
                            place = i * kw + j if OF_WINDOW else source
                found[place * channels + c] += dy[at + c]


def _infer(of_window: bool) -> Callable[[Inference], Dims]:
    def infer(c: Inference) -> Dims:
        c.match_dims(c.dims(2), infer_dilation(c), "out_backprop must have the result's shape")
        return c.dims(1 if of_window else 0)

    return infer


def _lower(of_window: bool) -> Callable[[Node], Native]:
    def lower(node: Node) -> Native:
        image, window = (v.dims for v in node.inputs[:2])
        geometry = sliding_window(image[1:3], window[:2], node.attrs)
        dtype = node.inputs[0].type.dtype
        (top, _), (left, _) = geometry.pad
        sizes: tuple[Dim, ...] = (*image[:3], *geometry.output, image[3], window[0], window[1])
        return Native(
            dilation_grad_kernel,
            arguments=(*sizes, *geometry.strides, *geometry.dilations, top, left),
            parallel=image[3],
            constants={"LOWEST": carried(lowest(dtype), dtype), "OF_WINDOW": of_window},
        )

    return lower


def _reference(of_window: bool) -> Callable[..., np.ndarray]:
    def reference(
        input: np.ndarray, filter: np.ndarray, dy: np.ndarray, **attrs: Any
    ) -> np.ndarray:
        geometry = sliding_window(input.shape[1:3], filter.shape[:2], attrs)
        (top, _), (left, _) = (known(pair) for pair in geometry.pad)
        (sh, sw), (dh, dw) = geometry.strides, geometry.dilations
        wide = np.float32 if input.dtype.itemsize < 4 and input.dtype.kind in "fV" else input.dtype
        found = np.zeros(filter.shape if of_window else input.shape, wide)
        height, width = input.shape[1:3]
        for n, row, column, c in np.ndindex(*dy.shape):
            first, start = row * sh - top, column * sw - left
            best: Any = lowest(dtypes.as_dtype(input.dtype))
            place = (0, 0) if of_window else (n, max(first, 0), max(start, 0))
            for i, j in np.ndindex(*filter.shape[:2]):
                h, v = first + i * dh, start + j * dw
                if not (0 <= h < height and 0 <= v < width):
                    continue
                with np.errstate(all="ignore"):
                    total = input[n, h, v, c] + filter[i, j, c]
                if total > best:
                    best, place = total, (i, j) if of_window else (n, h, v)
            found[(*place, c)] += dy[n, row, column, c]
        return found.astype(input.dtype)

    return reference


for _of_window, _name, _tf, _result in (
    (False, "dilation2d_backprop_input", "Dilation2DBackpropInput", "in_backprop"),
    (True, "dilation2d_backprop_filter", "Dilation2DBackpropFilter", "filter_backprop"),
):
    define(
        _name,
        f"{_tf}(input: T, filter: T, out_backprop: T; T: {_REAL}, strides: list(int) >= 4,"
        f' rates: list(int) >= 4, padding: {{"SAME", "VALID"}}) -> {_result}: T',
        infer=_infer(_of_window),
        lowering=_lower(_of_window),
        reference=_reference(_of_window),
        examples=(
            "f32[1,5,6,3] f32[3,2,3] f32[1,5,6,3]; strides=[1,1,1,1], rates=[1,1,1,1],"
            ' padding="SAME"',
            "T[2,6,7,2]~small T[2,2,2]~small T[2,2,4,2]~small; strides=[1,2,1,1],"
            ' rates=[1,2,3,1], padding="VALID"',
            "f64[1,4,4,17] f64[2,2,17] f64[1,2,2,17]; strides=[1,2,2,1], rates=[1,1,1,1],"
            ' padding="SAME"',
        ),
    )
