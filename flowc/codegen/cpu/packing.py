"""Right operands in the order in which contraction kernels read them, made once when compiling.

In: arrays in TensorFlow's layouts. Out: what is written when the program's weights are.

A packed matrix is [panels, k, columns]: panel p holds columns p * columns ... of B for every k, the
last panel padded with zeros. A block of the inner dimension is a contiguous piece of each panel, so
one packing serves any blocking.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.codegen.cpu.tile_shape import TileShape
from flowc.codegen.packed import Packed

Array = np.ndarray[Any, Any]


def pack_gemm_b(b: Array, shape: TileShape, columns: int = 0) -> Packed:
    """[..., k, n] -> [..., panels, k, columns], by default as many columns as tiles have."""
    *batch, k, n = b.shape
    columns = columns or shape.columns
    whole = n // columns

    def fill(packed: Array) -> None:
        by_row = np.moveaxis(packed, -3, -2)  # [..., k, panels, columns], the same memory
        by_row[..., :whole, :] = b[..., : whole * columns].reshape(*batch, k, whole, columns)
        by_row[..., whole:, : n % columns] = b[..., None, whole * columns :]

    panels = -(-n // columns)
    return Packed((*batch, panels, k, columns), np.dtype(shape.dtype.numpy), fill)
