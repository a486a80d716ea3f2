"""Nodes of a graph edited: other ops, other inputs, other attrs, other names, or gone.

In: a model's message and the edits, all in names of the model as it was. Out: the message, changed,
and what was done, in words. Invariants: every input is there afterwards; a node that was edited is
what the record of its op says, where flowc has one; an edit that changes nothing is an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.tensorflow_ops import tensorflow_ops
from flowc.errors import InvalidModelError, UnknownNameError, UsageError, did_you_mean
from flowc.graph.edits.graph_def_edits import REFERENCES, node_name
from flowc.graph.encode import attr_value
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait, signature_of
from flowc.graph.tensor import Tensor
from flowc.graph.verify import OUTPUT_SHAPES, operation_faults
from flowc.importer.metagraph import graph_of_message
from flowc.ir.signature import Arg, OpSignature
from flowc.tools.attr_texts import attr_of_text
from flowc.tools.meta_graph import element_name, fit_meta_graph
from flowc.tools.model_file import ModelFile

FIELDS = ("name", "device", "input")
_NOT_OF_OPS = ("_class", OUTPUT_SHAPES)


@dataclass(frozen=True, slots=True)
class NodeEdits:
    """`replaced`: (op, new op), of the nodes that every (field, regex) of `where` finds. `rewired`:
    (node, number or name of an input, tensor; an empty one takes the input away). `attrs`: (node or
    op, attr, text). `renamed`: (name, new name)."""

    replaced: Sequence[tuple[str, str]] = ()
    where: Sequence[tuple[str, str]] = ()
    rewired: Sequence[tuple[str, str, str]] = ()
    attrs: Sequence[tuple[str, str, str]] = ()
    removed: Sequence[str] = ()
    renamed: Sequence[tuple[str, str]] = ()


@dataclass(slots=True)
class _Editing:
    """A graph while it is edited. `before`: as it was; `types`: the dtypes that outputs of replaced
    nodes had."""

    graph_def: Any
    before: Graph
    nodes: dict[str, Any]
    changed: set[str] = field(default_factory=set)
    replaced: dict[str, list[DType | None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def node(self, name: str) -> Any:
        """A node by its name. Raises `UnknownNameError`."""
        if name not in self.nodes:
            raise UnknownNameError(
                f"no node is named {name!r}", hint=did_you_mean(name, self.nodes)
            )
        return self.nodes[name]


def edit_model(model: ModelFile, edits: NodeEdits) -> list[str]:
    """Carries out the edits: ops, then inputs, attrs, removals, names. Returns what was done and
    dropped. Raises `UnknownNameError` for nodes and ops that are not there, `UsageError` for edits
    that leave a node malformed or without an input."""
    where = str(model.path)
    graph_def = type(model.graph_def)()
    graph_def.CopyFrom(model.graph_def)
    before = graph_of_message(model.graph_def, where)
    editing = _Editing(graph_def, before, {node.name: node for node in graph_def.node})
    _replace_ops(editing, edits)
    for name, at, tensor in edits.rewired:
        _rewire(editing, name, at, tensor)
    for owner, attr, text in edits.attrs:
        _set_attr(editing, owner, attr, text)
    _remove(editing, edits.removed)
    if editing.replaced:
        _fill_attrs(editing, where)
    names = _rename(editing, edits.renamed)
    _check(editing, names, where)
    _forget_shapes(editing)
    model.graph_def.CopyFrom(editing.graph_def)
    if model.meta_graph is not None:
        gone = set(edits.removed)
        new_name = lambda name: None if name in gone else names.get(name, name)
        editing.notes += fit_meta_graph(model.meta_graph, new_name)
    return editing.notes


# -- ops


def _replace_ops(editing: _Editing, edits: NodeEdits) -> None:
    for old, new in edits.replaced:
        found = [n for n in editing.graph_def.node if n.op == old and _matches(n, edits.where)]
        if not found:
            raise _no_such_op(editing, old, edits)
        dropped: Counter[str] = Counter()
        for node in found:
            op = editing.before.get_operation_by_name(node.name)
            editing.replaced[node.name] = [t.dtype for t in op.outputs]
            editing.changed.add(node.name)
            node.op = new
            dropped.update(_drop_attrs(node, signature_of(new)))
        some = ", ".join(node.name for node in found[:3]) + ", ..." * (len(found) > 3)
        editing.notes.append(f"replaced {len(found)} {old} by {new}: {some}")
        editing.notes += [f"dropped attr '{a}' of {n} of them" for a, n in dropped.items()]
        if signature_of(new) is None:
            editing.notes.append(f"inputs and attrs of {new} are not checked: {_why_not(new)}")


def _why_not(op: str) -> str:
    """Why `op` cannot be checked: it is one of TensorFlow's, or one of a library's, or misspelt."""
    if op in tensorflow_ops():
        return "flowc has no record of it"
    near = did_you_mean(op, tensorflow_ops(), least=0.8)
    return "its library must be loaded" + (f"; {near}" if near else "")


def _matches(node: Any, where: Sequence[tuple[str, str]]) -> bool:
    for name, pattern in where:
        texts = node.input if name == "input" else [getattr(node, name)]
        if not any(re.search(pattern, text) for text in texts):
            return False
    return True


def _no_such_op(editing: _Editing, op_type: str, edits: NodeEdits) -> UnknownNameError:
    ops = {node.op for node in editing.graph_def.node}
    library = editing.graph_def.library.function
    functions = [f.signature.name for f in library if any(n.op == op_type for n in f.node_def)]
    if op_type in ops and edits.where:
        texts = " and ".join(f"{name}~{pattern}" for name, pattern in edits.where)
        return UnknownNameError(f"no {op_type} node has {texts}")
    text = f"the graph has no {op_type} node"
    if functions:
        text += f"; function '{functions[0]}' has, and functions are not edited"
    return UnknownNameError(text, hint=did_you_mean(op_type, ops))


def _drop_attrs(node: Any, signature: OpSignature | None) -> list[str]:
    """Removes the attrs that the node's new op does not have."""
    known = () if signature is None else signature.attrs
    unknown = [a for a in node.attr if a not in known and a not in _NOT_OF_OPS]
    dropped = [] if signature is None else unknown
    for name in dropped:
        del node.attr[name]
    return sorted(dropped)


# -- inputs


def _rewire(editing: _Editing, name: str, at: str, tensor: str) -> None:
    node = editing.node(name)
    if tensor:
        editing.node(node_name(tensor))
    data = [i for i in node.input if not i.startswith("^")]
    controls = node.input[len(data) :]
    place = _place(editing, node, at, len(data))
    if not tensor and place >= len(data):
        raise UsageError(f"--rewire {name}:{at}=: {_has(node, data)}, none to take away")
    old = data[place] if place < len(data) else "nothing"
    data[place : place + 1] = [tensor] if tensor else []
    node.input[:] = [*data, *controls]
    editing.changed.add(name)
    editing.notes.append(f"input {at} of {name} is {tensor or 'gone'}, was {old}")


def _place(editing: _Editing, node: Any, at: str, count: int) -> int:
    """Which of a node's inputs a number or name means, of its op or of the one that it had; the
    number behind the last adds one."""
    if at.isdigit() and int(at) <= count:
        return int(at)
    listed: list[str] = []
    old = editing.before.get_operation_by_name(node.name).type
    for op_type in dict.fromkeys((node.op, old)):
        signature = signature_of(op_type)
        args = () if signature is None else signature.inputs
        names = [arg.name for arg in args]
        if at in names and not any(_is_several(arg) for arg in args[: names.index(at)]):
            return names.index(at)
        listed += names
    known = f", named {', '.join(dict.fromkeys(listed))}" if listed else ""
    raise UsageError(
        f"--rewire {node.name}:{at}: node '{node.name}' ({node.op}) has {count} inputs{known}",
        hint=f"--rewire {node.name}:0=TENSOR",
    )


def _has(node: Any, data: Sequence[str]) -> str:
    return f"node '{node.name}' ({node.op}) has {len(data)} inputs"


def _is_several(arg: Arg) -> bool:
    return arg.number_attr is not None or arg.is_list


# -- attrs


def _set_attr(editing: _Editing, owner: str, attr: str, text: str) -> None:
    named = [editing.nodes[owner]] if owner in editing.nodes else []
    found = named or [n for n in editing.graph_def.node if n.op == owner]
    if not found:
        known = [*editing.nodes, *{n.op for n in editing.graph_def.node}]
        raise UnknownNameError(
            f"--set-attr {owner}:{attr}: no node and no op is named {owner!r}",
            hint=did_you_mean(owner, known),
        )
    for node in found:
        value = attr_of_text(node, attr, text)
        node.attr[attr].Clear()
        node.attr[attr].MergeFromString(attr_value(value).SerializeToString())
        editing.changed.add(node.name)
    editing.notes.append(f"attr '{attr}' of {len(found)} nodes is {text}")


def _fill_attrs(editing: _Editing, where: str) -> None:
    """Gives replaced nodes the attrs that follow from their inputs, and from what their outputs
    were."""
    now = graph_of_message(editing.graph_def, where)
    for name, types in editing.replaced.items():
        node = editing.nodes.get(name)
        signature = None if node is None else signature_of(node.op)
        if node is None or signature is None:
            continue
        inputs = now.get_operation_by_name(name).inputs
        for attr, value in _following(signature, inputs, types):
            if attr not in node.attr and value is not None:
                node.attr[attr].MergeFromString(attr_value(value).SerializeToString())


def _following(
    signature: OpSignature, inputs: Sequence[Tensor], types: Sequence[DType | None]
) -> Iterator[tuple[str, Any]]:
    several = [a for a in signature.inputs if _is_several(a)]
    if len(several) > 1:
        return  # only attrs tell how many are of which
    at = 0
    for arg in signature.inputs:
        count = len(inputs) - len(signature.inputs) + 1 if _is_several(arg) else 1
        found = [t.dtype for t in inputs[at : at + max(count, 0)]]
        at += count
        if arg.number_attr is not None:
            yield arg.number_attr, count
        if arg.type_attr is not None and found and None not in found:
            yield arg.type_attr, found if arg.is_list else found[0]
    if not any(_is_several(a) for a in signature.outputs):
        for arg, dtype in zip(signature.outputs, types):
            if arg.type_attr is not None:
                yield arg.type_attr, dtype


# -- nodes


def _remove(editing: _Editing, names: Sequence[str]) -> None:
    if not names:
        return
    gone = {editing.node(name).name for name in names}
    waiting = 0
    for node in editing.graph_def.node:
        if node.name in gone:
            continue
        for i, text in enumerate(node.input):
            if node_name(text) in gone and not text.startswith("^"):
                raise UsageError(
                    f"--remove {node_name(text)}: node '{node.name}' ({node.op}) takes '{text}'",
                    hint=f"--rewire {node.name}:{i}=TENSOR, or --remove {node.name}",
                )
        kept = [i for i in node.input if node_name(i) not in gone]
        waiting += len(node.input) - len(kept)
        node.input[:] = kept
    left = [node for node in editing.graph_def.node if node.name not in gone]
    copies = type(editing.graph_def)()
    copies.node.extend(left)
    del editing.graph_def.node[:]
    editing.graph_def.node.extend(copies.node)
    editing.nodes = {node.name: node for node in editing.graph_def.node}
    editing.notes.append(f"removed {len(gone)} nodes")
    if waiting:
        editing.notes.append(f"dropped {waiting} control inputs from removed nodes")


def _rename(editing: _Editing, renamed: Sequence[tuple[str, str]]) -> dict[str, str]:
    names: dict[str, str] = {}
    for old, new in renamed:
        node = editing.node(old)
        if new in editing.nodes or new in names.values():
            raise UsageError(f"--rename {old}={new}: there is a node of that name")
        names[old] = new
        if node.op in REFERENCES or has_trait(node.op, "variable"):
            editing.notes.append(f"checkpoints have the variable {new} under its old name {old}")
    if not names:
        return names

    def new_name(name: str) -> str:
        return names.get(name, name)

    for node in editing.graph_def.node:
        node.name = new_name(node.name)
        node.input[:] = [element_name(i, new_name) or i for i in node.input]
        if "_class" in node.attr:
            groups = node.attr["_class"].list.s
            groups[:] = [_in_group(group, names) for group in groups]
    editing.changed = {new_name(name) for name in editing.changed}
    editing.notes.append(f"renamed {len(names)} nodes")
    return names


def _in_group(group: bytes, names: dict[str, str]) -> bytes:
    head, at, name = group.partition(b"@")
    return head + at + names.get(name.decode(), name.decode()).encode()


# -- what must hold afterwards


def _check(editing: _Editing, names: dict[str, str], where: str) -> None:
    try:
        after = graph_of_message(editing.graph_def, where)
    except InvalidModelError as error:
        raise UsageError(f"the edits leave a broken graph: {error.message}", hint=_HINT) from None
    edited = [after.get_operation_by_name(n) for n in editing.changed if n in after]
    users = {user for op in edited for tensor in op.outputs for user in tensor.consumers()}
    broken = sorted({*edited, *users}, key=lambda op: op.name)
    old = {new: name for name, new in names.items()}
    faults = [
        fault
        for op in broken
        for fault in operation_faults(op)
        if op.name in editing.changed or not _was_broken(editing, old.get(op.name, op.name))
    ]
    if faults:
        lines = "\n".join(f"  {fault}" for fault in faults[:20])
        raise UsageError(f"the edits leave malformed nodes:\n{lines}", hint=_HINT)


def _was_broken(editing: _Editing, name: str) -> bool:
    return bool(operation_faults(editing.before.get_operation_by_name(name)))


def _forget_shapes(editing: _Editing) -> None:
    """What the file says of the shapes of nodes may not be true behind an edit."""
    behind = set(editing.changed)
    is_new = True
    while is_new:
        is_new = False
        for node in editing.graph_def.node:
            if node.name not in behind and any(node_name(i) in behind for i in node.input):
                behind.add(node.name)
                is_new = True
    for node in editing.graph_def.node:
        if node.name in behind and OUTPUT_SHAPES in node.attr:
            del node.attr[OUTPUT_SHAPES]


_HINT = "--rewire NODE:INPUT=TENSOR, --set-attr NODE:ATTR=VALUE; `flowc ops OP` shows an op's form"
