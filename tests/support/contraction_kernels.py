"""Tile shapes, random operands and references for tests of the kernels of contractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.codegen.cpu.tiles import TileShape, tile_shape

WIDTHS = {512: (32, True), 256: (16, True), 128: (16, False)}  # bits: registers, fused multiply-add


def shape_for(dtype: dtypes.DType, bits: int) -> TileShape:
    registers, fma = WIDTHS[bits]
    return tile_shape(dtype, bits, registers=registers, fma=fma)


def values(shape: Sequence[int], dtype: dtypes.DType, seed: int = 0) -> np.ndarray:
    draw = np.random.default_rng([seed, *shape])
    if dtype.is_integer:
        return draw.integers(-99, 99, shape).astype(dtype.numpy)
    return draw.uniform(-1, 1, shape).astype(dtype.numpy)


def assert_close(found: np.ndarray, expected: np.ndarray, terms: int) -> None:
    """Within the rounding of `terms` products of numbers of size 1; integers exactly."""
    if found.dtype.kind == "i":
        np.testing.assert_array_equal(found, expected)
    else:
        bound = (32 + terms) * np.finfo(found.dtype).eps
        np.testing.assert_allclose(found, expected, rtol=0, atol=bound)


Window = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]  # strides, dilations, pads


def spatial(array: np.ndarray, window: Window, kernel: Sequence[int], back: bool) -> list[int]:
    """Output sizes along the spatial axes."""
    sizes = []
    for size, taps, stride, dilation, pad in zip(array.shape[1:-1], kernel, *window):
        reach = (taps - 1) * dilation + 1
        if back:
            sizes.append((size - 1) * stride + reach - 2 * pad)
        else:
            sizes.append((size + 2 * pad - reach) // stride + 1)
    return sizes


def taps_of(small: Sequence[int], big: Sequence[int], kernel: Sequence[int], window: Window) -> Any:
    """(tap, index into the small map, index into the big map) where a tap joins them."""
    for tap in np.ndindex(*kernel):
        places = []
        for axis, (stride, dilation, pad) in enumerate(zip(*window)):
            at = np.arange(small[axis]) * stride - pad + tap[axis] * dilation
            keep = (at >= 0) & (at < big[axis])
            places.append((np.arange(small[axis])[keep], at[keep]))
        yield tap, np.ix_(*(p[0] for p in places)), np.ix_(*(p[1] for p in places))


def reference_conv(x: np.ndarray, w: np.ndarray, window: Window, groups: int) -> np.ndarray:
    kernel = w.shape[:-2]
    out = spatial(x, window, kernel, back=False)
    y = np.zeros((len(x), *out, w.shape[-1]))
    channels, n = w.shape[-2], w.shape[-1] // groups
    for tap, small, big in taps_of(out, x.shape[1:-1], kernel, window):
        for g in range(groups):
            part = x[(slice(None), *big)][..., g * channels : (g + 1) * channels]
            y[(slice(None), *small, slice(g * n, (g + 1) * n))] += (
                part.astype(np.float64) @ w[tap][:, g * n : (g + 1) * n]
            )
    return y


def axis_sizes(**by_name: Sequence[int]) -> dict[str, int]:
    return {
        f"{name}_{axis}": int(size)
        for name, sizes in by_name.items()
        for axis, size in zip("dhw"[-len(sizes) :], sizes)
    }
