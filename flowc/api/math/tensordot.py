"""`tensordot`: sums of products over axes, as a product of matrices.

In: tensors, axes as numbers or a tensor. Out: the product of both as matrices, reshaped. Invariant:
what is summed over stands last in the left matrix and first in the right one; what is known of
ranks and sizes is constant. The nodes are TensorFlow's.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.selection import gather, where
from flowc.api.arrays.shaping import concat, rank, reshape, shape, stack, transpose
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import matmul, reduce_prod
from flowc.dataclass import dataclass
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import create


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over axes of `a` and `b`: the last of `a` and first of `b` for an int,
    else a pair of lists. Raises `ValueError` where the axes or ranks do not fit."""
    with name_scope(name, "Tensordot", [a, b, axes]) as scope:
        left, right = as_tensor(a, name="a"), as_tensor(b, name="b")
        over_left, over_right = _pair_of_axes(left, axes)
        rows = _side(left, over_left, summed_last=True)
        columns = _side(right, over_right, summed_last=False)
        product = matmul(rows.matrix, columns.matrix)
        if isinstance(rows.kept, list) and isinstance(columns.kept, list):
            sizes = rows.kept + columns.kept
            if product.shape.is_fully_defined() and product.shape.as_list() == sizes:
                return product
            return reshape(product, as_tensor(sizes, dtypes.i32, "shape"), name=scope)
        kept = [as_tensor(side.kept, dtypes.i32) for side in (rows, columns)]
        found = reshape(product, concat(kept, 0), name=scope)
        if rows.known is not None and columns.known is not None:
            found.set_shape(TensorShape(rows.known + columns.known))
        return found


def _pair_of_axes(left: Tensor, axes: Any) -> tuple[Any, Any]:
    """The axes of each tensor: lists of numbers, or tensors."""
    count = left.shape.ndims
    if isinstance(axes, int | np.integer):
        summed = int(axes)
        if summed < 0:
            raise ValueError(f"`axes` must be at least 0. Received: {summed}.")
        if count is None:
            whole = rank(left)
            return range_of(whole - summed, whole), range_of(summed)
        if summed > count:
            raise ValueError(
                "`axes` must not be larger than the number of dimensions of tensor a. Received "
                f"{summed}, vs tensor dimensions {count}."
            )
        return list(range(count - summed, count)), list(range(summed))
    if not isinstance(axes, Tensor) and len(axes) != 2:
        raise ValueError("`axes` must be an integer or have length 2.")
    if isinstance(axes, Tensor) or any(isinstance(part, Tensor) for part in axes):
        return axes[0], axes[1]
    first, second = ([int(axis) for axis in np.ravel(part)] for part in axes)
    if len(first) != len(second):
        raise ValueError(
            f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}."
        )
    return first, second


@dataclass(frozen=True, eq=False)
class _Side:
    """A tensor as a matrix, and the sizes of the axes that are kept: as numbers or a tensor, and as
    far as they are known."""

    matrix: Tensor
    kept: list[int] | Tensor
    known: list[int | None] | None


def _side(tensor: Tensor, axes: Any, summed_last: bool) -> _Side:
    if isinstance(axes, Tensor) or tensor.shape.ndims is None:
        return _of_open_rank(tensor, axes, summed_last)
    sizes = tensor.shape.as_list()
    for axis in axes:
        if not -len(sizes) <= axis < len(sizes):
            raise ValueError(f"`axes` has {axis}, and {tensor.name} has {len(sizes)} dimensions.")
    axes = [axis % len(sizes) for axis in axes]
    free = [axis for axis in range(len(sizes)) if axis not in axes]
    known = [sizes[axis] for axis in free]
    whole = [size for size in sizes if size is not None]
    if len(whole) < len(sizes):
        parts = as_tensor(axes, dtypes.i32, "axes"), as_tensor(free, dtypes.i32, "free")
        return _side_of_open_sizes(tensor, shape(tensor), *parts, known, summed_last)
    order = [*free, *axes] if summed_last else [*axes, *free]
    matrices = tensor if order == sorted(order) else transpose(tensor, order)
    kept = [whole[axis] for axis in free]
    matrix = [math.prod(kept), math.prod(whole[axis] for axis in axes)]
    matrix = matrix if summed_last else matrix[::-1]
    if matrices.shape.as_list() != matrix:
        matrices = reshape(matrices, matrix)
    return _Side(matrices, kept, known)


def _of_open_rank(tensor: Tensor, axes: Any, summed_last: bool) -> _Side:
    sizes, count = shape(tensor), rank(tensor)
    axes = as_tensor(axes, dtypes.i32, "axes")
    axes = where(axes >= 0, axes, axes + count)
    free = create("ListDiff", [range_of(count), axes]).outputs[0]
    return _side_of_open_sizes(tensor, sizes, axes, free, None, summed_last)


def _side_of_open_sizes(
    tensor: Tensor,
    sizes: Tensor,
    axes: Tensor,
    free: Tensor,
    known: list[int | None] | None,
    summed_last: bool,
) -> _Side:
    kept, summed = gather(sizes, free), gather(sizes, axes)
    counts = [reduce_prod(kept), reduce_prod(summed)]
    order = concat([free, axes] if summed_last else [axes, free], 0)
    matrix = stack(counts if summed_last else counts[::-1])
    return _Side(reshape(transpose(tensor, order), matrix), kept, known)
