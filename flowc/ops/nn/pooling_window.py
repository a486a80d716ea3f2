"""The geometry of pooling: windows, their checks, the arguments of the kernels.

In: sizes and attrs as nodes have them. Out: a `SlidingWindow` over the spatial axes alone.
Invariant: padding counts as TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.types import Dims
from flowc.ops.nn.convolution_window import SlidingWindow, sliding_window


def pooling_window(dims: Sequence[Dim], attrs: Any) -> SlidingWindow:
    """The window of a node over an image of `dims`."""
    layout = layout_of(attrs.get("data_format", "NHWC"))
    return sliding_window(layout.logical(dims)[1:-1], layout.logical(attrs["ksize"])[1:-1], attrs)


def check_window(c: Inference, ksize: Sequence[int], strides: Sequence[int], rank: int) -> None:
    for name, values in (("window ksize", ksize), ("window stride", strides)):
        if len(values) != rank:
            raise c.fail(f"Sliding {name} field must specify {rank} dimensions")
    if min(ksize) <= 0:
        shown = ",".join(map(str, ksize))
        raise c.fail(
            f"Sliding window ksize must be positive. The specified or inferred ksize is: {shown}"
        )
    if min(strides) <= 0:
        raise c.fail(f"Stride must be > 0, but got {min(strides)}")
    if ksize[0] != 1 or strides[0] != 1:
        raise c.unimplemented("Pooling is not yet supported on the batch dimension.")


def check_output(c: Inference, image: Sequence[Dim], window: SlidingWindow) -> None:
    """Raises where a window does not fit. TensorFlow refuses each that is larger than its image
    where a program builds the node; the run lets those give no elements that lack less than a
    stride."""
    named = (("Top padding", "Bottom padding"), ("Left padding", "Right padding"))
    for size, k, stride, pads, count, sides in zip(
        image,
        window.sizes,
        window.strides,
        window.pad,
        window.output,
        named if len(image) == 2 else [("Padding", "Padding")] * len(image),
    ):
        padded = size + sum(pads)
        checked = c.builds and c.attrs["padding"] != "SAME"
        if checked and isinstance(padded, int) and isinstance(k, int) and padded < k:
            raise c.fail(f"Negative dimension size caused by subtracting {k} from {padded}")
        if isinstance(count, int) and count < 0:
            raise c.fail(
                f"Computed output size would be negative: {count} [input_size: {size}, "
                f"effective_filter_size: {k}, stride: {stride}]"
            )
        for pad, side in zip(pads, sides):
            if isinstance(k, int) and isinstance(pad, int) and pad >= k > 1:
                raise c.fail(f"{side} {pad} needs to be smaller than the window size {k}")


def volume_of(values: Sequence[Dim], fill: Dim) -> tuple[Dim, ...]:
    """Three spatial entries: images are volumes of depth 1."""
    return (fill,) * (3 - len(values)) + tuple(values)


def pool_arguments(dims: Dims, window: SlidingWindow) -> tuple[Dim, ...]:
    """The int64 arguments that the pooling kernels share."""
    return (
        *volume_of(dims[1:-1], 1),
        dims[-1],
        *volume_of(window.output, 1),
        *volume_of(window.sizes, 1),
        *volume_of(window.strides, 1),
        *volume_of([before for before, _ in window.pad], 0),
    )
