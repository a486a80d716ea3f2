"""Lookup tables in a graph: made, filled, looked up, changed and exported.

In: handles, keys and values. Out: values. A handle is a `Resource` whose contents are the id of a
`Table`, a string: the host step that makes the table gives it, so that every step that has the id
comes after it. Invariants: a table belongs to the Session and outlives its runs; the inferred dims
of a handle are those of one value.

`container/shared_name` names a table, or the name of its node where it has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.capability import FILES, Capability
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import HANDLE, STATE, value_of
from flowc.ops.tables.table_steps import (
    DENSE,
    FILE_ATTRS,
    FILE_SETTINGS,
    MUTABLE,
    STATIC,
    export_table,
    find_in_table,
    import_table,
    infer_scalar,
    initialize_from_file,
    initialize_table,
    insert_in_table,
    make_dense_table,
    make_table,
    remove_from_table,
    size_of_table,
)

KIND = "table"
KEYS = frozenset({dtypes.string, dtypes.i32, dtypes.i64})
STEP = STATE | {"may_block"}


# -- handles


def _emit_table(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, kind: str) -> Sequence[Bound]:
    shared = attrs.get("shared_name", "")
    container = attrs.get("container", "")
    reserved = [value_of(x, bound) for bound in inputs]
    key = reserved[0].type.dtype if reserved else attrs["key_dtype"]
    value = attrs["value_dtype"]
    if key not in KEYS:
        raise InvalidArgumentError(
            f"node '{x.name}' makes a table with keys of {dtype_shown(key)}; expected string, "
            "int32 or int64"
        )
    shape = _value_shape(x, attrs)
    given = {
        "id": f"{container}/{shared or x.name}",
        "kind": kind,
        "key": key.name,
        "value": value.name,
        "value_shape": list(shape),
    }
    if reserved:
        node = x.b.emit(make_dense_table, reserved, {**given, "N": len(reserved), "K": key})
    else:
        node = x.b.emit(make_table, [], given)
    x.effect(node)
    dims = reserved[0].dims if reserved else ()
    info = {"key": key, "value": value, "key_shape": dims, "value_shape": shape}
    return [x.create(KIND, node.output, info)]


def _value_shape(x: Extractor, attrs: Attrs) -> tuple[int, ...]:
    shape = attrs.get("value_shape", ())
    if shape is None or any(d is None for d in shape):
        raise InvalidArgumentError(f"node '{x.name}' makes a table of values of unknown shape")
    return tuple(shape)


def _infer_table(c: Inference) -> Dims:
    """The dims of one value."""
    if len(c.inputs) and c.dims(0):
        raise NeedsContent("the keys of this table are not scalars")
    return tuple(c.attrs.get("value_shape") or ())


def handle_of(x: Extractor, bound: Bound) -> tuple[Resource, Value]:
    if isinstance(bound, Resource) and bound.kind == KIND:
        return bound, value_of(x, bound)
    raise InvalidArgumentError(f"the handle given to '{x.name}' is no table's")


def _check_types(x: Extractor, table: Resource, key: DType | None, value: DType | None) -> None:
    held, given = (table.info["key"], table.info["value"]), (key, value)
    if any(g is not None and g is not h for g, h in zip(given, held)):
        found = ", ".join(dtype_shown(g) for g in given if g is not None)
        expected = ", ".join(dtype_shown(h) for g, h in zip(given, held) if g is not None)
        raise InvalidArgumentError(
            f"Signature mismatch at '{x.name}': have {found}, expected {expected}"
        )


# -- what is done with them


def _emit_find(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    table, id = handle_of(x, inputs[0])
    keys, default = (value_of(x, bound) for bound in inputs[1:])
    _check_types(x, table, keys.type.dtype, default.type.dtype)
    key_rank = len(table.info["key_shape"])
    if keys.type.rank < key_rank:
        raise InvalidArgumentError(f"the keys given to '{x.name}' have too few dimensions")
    shape = {"key_rank": key_rank, "value_shape": list(table.info["value_shape"])}
    node = x.b.emit(find_in_table, [id, keys, default], shape)
    x.effect(node)
    return node.outputs


def _infer_find(c: Inference) -> Dims:
    return (*c.dims(1), *c.dims(0))


def _emit_change(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, op: Op) -> Sequence[Bound]:
    table, id = handle_of(x, inputs[0])
    given = [value_of(x, bound) for bound in inputs[1:]]
    types = [v.type.dtype for v in given]
    if op is not initialize_from_file:
        _check_types(x, table, types[0], types[1] if len(types) > 1 else None)
    settings = {name: attrs[name] for name in FILE_SETTINGS} if op is initialize_from_file else {}
    x.effect(x.b.emit(op, [id, *given], settings))
    return []


def _emit_size(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    node = x.b.emit(size_of_table, [handle_of(x, inputs[0])[1]], {})
    x.effect(node)
    return node.outputs


def _emit_export(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    table, id = handle_of(x, inputs[0])
    _check_types(x, table, attrs["Tkeys"], attrs["Tvalues"])
    info = table.info
    shapes = {"key_shape": list(info["key_shape"]), "value_shape": list(info["value_shape"])}
    given = {"K": info["key"], "V": info["value"], **shapes}
    node = x.b.emit(export_table, [id], given)
    x.effect(node)
    return node.outputs


def _unknown(c: Inference) -> list[Dims]:
    raise NeedsContent("the run finds how many entries a table has")


# -- TensorFlow's ops

_TYPES = "key_dtype: type, value_dtype: type"
_SHARED = 'container: string = "", shared_name: string = "", use_node_name_sharing: bool = False'
_ROW = "value_shape: shape = []"
_BUCKETS = "initial_num_buckets: int = 131072, max_load_factor: float = 0.8"
# Names in IR text and of TensorFlow's ops, what they make, their attrs.
_TABLES = (
    ("hash_table", "HashTable", STATIC, ""),
    ("mutable_hash_table", "MutableHashTable", MUTABLE, ""),
    ("mutable_hash_table_of_tensors", "MutableHashTableOfTensors", MUTABLE, f", {_ROW}"),
    (
        "mutable_dense_hash_table",
        "MutableDenseHashTable",
        DENSE,
        f", {_ROW}, {_BUCKETS}",
    ),
)  # fmt: skip
for _name, _tf_name, _kind, _more in _TABLES:
    _keys = "empty_key: key_dtype, deleted_key: key_dtype" if _kind == DENSE else ""
    for _ir, _tf, _given, _attrs, _out in (
        (f"{_name}_v2", f"{_tf_name}V2", _keys, f"{_SHARED}, {_TYPES}", "resource"),
        (_name, _tf_name, _keys.partition(",")[0], f"{_SHARED}, {_TYPES}", "ref(string)"),
        (f"anonymous_{_name}", f"Anonymous{_tf_name}", _keys, _TYPES, "resource"),
    ):
        define(
            _ir,
            f"{_tf}({_given}; {_attrs}{_more}) -> table_handle: {_out}",
            infer=_infer_table,
            lowering=Extracted(partial(_emit_table, kind=_kind)),
            traits=HANDLE,
        )


def _infer_entries(c: Inference) -> list[Dims]:
    """Checks that there is a value for each key."""
    keys, wanted = c.dims(1), (*c.dims(1), *c.dims(0))
    values = c.dims(2)
    c.match_dims(
        wanted, values, f"keys of {shown_dims(keys)} need values of {shown_dims(wanted)}, found "
        f"{shown_dims(values)}",
    )  # fmt: skip
    return []


def _infer_nothing(c: Inference) -> list[Dims]:
    return []


# Names in IR text and of TensorFlow's ops, with the inputs behind the handle, and what they do.
_STEPS: tuple[tuple[str, str, str, Any, Any, Capability | None], ...] = (
    ("initialize_lookup_table", "InitializeTable", "keys: Tkey, values: Tval; Tkey: type, "
     "Tval: type", _infer_entries, partial(_emit_change, op=initialize_table), None),
    ("initialize_lookup_table_from_file", "InitializeTableFromTextFile",
     f"filename: string; {FILE_ATTRS}", _infer_nothing,
     partial(_emit_change, op=initialize_from_file),
     Capability(FILES.name, FILES.does, paths=(1,))),
    ("lookup_table_find", "LookupTableFind", "keys: Tin, default_value: Tout; Tin: type, "
     "Tout: type -> values: Tout", _infer_find, _emit_find, None),
    ("lookup_table_insert", "LookupTableInsert", "keys: Tin, values: Tout; Tin: type, "
     "Tout: type", _infer_entries, partial(_emit_change, op=insert_in_table), None),
    ("lookup_table_import", "LookupTableImport", "keys: Tin, values: Tout; Tin: type, "
     "Tout: type", _infer_entries, partial(_emit_change, op=import_table), None),
    ("lookup_table_remove", "LookupTableRemove", "keys: Tin; Tin: type", _infer_nothing,
     partial(_emit_change, op=remove_from_table), None),
    ("lookup_table_size", "LookupTableSize", "-> size: i64", infer_scalar, _emit_size, None),
    ("lookup_table_export", "LookupTableExport", "; Tkeys: type, Tvalues: type -> "
     "(keys: Tkeys, values: Tvalues)", _unknown, _emit_export, None),
)  # fmt: skip
for _name, _tf_name, _rest, _infer, _emit, _capability in _STEPS:
    _more, _, _outputs = _rest.partition("->")
    _more = _more.strip()
    _comma = "" if not _more or _more.startswith(";") else ", "
    _result = f" -> {_outputs.strip()}" if _outputs else ""
    for _ir, _tf, _handle_type in (
        (f"{_name}_v2", f"{_tf_name}V2", "resource"),
        (_name, _tf_name, "ref(string)"),
    ):
        if _tf == "LookupTableRemove":
            continue
        define(
            _ir,
            f"{_tf}(table_handle: {_handle_type}{_comma}{_more}){_result}",
            infer=_infer,
            lowering=Extracted(_emit),
            traits=STEP,
            capability=_capability,
        )
