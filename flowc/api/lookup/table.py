"""What all lookup tables share: handles, looking up, sizes, and their initialization.

In: keys. Out: values. Invariant: the keys and values of a table have the dtypes that it was made
with; keys of another dtype are an error when the graph is built.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flowc import dtypes
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import group, name_scope, no_op
from flowc.api.variables.graph_keys import GraphKeys
from flowc.dtypes import DType
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


class LookupInterface(ABC):
    """A table. `resource_handle`: the tensor that names it in the graph. A run raises
    `FailedPreconditionError` where nothing initialized it."""

    def __init__(self, key_dtype: Any, value_dtype: Any, resource_handle: Any, name: str) -> None:
        self.key_dtype: DType = dtypes.as_dtype(key_dtype)
        self.value_dtype: DType = dtypes.as_dtype(value_dtype)
        self.resource_handle = resource_handle
        self.name = name

    def __repr__(self) -> str:
        found = f"{self.key_dtype.name} to {self.value_dtype.name}"
        return f"<tf.lookup.{type(self).__name__} {self.name!r}: {found}>"

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are: an int64 scalar."""
        with name_scope(name, f"{self.name}_Size", [self.resource_handle]):
            found = call("LookupTableSizeV2", self.resource_handle)
        found.set_shape(())  # also in a function, which knows nothing of the handle
        return found

    @abstractmethod
    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The value of each key, in the shape of `keys`, a tensor or `SparseTensor`; the table's
        default value for a key that is not there. Raises `TypeError` for keys of another dtype."""

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _checked(self, keys: Any) -> Tensor:
        given = keys.dtype if isinstance(keys, Tensor) else None
        if given is not None and given.base_dtype is not self.key_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be <dtype: '{self.key_dtype.name}'>, received: "
                f"<dtype: '{given.name}'>"
            )
        return as_tensor(keys, self.key_dtype, "keys")

    def _exported(self) -> tuple[Tensor, Tensor]:
        kinds: dict[str, Any] = {"Tkeys": self.key_dtype, "Tvalues": self.value_dtype}
        keys, values = call("LookupTableExportV2", self.resource_handle, **kinds)
        return keys, values


def values_of(keys: Any) -> Any:
    """The tensor of keys: the values of a `SparseTensor`."""
    return keys.values if isinstance(keys, SparseTensor) else keys


def in_place_of(keys: Any, values: Tensor) -> Any:
    """Values that were found for keys, in a `SparseTensor` where the keys are in one."""
    if not isinstance(keys, SparseTensor):
        return values
    return SparseTensor(keys.indices, values, keys.dense_shape)


def tables_initializer(name: str = "init_all_tables") -> Operation:
    """An operation that initializes all tables of the default graph; one that does nothing where
    there are none. An `Operation`. Raises nothing."""
    found = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*found, name=name) if found else no_op(name)
