"""What a host does with lookup tables: steps that make, fill, look up, change and export them.

In: the id of a table, a string, then keys and values as arrays. Out: arrays. Only extraction makes
these nodes (`lookup_tables.py`). Invariant: a table belongs to the Session and outlives its runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun, text_of
from flowc.ir.inference import Inference
from flowc.ir.lowering import Host
from flowc.ir.op import Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.state.variables import STATE
from flowc.ops.tables.table_states import DenseTable, StaticTable, Table, TableType
from flowc.ops.tables.text_files import TextColumns

Array = np.ndarray[Any, Any]
STATIC, MUTABLE, DENSE = "static", "mutable", "dense"


def _object(array: Any) -> Array:
    """An input of a step: scalars come as such."""
    if isinstance(array, np.ndarray):
        return array
    if isinstance(array, bytes):
        found = np.empty((), object)
        found[()] = array
        return found
    return np.asarray(array)


def _id_array(id: str) -> list[Array]:
    return [_object(id.encode("utf-8", "surrogateescape"))]


def _make(
    inputs: Sequence[Any],
    _: Sequence[DType],
    *,
    run: HostRun,
    id: str,
    kind: str,
    key: str,
    value: str,
    value_shape: Sequence[int],
) -> list[Array]:
    """The table with an id: made by the first step that asks for it."""
    reserved = [_object(array) for array in inputs]
    type = TableType(
        as_dtype(key).numpy,
        as_dtype(value).numpy,
        reserved[0].shape if reserved else (),
        tuple(value_shape),
    )

    def make() -> Table:
        if kind == STATIC:
            return StaticTable(type)
        if kind == MUTABLE:
            return Table(type)
        one, other = reserved[0].shape, reserved[-1].shape  # the older op has no deleted key
        if len(one) > 1:
            raise InvalidArgumentError(
                f"Empty key must be a scalar or a vector, got shape {shown_dims(one)}"
            )
        if one != other:
            raise InvalidArgumentError(
                "Empty and deleted keys must have same shape, got shapes: "
                f"{shown_dims(one)} and {shown_dims(other)}"
            )
        keys = [type.keys_of(array)[0][0] for array in reserved if array.size]
        if len(set(keys)) < len(reserved):
            raise InvalidArgumentError("Empty and deleted keys cannot be equal")
        return DenseTable(type, reserved=dict(zip(keys, ("empty_key", "deleted_key"))))

    found = run.states.find(id, Table, make)
    if found.type != type:
        raise InvalidArgumentError(
            f"the table '{id}' has keys and values of other dtypes or shapes than this node says"
        )
    return _id_array(id)


def table_of(run: HostRun, id: Any) -> Table:
    def missing() -> Table:
        raise InvalidArgumentError(f"no table of this session has the handle {id!r}")

    run.check()
    return run.states.find(text_of(id, "the handle of a table"), Table, missing)


Step = Callable[..., Sequence[Array]]


def _step(compute: Callable[..., Any]) -> Step:
    """A step of a table from what it does with arrays."""

    def step(inputs: Sequence[Any], _: Sequence[DType], *, run: HostRun, **more: Any) -> list[Any]:
        id, *arrays = inputs
        found = compute(table_of(run, id), *map(_object, arrays), **more)
        return [] if found is None else list(found)

    return step


def _initialize(table: Table, keys: Array, values: Array) -> None:
    if keys.size != values.size:
        raise InvalidArgumentError(
            f"Keys and values must have the same size {keys.size} vs {values.size}"
        )
    static_of(table).initialize(table.entries(keys, values))


def _initialize_from_file(
    table: Table,
    path: Array,
    *,
    key_index: int,
    value_index: int,
    vocab_size: int,
    delimiter: str,
    offset: int,
) -> None:
    if len(delimiter.encode("utf-8", "surrogateescape")) != 1:
        raise InvalidArgumentError("delimiter should be only 1 char")
    if path.size != 1:
        raise InvalidArgumentError(
            f"filename should be a single string, but got {list(path.shape)}"
        )
    columns = TextColumns(key_index, value_index, vocab_size, delimiter, offset)
    name = path.reshape(-1)[0].decode("utf-8", "surrogateescape")
    static_of(table).initialize(columns.entries(name, table.type.key, table.type.value))


def static_of(table: Table) -> StaticTable:
    if not isinstance(table, StaticTable):
        raise InvalidArgumentError("this table is not one that is initialized")
    return table


def _size(table: Table) -> list[Array]:
    return [np.asarray(table.size(), np.int64)]


def infer_scalar(c: Inference) -> Dims:
    return ()


def _infer_found(c: Inference) -> Dims:
    keys = c.dims(1)
    return keys[: len(keys) - c.attrs["key_rank"]] + tuple(c.attrs["value_shape"])


def _infer_exported(c: Inference) -> list[Dims]:
    rows = c.fresh("entries", None)
    return [(rows, *c.attrs["key_shape"]), (rows, *c.attrs["value_shape"])]


def table_step(name: str, signature: str, shown: str, step: Step, infer: Any, *settings: str) -> Op:
    return define(
        name,
        signature,
        infer=infer,
        lowering=Host(step, shown, settings, may_block=True),
        traits=STATE,
    )


_MADE = "id: string, kind: string, key: string, value: string, value_shape: list(int) = []"
_MADE_OF = ("id", "kind", "key", "value", "value_shape")
make_table = table_step(
    "make_table", f"_MakeTable(; {_MADE}) -> table: string", "HashTableV2", _make, infer_scalar,
    *_MADE_OF,
)  # fmt: skip
make_dense_table = table_step(
    "make_dense_table",
    f"_MakeDenseTable(reserved: N * K; N: int >= 1, K: type, {_MADE}) -> table: string",
    "MutableDenseHashTableV2", _make, infer_scalar, *_MADE_OF,
)  # fmt: skip
find_in_table = table_step(
    "find_in_table",
    "_FindInTable(table: string, keys: K, default_value: V; K: type, V: type, key_rank: int = 0, "
    "value_shape: list(int) = []) -> values: V",
    "LookupTableFindV2", _step(lambda table, *given: [table.find(*given)]), _infer_found,
)  # fmt: skip
size_of_table = table_step(
    "size_of_table", "_SizeOfTable(table: string) -> size: i64", "LookupTableSizeV2",
    _step(_size), infer_scalar,
)  # fmt: skip
export_table = table_step(
    "export_table",
    "_ExportTable(table: string; K: type, V: type, key_shape: list(int) = [], "
    "value_shape: list(int) = []) -> (keys: K, values: V)",
    "LookupTableExportV2", _step(lambda table: table.export()), _infer_exported,
)  # fmt: skip


def _change(name: str, shown: str, compute: Callable[..., Any]) -> Op:
    """An op of the host that changes a table with keys and values."""
    words = "".join(word.capitalize() for word in name.split("_"))
    signature = f"_{words}(table: string, keys: K, values: V; K: type, V: type)"
    return table_step(name, signature, shown, _step(compute), lambda c: [])


initialize_table = _change("initialize_table", "InitializeTableV2", _initialize)
insert_in_table = _change(
    "insert_in_table", "LookupTableInsertV2", lambda table, *given: table.insert(*given)
)
import_table = _change(
    "import_table", "LookupTableImportV2", lambda table, *given: table.restore(*given)
)
remove_from_table = table_step(
    "remove_from_table", "_RemoveFromTable(table: string, keys: K; K: type)",
    "LookupTableRemoveV2", _step(lambda table, keys: table.remove(keys)), lambda c: [],
)  # fmt: skip
FILE_SETTINGS = ("key_index", "value_index", "vocab_size", "delimiter", "offset")
FILE_ATTRS = (
    "key_index: int >= -2, value_index: int >= -2, vocab_size: int >= -1 = -1, "
    'delimiter: string = "\t", offset: int = 0'
)
initialize_from_file = table_step(
    "initialize_table_from_file",
    f"_InitializeTableFromFile(table: string, filename: string; {FILE_ATTRS})",
    "InitializeTableFromTextFileV2", _step(_initialize_from_file), lambda c: [], *FILE_SETTINGS,
)  # fmt: skip
