"""Sliding windows and convolutions in NumPy, channels last, over any number of spatial axes.

In: an input [N, *spatial, C], weights [*window, C/groups, O] and the geometry. Out: the result in
the input's dtype. Invariant: one matrix product a window element; halves are summed in f32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from flowc.ir.dims import Dim
from flowc.ops.math.elementwise import HALVES
from flowc.ops.nn.convolution_window import SlidingWindow

_NONE = slice(0, 0)


def known(sizes: Sequence[Dim]) -> list[int]:
    """Sizes as ints; arrays have no symbolic ones."""
    found = [n for n in sizes if isinstance(n, int)]
    assert len(found) == len(sizes)
    return found


Slices = tuple[slice, ...]


def meetings(
    window: SlidingWindow, sizes: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], Slices, Slices]]:
    """For each window element: the outputs for which it meets an image of spatial `sizes`, and the
    elements of the image that it meets for them. Padding is never made: it may be far larger than
    the image."""
    output = known(window.output)
    for tap in np.ndindex(*known(window.sizes)):
        outputs, elements = [slice(None)], [slice(None)]
        for size, t, d, s, n, pair in zip(
            sizes, tap, window.dilations, window.strides, output, window.pad
        ):
            start = t * d - known(pair)[0]  # the element for the first output
            first = min(max(-(start // s), 0), n)
            last = max(min((size - 1 - start) // s + 1, n), first)
            outputs.append(slice(first, last))
            at = start + first * s
            elements.append(slice(at, at + (last - first) * s, s) if last > first else _NONE)
        yield tap, tuple(outputs), tuple(elements)


def met(
    x: np.ndarray, window: SlidingWindow, outside: Any = 0
) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    """Each window element, and what it meets of an image: one element an output."""
    for tap, outputs, elements in meetings(window, x.shape[1:-1]):
        found = np.full((x.shape[0], *known(window.output), x.shape[-1]), outside, x.dtype)
        found[outputs] = x[elements]
        yield tap, found


def parts_met(x: np.ndarray, window: SlidingWindow, outside: Any = 0) -> Iterator[np.ndarray]:
    """The pixels that each element of an undilated window reads, one for each output, of those
    elements that reach the image at all: a window, and its padding, may be far larger than the
    image."""
    output = known(window.output)
    pads, elements = [(0, 0)], []
    for size, k, stride, pair, n in zip(
        x.shape[1:-1], known(window.sizes), window.strides, window.pad, output
    ):
        before, _ = known(pair)
        reach = max(n - 1, 0) * stride
        first = max(before - reach, 0)
        last = max(min(k, before + size), first + 1)
        lead = min(before, reach)
        pads.append((lead, max(reach + last - before - size, 0)))
        elements.append(range(first - before + lead, last - before + lead))
    padded = np.pad(x, [*pads, (0, 0)], constant_values=outside)
    for starts in product(*elements):
        spans = (slice(a, a + s * n, s) for a, s, n in zip(starts, window.strides, output))
        yield padded[(slice(None), *spans)]


def _grouped(x: np.ndarray, groups: int) -> np.ndarray:
    """[..., groups*c] -> [groups, rows, c]."""
    rows = int(np.prod(x.shape[:-1]))
    return x.reshape(rows, groups, x.shape[-1] // groups).transpose(1, 0, 2)


def convolve(x: np.ndarray, w: np.ndarray, window: SlidingWindow) -> np.ndarray:
    """The forward convolution; groups follow from the channels of x and w."""
    groups = x.shape[-1] // w.shape[-2] if w.shape[-2] else 1
    wide = np.float32 if x.dtype in HALVES else x.dtype
    output, outputs = known(window.output), w.shape[-1]
    total = np.zeros((groups, x.shape[0] * int(np.prod(output)), outputs // groups), wide)
    weights = w.astype(wide).reshape(*w.shape[:-1], groups, outputs // groups)
    if total.size:
        for tap, part in met(x.astype(wide), window):
            total += _grouped(part, groups) @ weights[tap].transpose(1, 0, 2)
    return total.transpose(1, 0, 2).reshape(x.shape[0], *output, outputs).astype(x.dtype)


def convolve_transposed(
    dy: np.ndarray, w: np.ndarray, window: SlidingWindow, sizes: Sequence[int], groups: int
) -> np.ndarray:
    """The gradient of `convolve` with respect to its input of spatial `sizes`, given dy."""
    wide = np.float32 if dy.dtype in HALVES else dy.dtype
    channels, outputs = w.shape[-2], w.shape[-1]
    total = np.zeros((dy.shape[0], *sizes, groups * channels), wide)
    weights = w.astype(wide).reshape(*w.shape[:-1], groups, outputs // groups)
    gradients = _grouped(dy.astype(wide), groups)
    if dy.size:
        for tap, met_outputs, elements in meetings(window, sizes):
            part = gradients @ weights[tap].transpose(1, 2, 0)
            part = part.transpose(1, 0, 2).reshape(*dy.shape[:-1], groups * channels)
            total[elements] += part[met_outputs]
    return total.astype(dy.dtype)
