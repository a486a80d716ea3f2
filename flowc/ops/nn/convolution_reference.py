"""Convolutions in NumPy, channels last, over any number of spatial axes.

In: an input [N, *spatial, C], weights [*window, C/groups, O] and the geometry. Out: the result in
the input's dtype. Invariant: one matrix product a window element; halves are summed in f32.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from flowc.ir.dims import Dim
from flowc.ops.math.elementwise import HALVES
from flowc.ops.nn.convolution_window import ConvolutionWindow

Pad = Sequence[tuple[Dim, Dim]]


def known(sizes: Sequence[Dim]) -> list[int]:
    """Sizes as ints; arrays have no symbolic ones."""
    found = [n for n in sizes if isinstance(n, int)]
    assert len(found) == len(sizes)
    return found


def known_pairs(pad: Pad) -> list[tuple[int, int]]:
    """The zeros before and after each spatial axis as ints."""
    return [(low, high) for low, high in map(known, pad)]


def taps(
    window: Sequence[int], strides: Sequence[int], dilations: Sequence[int], output: Sequence[int]
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
    """Each window element, and the padded input's elements that it meets."""
    for tap in np.ndindex(*window):
        spans = tuple(
            slice(t * d, t * d + s * (n - 1) + 1, s)
            for t, d, s, n in zip(tap, dilations, strides, output)
        )
        yield tap, (slice(None), *spans)


def _grouped(x: np.ndarray, groups: int) -> np.ndarray:
    """[..., groups*c] -> [groups, rows, c]."""
    rows = int(np.prod(x.shape[:-1]))
    return x.reshape(rows, groups, x.shape[-1] // groups).transpose(1, 0, 2)


def convolve(x: np.ndarray, w: np.ndarray, geometry: ConvolutionWindow) -> np.ndarray:
    """The forward convolution; groups follow from the channels of x and w."""
    groups = x.shape[-1] // w.shape[-2] if w.shape[-2] else 1
    wide = np.float32 if x.dtype in HALVES else x.dtype
    padded = np.pad(x.astype(wide), [(0, 0), *known_pairs(geometry.pad), (0, 0)])
    output = known(geometry.output)
    outputs = w.shape[-1]
    total = np.zeros((groups, x.shape[0] * int(np.prod(output)), outputs // groups), wide)
    weights = w.astype(wide).reshape(*w.shape[:-1], groups, outputs // groups)
    if total.size:
        for tap, span in taps(w.shape[:-2], geometry.strides, geometry.dilations, output):
            total += _grouped(padded[span], groups) @ weights[tap].transpose(1, 0, 2)
    return total.transpose(1, 0, 2).reshape(x.shape[0], *output, outputs).astype(x.dtype)


def convolve_transposed(
    dy: np.ndarray,
    w: np.ndarray,
    strides: Sequence[int],
    dilations: Sequence[int],
    pad: Pad,
    sizes: Sequence[int],
    groups: int,
) -> np.ndarray:
    """The gradient of `convolve` with respect to its input of spatial `sizes`, given dy."""
    wide = np.float32 if dy.dtype in HALVES else dy.dtype
    channels, outputs = w.shape[-2], w.shape[-1]
    pairs = known_pairs(pad)
    padded_sizes = [n + a + b for n, (a, b) in zip(sizes, pairs)]
    total = np.zeros((dy.shape[0], *padded_sizes, groups * channels), wide)
    weights = w.astype(wide).reshape(*w.shape[:-1], groups, outputs // groups)
    gradients = _grouped(dy.astype(wide), groups)
    if dy.size:
        for tap, span in taps(w.shape[:-2], strides, dilations, dy.shape[1:-1]):
            part = gradients @ weights[tap].transpose(1, 2, 0)
            total[span] += part.transpose(1, 0, 2).reshape(*dy.shape[:-1], groups * channels)
    inside = tuple(slice(a, a + n) for n, (a, _) in zip(sizes, pairs))
    return np.ascontiguousarray(total[(slice(None), *inside)]).astype(dy.dtype)
