"""Sorted elements, repeated ones, and gathers of batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.selection import gather, top_k
from flowc.api.arrays.shaping import shape, transpose
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import invert, negative
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def sort(
    values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The elements in order along `axis`. Raises `ValueError` for another direction."""
    with name_scope(name, "sort"):
        return _ordered(values, axis, direction, 0)


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Tensor:
    """The places of the elements in order along `axis`; equal ones keep theirs. Raises `ValueError`
    for another direction."""
    with name_scope(name, "argsort"):
        return _ordered(values, axis, direction, 1)


def _ordered(values: Any, axis: int, direction: str, which: int) -> Tensor:
    """The sorted elements (`which` 0), or their places (1)."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"Argument `direction` should be one of 'ASCENDING' or 'DESCENDING'. "
                         f"Received: direction={direction}")  # fmt: skip
    x = as_tensor(values)
    rank = x.shape.ndims
    order = None
    if axis != -1 and rank is not None and axis % rank != rank - 1:
        order = np.arange(rank)
        order[[axis, -1]] = order[[-1, axis]]
        x = transpose(x, order)
    found = _largest_first(x, which) if direction == "DESCENDING" else _least_first(x, which)
    return found if order is None else transpose(found, order)


def _largest_first(x: Tensor, which: int) -> Tensor:
    return top_k(x, shape(x)[-1])[which]


def _least_first(x: Tensor, which: int) -> Tensor:
    """What is least is largest of the opposites, which integers have as their complement."""
    kind = dtypes.as_dtype(x.dtype)
    if kind.is_integer:
        found = top_k(invert(x), shape(x)[-1])[which]
        return found if which else invert(found)
    found = top_k(negative(x), shape(x)[-1])[which]
    return found if which else negative(found)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """`gather` in each batch: along the last axis of the indices."""
    with name_scope(name, "BatchGather", [params, indices]) as scope:
        rows = as_tensor(indices)
        if rows.shape.ndims is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        return gather(params, rows, batch_dims=rows.shape.ndims - 1, name=scope)
