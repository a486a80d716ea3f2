"""The methods of a variable that read and change some of its rows.

In: `IndexedSlices`, or indices and updates. Out: what stands for the variable after the change.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc.api.arrays.selection import batched_places
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.graph import Tensor
from flowc.graph.building.creation import output
from flowc.graph.indexed_slices import IndexedSlices
from flowc.graph.tensor import Referable


class NoIndexedSlices(TypeError, ValueError):
    """A change of rows that is given no `IndexedSlices`."""


def _by_slices(kind: str) -> Callable[..., Any]:
    def method(
        self: Any, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        if not isinstance(sparse_delta, IndexedSlices):
            raise NoIndexedSlices(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        return self.scatter(kind, sparse_delta.indices, sparse_delta.values, use_locking, name)

    doc = (
        f"TensorFlow's `Scatter{kind}` by the rows of an `IndexedSlices`; returns what stands for "
        "the variable afterwards. Raises an error that is a `TypeError` and a `ValueError` for "
        "anything else."
    )
    return named(method, f"scatter_{kind.lower()}", doc)


def _by_indices(kind: str) -> Callable[..., Any]:
    def method(self: Any, indices: Any, updates: Any, name: str | None = None) -> Any:
        return self.scatter(f"Nd{kind}", indices, updates, True, name)

    doc = f"TensorFlow's `ScatterNd{kind}`: `indices` [..., depth] name elements or slices."
    return named(method, f"scatter_nd_{kind.lower()}", doc)


class RowChanges(Referable):
    """What `Variable.scatter` offers, under TensorFlow's names."""

    def batch_scatter_update(
        self: Any, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Any:
        """`tf.batch_scatter_update` by an `IndexedSlices`. Raises as the other methods do."""
        if not isinstance(sparse_delta, IndexedSlices):
            raise NoIndexedSlices(f"sparse_delta is not IndexedSlices: {sparse_delta}")
        with name_scope(name, "batch_scatter_update") as scope:
            where = batched_places(sparse_delta.indices)
            return self.scatter("NdUpdate", where, sparse_delta.values, use_locking, scope)

    def sparse_read(self: Any, indices: Any, name: str | None = None) -> Tensor:
        """The rows at `indices`."""
        return output("GatherV2", self, indices, 0, name=name)

    def gather_nd(self: Any, indices: Any, name: str | None = None) -> Tensor:
        """The elements or slices at the coordinates `indices` [..., depth]."""
        return output("GatherNd", self, indices, name=name)

    @property
    def _shared_name(self: Any) -> str:
        return self.op.name

    scatter_sub, scatter_add = _by_slices("Sub"), _by_slices("Add")
    scatter_max, scatter_min = _by_slices("Max"), _by_slices("Min")
    scatter_mul, scatter_div = _by_slices("Mul"), _by_slices("Div")
    scatter_update = _by_slices("Update")
    scatter_nd_sub, scatter_nd_add = _by_indices("Sub"), _by_indices("Add")
    scatter_nd_update = _by_indices("Update")
