"""Rows of tensors and variables by places that each batch has of its own."""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.selection import batched_places, gather
from flowc.api.framework.scopes import name_scope
from flowc.api.variables.variable_ops import scatter_nd_update
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Slices of `params` at `indices`, each batch by its own: all axes of `indices` but the last
    are batches. Raises `ValueError` where `indices` is a scalar or of unknown rank."""
    with name_scope(name, "BatchGather", [params, indices]):
        if any(hasattr(x, "with_flat_values") for x in (params, indices)):
            return gather(params, indices, axis=None, batch_dims=-1)
        places = as_tensor(indices, name="indices")
        values = as_tensor(params, name="params")
        rank = places.shape.ndims
        if rank is None:
            raise ValueError("batch_gather does not allow indices with unknown shape.")
        if rank == 0:
            raise ValueError("batch_gather takes indices of rank 1 or more, found a scalar")
        return gather(values, places, axis=rank - 1, batch_dims=rank - 1)


def batch_scatter_update(
    ref: Any, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Any:
    """Replaces slices of a variable, each batch by places of its own: all axes of `indices` but the
    last are batches. Raises `TypeError` for other dtypes, `ValueError` for shapes that do not fit.
    """
    with name_scope(name, "batch_scatter_update", [ref, indices, updates]) as scope:
        return scatter_nd_update(ref, batched_places(indices), updates, use_locking, scope)
