"""Weights into the layouts that contraction kernels read, done once when compiling.

In: arrays in TensorFlow's layouts. Out: contiguous arrays; the caller aligns them to 64 bytes.

A packed matrix is [panels, k, columns]: panel p holds columns p * columns ... of B for every k, the
last panel padded with zeros. A block of the inner dimension is a contiguous piece of each panel, so
one packing serves any blocking.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.codegen.cpu.tile_shape import TileShape

Array = np.ndarray[Any, Any]


def pack_gemm_b(b: Array, shape: TileShape, columns: int = 0, *, out: Array | None = None) -> Array:
    """[..., k, n] -> [..., panels, k, columns], by default as many columns as tiles have; in `out`,
    which is zeros of that shape, where it is given."""
    *batch, k, n = b.shape
    columns = columns or shape.columns
    panels = -(-n // columns)
    packed = np.zeros((*batch, panels, k, columns), shape.dtype.numpy) if out is None else out
    by_row = np.moveaxis(packed, -3, -2)  # [..., k, panels, columns], the same memory
    whole = n // columns
    by_row[..., :whole, :] = b[..., : whole * columns].reshape(*batch, k, whole, columns)
    by_row[..., whole:, : n % columns] = b[..., None, whole * columns :]
    return packed


def pack_conv_weights(weights: Array, shape: TileShape, *, groups: int = 1) -> Array:
    """[*kernel, channels per group, out channels] -> [groups, panels, taps * channels, columns].

    Output channels of one group are contiguous, as TensorFlow has them.
    """
    *kernel, channels, out = weights.shape
    taps = int(np.prod(kernel, dtype=np.int64))
    by_group = weights.reshape(taps * channels, groups, out // groups).transpose(1, 0, 2)
    return pack_gemm_b(by_group, shape)
