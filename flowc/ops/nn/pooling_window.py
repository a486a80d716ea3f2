"""The geometry of pooling: windows, padding, output sizes, and what references read of them.

In: sizes and attrs as nodes have them. Out: a `Window` over the spatial axes alone, the checked
output dims, the arguments of the kernels. Invariant: padding counts as TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as all_combinations
from typing import Any

import numpy as np

from flowc.ir.dims import Dim
from flowc.ir.layout import layout_of
from flowc.ir.op import Inference
from flowc.ir.types import Dims
from flowc.ops.nn.convolution_window import slid
from flowc.ops.nn.through_channels_last import explicit_pairs, last_attrs

Pads = tuple[tuple[Dim, Dim], ...]


@dataclass(frozen=True, slots=True)
class Window:
    """A pooling window over the spatial axes alone: sizes, strides, padding and output sizes."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    pads: Pads
    output: Dims


def window_of(
    dims: Sequence[Dim],
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[int, int]] = (),
) -> Window:
    """Output sizes and padding as TensorFlow counts them, for the spatial sizes `dims`."""
    pads, output = slid(dims, sizes, strides, padding, explicit)
    return Window(tuple(sizes), tuple(strides), pads, output)


def window_of_node(dims: Sequence[Dim], attrs: Any) -> Window:
    layout = layout_of(attrs.get("data_format", "NHWC"))
    values = (dims, attrs["ksize"], attrs["strides"])
    sizes, window, strides = (layout.logical(v)[1:-1] for v in values)
    pairs = explicit_pairs(attrs)
    pads = layout.logical(pairs)[1:-1] if pairs else ()
    return window_of(sizes, window, strides, attrs["padding"], pads)


def check_window(c: Inference, ksize: Sequence[int], strides: Sequence[int], rank: int) -> None:
    for name, values in (("window ksize", ksize), ("window stride", strides)):
        if len(values) != rank:
            raise c.fail(f"Sliding {name} field must specify {rank} dimensions")
        if min(values) <= 0:
            raise c.fail(f"Sliding {name} must be positive, found {list(values)}")
    if ksize[0] != 1 or strides[0] != 1:
        raise c.fail("Pooling is not yet supported on the batch dimension.")


def checked_output(c: Inference, dims: Sequence[Dim], sizes: Sequence[int], window: Window) -> Dims:
    for size, k, stride, (before, after), count in zip(
        dims, sizes, window.strides, window.pads, window.output
    ):
        if isinstance(count, int) and count < 0:
            raise c.fail(
                f"Computed output size would be negative: {count} [input_size: {size}, "
                f"effective_filter_size: {k}, stride: {stride}]"
            )
        if any(isinstance(p, int) and p >= k > 1 for p in (before, after)):
            raise c.fail(f"padding {(before, after)} needs to be smaller than the window size {k}")
    return window.output


def volume_of(values: Sequence[Dim], fill: Dim) -> tuple[Dim, ...]:
    """Three spatial entries: images are volumes of depth 1."""
    return (fill,) * (3 - len(values)) + tuple(values)


def pool_arguments(dims: Dims, window: Window) -> tuple[Dim, ...]:
    """The int64 arguments that the pooling kernels share."""
    return (
        *volume_of(dims[1:-1], 1),
        dims[-1],
        *volume_of(window.output, 1),
        *volume_of(window.sizes, 1),
        *volume_of(window.strides, 1),
        *volume_of([before for before, _ in window.pads], 0),
    )


def to_volume(x: np.ndarray, attrs: dict[str, Any]) -> tuple[np.ndarray, Window]:
    """An array as [batch, depth, height, width, channels] with the window over three axes."""
    x, attrs = layout_of(attrs["data_format"]).unpacked(x), last_attrs(attrs)
    window = window_of_node(x.shape, attrs)
    fill = 3 - len(window.sizes)
    pads: Any = ((0, 0),) * fill + window.pads
    volume = Window(
        (1,) * fill + window.sizes, (1,) * fill + window.strides, pads, (1,) * fill + window.output
    )
    sizes: Any = volume_of(x.shape[1:-1], 1)
    return x.reshape(x.shape[0], *sizes, x.shape[-1]), volume


def taps_of(x: np.ndarray, window: Window, outside: Any) -> list[np.ndarray]:
    """For each tap of the window that sees the image, row by row, the elements that it sees: one an
    output."""
    out: Any = window.output
    pads, taps = [(0, 0)], []
    for size, k, stride, (before, _), n in zip(
        x.shape[1:-1], window.sizes, window.strides, window.pads, out
    ):
        assert isinstance(before, int)
        reach = max(n - 1, 0) * stride
        first = max(before - reach, 0)
        last = max(min(k, before + size), first + 1)
        lead = min(before, reach)
        pads.append((lead, max(reach + last - before - size, 0)))
        taps.append(range(first - before + lead, last - before + lead))
    padded = np.pad(x, [*pads, (0, 0)], constant_values=outside)
    found = []
    for tap in all_combinations(*taps):
        spans = [slice(t, t + s * (n - 1) + 1, s) for t, s, n in zip(tap, window.strides, out)]
        empty = any(n <= 0 for n in out)
        found.append(padded[:, :0, :0, :0] if empty else padded[:, spans[0], spans[1], spans[2]])
    return found


def from_volume(
    y: np.ndarray, x: np.ndarray, window: Window, data_format: str, rank: int
) -> np.ndarray:
    output: Any = window.output
    y = y.reshape(x.shape[0], *output[5 - rank :], x.shape[-1])
    return layout_of(data_format).packed(y)
