"""Tables that a graph changes: keys are added, replaced and removed.

In: keys and values. Out: tables, which a `Saver` saves and restores where `checkpoint` is true.
Invariant: the values of a table have the shape of its default value.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.lookup.table import LookupInterface
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


class _ChangedTable(LookupInterface):
    """What tables that are changed share."""

    def _begin(self, handle: Tensor, key_dtype: Any, value_dtype: Any, checkpoint: bool) -> None:
        LookupInterface.__init__(
            self, key_dtype, value_dtype, handle, handle.op.name.rpartition("/")[2]
        )
        self.export()  # a graph holds what a Saver of it would save
        if checkpoint:
            get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self)

    @property
    def op(self) -> Operation:
        """The operation that makes the table."""
        return self.resource_handle.op

    def _named(self, what: str, name: str | None, *values: Any) -> Any:
        text = name or f"{self.name}_lookup_table_{what}"
        return name_scope(text, "", [self.resource_handle, *values])

    def _keys(self, keys: Any) -> Tensor:
        return as_tensor(keys, self.key_dtype, "keys")

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are: an int64 scalar."""
        with (
            name_scope(name, f"{self.name}_Size", [self.resource_handle]),
            get_default_graph().colocate_with(self.resource_handle),
        ):
            return call("LookupTableSizeV2", self.resource_handle)

    def insert(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """Adds `keys` with `values`, whose shape is that of the keys and then that of one value;
        replaces the values of keys that are there. Raises `ValueError` or `TypeError` for other
        dtypes."""
        keys = self._keys(keys)
        with self._named("insert", name, keys):
            values = as_tensor(values, self.value_dtype, "values")
            with get_default_graph().colocate_with(self.resource_handle):
                return call("LookupTableInsertV2", self.resource_handle, keys, values)

    def remove(self, keys: Any, name: str | None = None) -> Operation:
        """Takes `keys` out; those that are not there are passed over."""
        keys = self._checked(keys)
        with self._named("remove", name, keys):
            return call("LookupTableRemoveV2", self.resource_handle, keys)

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys, and their values, in no particular order."""
        with (
            self._named("export_values", name),
            get_default_graph().colocate_with(self.resource_handle),
        ):
            return self._exported()

    def import_values(self, keys: Any, values: Any) -> Operation:
        """Replaces all that the table holds: what restoring it does."""
        with get_default_graph().colocate_with(self.resource_handle):
            name = f"{self.name}_table_restore"
            with name_scope(name, "", [self.resource_handle]):
                return call("LookupTableImportV2", self.resource_handle, keys, values)

    def _found(self, keys: Any, default: Any, name: str | None) -> Tensor:
        keys = self._keys(keys)
        with (
            self._named("find", name, keys),
            get_default_graph().colocate_with(self.resource_handle),
        ):
            return call("LookupTableFindV2", self.resource_handle, keys, default)


class MutableHashTable(_ChangedTable):
    """A table of scalars, or of vectors where `default_value` is one. `checkpoint`: whether a
    `Saver` of everything saves it. Raises `TypeError` for a default value of another dtype."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        value_dtype = dtypes.as_dtype(value_dtype)
        self._default = as_tensor(default_value, value_dtype)
        shape = self._default.shape
        attrs: dict[str, Any] = {
            "key_dtype": dtypes.as_dtype(key_dtype),
            "value_dtype": value_dtype,
        }
        kind = "MutableHashTable"
        if shape.ndims:
            kind, attrs["value_shape"] = "MutableHashTableOfTensors", shape
        if experimental_is_anonymous:
            handle = call(f"Anonymous{kind}", name=name, **attrs)
        else:
            handle = call(f"{kind}V2", name=name, use_node_name_sharing=True, **attrs)
        self._begin(handle, key_dtype, value_dtype, checkpoint)

    def lookup(
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Tensor:
        """The value of each key, in the shape of `keys`, then that of one value. Keys that are not
        there have the default value, or theirs of `dynamic_default_values`. Raises `ValueError`
        for keys of another dtype."""
        default = self._default if dynamic_default_values is None else dynamic_default_values
        return self._found(keys, default, name)


class DenseHashTable(_ChangedTable):
    """A table in which `empty_key` and `deleted_key` must never be used as keys, which may be
    tensors. Arguments, values and errors are those of `MutableHashTable`; TensorFlow stores it
    otherwise, in `initial_num_buckets` places (a power of two). Raises as it does."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        key_dtype, value_dtype = dtypes.as_dtype(key_dtype), dtypes.as_dtype(value_dtype)
        self._default = as_tensor(default_value, value_dtype, "default_value")
        keys = (
            as_tensor(empty_key, key_dtype, "empty_key"),
            as_tensor(deleted_key, key_dtype, "deleted_key"),
        )
        attrs: dict[str, Any] = {"value_dtype": value_dtype, "value_shape": self._default.shape}
        if initial_num_buckets is not None:
            attrs["initial_num_buckets"] = initial_num_buckets
        if experimental_is_anonymous:
            handle = call("AnonymousMutableDenseHashTable", *keys, name=name, **attrs)
        else:
            attrs["use_node_name_sharing"] = True
            handle = call("MutableDenseHashTableV2", *keys, name=name, **attrs)
        self._begin(handle, key_dtype, value_dtype, checkpoint)

    def lookup(self, keys: Any, name: str | None = None) -> Tensor:
        """The value of each key: the shape of `keys`, without that of one key, then that of one
        value. Raises `ValueError` for keys of another dtype."""
        return self._found(keys, self._default, name)

    def insert_or_assign(self, keys: Any, values: Any, name: str | None = None) -> Operation:
        """`insert`, under its newer name."""
        return self.insert(keys, values, name)

    def erase(self, keys: Any, name: str | None = None) -> Operation:
        """`remove`, under its newer name."""
        return self.remove(keys, name)
