"""Tensors with some of their elements replaced, added to or bounded: `tensor_scatter_*`, and rows
by places that each batch has of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.arrays.selection import coordinates, gather
from flowc.api.arrays.shaping import shape, stack
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.api.variables.variable_ops import scatter_nd_update
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


def _scattered(op_type: str, function_name: str, what: str) -> Callable[..., Tensor]:
    def function(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
        return output(op_type, tensor, indices, updates, name=name)

    doc = f"`tensor` with the slices at `indices` [..., depth] {what} `updates`."
    return named(function, function_name, doc)


tensor_scatter_nd_update = _scattered(
    "TensorScatterUpdate", "tensor_scatter_nd_update", "replaced by"
)
tensor_scatter_nd_add = _scattered("TensorScatterAdd", "tensor_scatter_nd_add", "added to")
tensor_scatter_nd_sub = _scattered("TensorScatterSub", "tensor_scatter_nd_sub", "less")
tensor_scatter_nd_max = _scattered("TensorScatterMax", "tensor_scatter_nd_max", "no less than")
tensor_scatter_nd_min = _scattered("TensorScatterMin", "tensor_scatter_nd_min", "no more than")


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Slices of `params` at `indices`, each batch by its own: all axes of `indices` but the last
    are batches. Raises `ValueError` where `indices` is a scalar or of unknown rank."""
    with name_scope(name, "BatchGather", [params, indices]):
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
    last are batches."""
    with name_scope(name, "batch_scatter_update", [ref, indices, updates]) as scope:
        places = as_tensor(indices, name="indices")
        sizes, rank = shape(places), places.shape.ndims
        if rank is None:
            raise ValueError("batch_scatter_update needs indices of known rank")
        batches = coordinates(sizes, rank, rank - 1, places.dtype)
        where = stack([*batches, places], axis=-1)
        return scatter_nd_update(ref, where, updates, use_locking, scope)
