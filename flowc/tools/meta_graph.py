"""What a MetaGraphDef says of nodes, after nodes were removed or renamed.

In: the message, and what becomes of a node's name. Out: the message, changed, and what was dropped,
in words. Invariant: no collection, signature or saver speaks of a node that is not there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import DecodeError

from flowc.encoding.context_names import MESSAGES, renamed
from flowc.errors import InvalidModelError
from flowc.graph.edits.graph_def_edits import node_name
from flowc.graph.encode import variable_def
from flowc.graph.meta_export import op_def

NewName = Callable[[str], str | None]  # of a node; None for one that is gone
_VARIABLE_NAMES = ("variable_name", "initializer_name", "snapshot_name", "initial_value_name")


class _NodeIsGone(Exception):
    pass


def element_name(name: str, new_name: NewName) -> str | None:
    """The name of an operation, tensor or control input, after the change."""
    mark = "^" if name.startswith("^") else ""
    node = node_name(name)
    changed = new_name(node)
    return None if changed is None else mark + changed + name.removeprefix(mark + node)


def fit_meta_graph(meta: Any, new_name: NewName) -> list[str]:
    """Changes what `meta` says of nodes; returns what was dropped."""
    notes = [*_fit_collections(meta, new_name), *_fit_signatures(meta, new_name)]
    notes += _fit_saver(meta, new_name)
    listed = meta.meta_info_def.stripped_op_list
    known = {op.name for op in listed.op}
    if known:
        for op_type in sorted({node.op for node in meta.graph_def.node} - known):
            definition = op_def(op_type)
            if definition is not None:
                listed.op.add().MergeFromString(definition.SerializeToString())
    return notes


def _fit_collections(meta: Any, new_name: NewName) -> Iterator[str]:
    dropped: Counter[str] = Counter()
    for key in sorted(meta.collection_def):
        collection = meta.collection_def[key]
        kind = collection.WhichOneof("kind")
        if kind not in ("node_list", "bytes_list"):
            continue
        values = getattr(collection, kind).value
        found = [_item(key, value, new_name) for value in values]
        kept = [value for value in found if value is not None]
        dropped[key] = len(found) - len(kept)
        values[:] = kept
        if not kept:
            del meta.collection_def[key]
    for key, count in dropped.items():
        if count:
            yield f"dropped {count} of collection '{key}', of nodes that are not there"


def _item(key: str, value: Any, new_name: NewName) -> Any:
    """An item of a collection after the change; None where a node that it names is gone."""
    if isinstance(value, str):
        return element_name(value, new_name)

    def changed(name: str) -> str:
        found = element_name(name, new_name)
        if found is None:
            raise _NodeIsGone
        return found

    try:
        if key in MESSAGES:
            return renamed(key, value, changed)
        return _variable(value, changed)
    except _NodeIsGone:
        return None
    except InvalidModelError:
        return value  # no message of that kind: nothing is known of it


def _variable(value: bytes, changed: Callable[[str], str]) -> bytes:
    """A VariableDef with other names; other bytes stay."""
    message = variable_of(value)
    if message is None:
        return value
    for field in _VARIABLE_NAMES:
        if getattr(message, field):
            setattr(message, field, changed(getattr(message, field)))
    return message.SerializeToString()


def variable_of(value: bytes) -> Any:
    """The VariableDef that bytes of a collection are; None for others."""
    try:
        message = variable_def().FromString(value)
    except DecodeError:
        return None
    same = message.SerializeToString() == value
    return message if same and message.variable_name and message.initializer_name else None


def _fit_signatures(meta: Any, new_name: NewName) -> Iterator[str]:
    for key in sorted(meta.signature_def):
        signature = meta.signature_def[key]
        fields = [
            (owner, field)
            for infos in (signature.inputs, signature.outputs)
            for info in infos.values()
            for owner, field in _names_in(info)
        ]
        changed = [element_name(getattr(owner, field), new_name) for owner, field in fields]
        gone = [getattr(*field) for field, name in zip(fields, changed) if name is None]
        if gone:
            del meta.signature_def[key]
            yield f"dropped signature '{key}': {', '.join(gone)} not there"
            continue
        for (owner, field), name in zip(fields, changed):
            setattr(owner, field, name)


def _names_in(info: Any) -> Iterator[tuple[Any, str]]:
    """(message, field) of each name in a TensorInfo."""
    kind = info.WhichOneof("encoding")
    if kind == "name":
        yield info, "name"
    elif kind == "coo_sparse":
        for role in ("values", "indices", "dense_shape"):
            yield info.coo_sparse, f"{role}_tensor_name"
    elif kind == "composite_tensor":
        for component in info.composite_tensor.components:
            yield from _names_in(component)


def _fit_saver(meta: Any, new_name: NewName) -> Iterator[str]:
    if not meta.HasField("saver_def"):
        return
    saver = meta.saver_def
    fields = ("filename_tensor_name", "save_tensor_name", "restore_op_name")
    named = [field for field in fields if getattr(saver, field)]
    changed = [element_name(getattr(saver, field), new_name) for field in named]
    if None in changed:
        meta.ClearField("saver_def")
        yield "dropped the saver: its nodes are not there; flowc finds variables by their names"
        return
    for field, name in zip(named, changed):
        setattr(saver, field, name)
