"""`tensordot` of tensors or axes that only a run knows.

In: tensors of any rank, axes as numbers or a tensor. Out: a matrix product of both, reshaped.
Invariant: what is summed over stands last in the left matrix and first in the right one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create, output


def open_tensordot(left: Tensor, right: Tensor, axes: Any, name: str) -> Tensor:
    """The sum of products over `axes`, as `tensordot` takes them. Raises `ValueError` for axes that
    are no pair."""
    over_left, over_right = _pair_of_axes(left, axes)
    rows, kept_left = _matrix(left, over_left, summed_last=True)
    columns, kept_right = _matrix(right, over_right, summed_last=False)
    product = output("MatMul", rows, columns)
    sizes = output("ConcatV2", [kept_left, kept_right], 0)
    return output("Reshape", product, sizes, name=name)


def _pair_of_axes(left: Tensor, axes: Any) -> tuple[Tensor, Tensor]:
    if isinstance(axes, int | np.integer):
        rank = output("Rank", left)
        return output("Range", rank - int(axes), rank, 1), output("Range", 0, int(axes), 1)
    if not isinstance(axes, Tensor) and len(axes) != 2:
        raise ValueError("`axes` must be an integer or have length 2.")
    pair = axes[0], axes[1]
    first, second = (as_tensor(part, dtypes.i32, "axes") for part in pair)
    return output("Reshape", first, [-1]), output("Reshape", second, [-1])


def _matrix(tensor: Tensor, axes: Tensor, summed_last: bool) -> tuple[Tensor, Tensor]:
    """(the tensor with the axes that are summed over as one and all others as one, the sizes of
    these)"""
    rank, sizes = output("Rank", tensor), output("Shape", tensor)
    axes = output("FloorMod", axes, rank)
    others = create("ListDiff", [output("Range", 0, rank, 1), axes]).outputs[0]
    kept = output("GatherV2", sizes, others, 0)
    summed = output("GatherV2", sizes, axes, 0)
    parts = [others, axes] if summed_last else [axes, others]
    counts = [output("Prod", part, 0) for part in (kept, summed)]
    turned = output("Transpose", tensor, output("ConcatV2", parts, 0))
    shape = output("Pack", counts if summed_last else counts[::-1])
    return output("Reshape", turned, shape), kept
