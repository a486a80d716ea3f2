"""What a graph's own restore operations read from a checkpoint, and into which variables.

In: a Graph; the name of the operation that restores everything. Out: variable -> tensors of the
file. Two forms: `Assign` or `AssignVariableOp` fed by a `RestoreV2` in the graph (TF1), and the
same inside a function that takes the variables' handles as arguments (TF2). Invariant: every
operation is looked at once.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from flowc.dataclass import dataclass
from flowc.extract.node_source import (
    ARGUMENT,
    CallSource,
    GraphSource,
    NodeSource,
    Ref,
    SourceNode,
)
from flowc.graph.attrs import FunctionRef
from flowc.graph.control_types import PASSING
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait, having_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import reachable

# What reads tensors of a checkpoint.
RESTORE_OPS = frozenset({"RestoreV2", "RestoreSlice", "Restore"})
NAMES_AT, PARTS_AT = 1, 2  # inputs: the names of the tensors, and the slices, where there are any


@dataclass(frozen=True, slots=True)
class Restored:
    """One tensor of a checkpoint; `part` is TensorFlow's text for a slice of it, or empty."""

    key: str
    part: str = ""


def restored_tensors(graph: Graph, restore_op: str = "") -> dict[Operation, list[Restored]]:
    """Variable operation -> the tensors that are restored into it, those of `restore_op` first."""
    found: dict[Operation, list[Restored]] = {}
    source = GraphSource(graph)
    op_name = restore_op.removeprefix("^").partition(":")[0]
    ends = [graph.get_operation_by_name(op_name)] if op_name and op_name in graph else []
    preferred = reachable(ends, lambda op: [*(t.op for t in op.inputs), *op.control_inputs])
    every = [*dict.fromkeys((*preferred, *graph.get_operations()))]
    assigning, calling = (frozenset(having_trait(every, t)) for t in ("assign", "call"))
    for op in every:
        if op in assigning and len(op.inputs) >= 2:
            restored = _restored_by(source, source.ref(op.inputs[1]))
            if restored is not None:
                found.setdefault(_variable_of(op.inputs[0]), []).append(restored)
        elif op in calling:
            for variable, restored in _restored_by_call(graph, op):
                found.setdefault(variable, []).append(restored)
    return found


def _variable_of(tensor: Tensor) -> Operation:
    op = tensor.op
    while op.type in PASSING and op.inputs:
        op = op.inputs[0].op
    return op


def _restored_by(source: NodeSource, ref: Ref) -> Restored | None:
    """The tensor of the file that is read, seen through Identity, Reshape and the like."""
    for _ in range(8):
        if ref[0] == ARGUMENT:
            return None
        node = source.node(ref[0])
        if node.type in RESTORE_OPS:
            names, parts = (_constant(source, node, at) for at in (NAMES_AT, PARTS_AT))
            return _restored(names, parts, ref[1])
        if not node.inputs:
            return None
        ref = node.inputs[0]
    return None


def _constant(source: NodeSource, node: SourceNode, at: int) -> np.ndarray | None:
    """The constant that is input `at` of a node, or None where it is none."""
    key = node.inputs[at][0] if at < len(node.inputs) else ARGUMENT
    return None if key == ARGUMENT else source.node(key).attrs.get("value")


def _restored(names: np.ndarray | None, parts: np.ndarray | None, index: int) -> Restored | None:
    name = _string(names, index)
    return None if name is None else Restored(name, _string(parts, index) or "")


def _string(strings: np.ndarray | None, index: int) -> str | None:
    if strings is None or strings.dtype != object or index >= strings.size:
        return None
    return strings.reshape(-1)[index].decode("utf-8", "replace")


def _restored_by_call(graph: Graph, call: Operation) -> Iterable[tuple[Operation, Restored]]:
    """What a call of a restore function assigns to the variables whose handles it is given."""
    reference = call.attrs.get("f")
    if not isinstance(reference, FunctionRef) or reference.name not in graph.functions:
        return
    function = graph.functions[reference.name]
    if not any(node.type in RESTORE_OPS for node in function.body.nodes):
        return
    source = CallSource(function, "", reference.attrs, graph.functions)
    for node in function.body.nodes:
        if not has_trait(node.type, "assign") or len(node.inputs) < 2:
            continue
        target, value = node.inputs[0], node.inputs[1]
        restored = _restored_by(source, source.resolve(value))
        if restored is not None and target[0] == "arg" and target[1] < len(call.inputs):
            yield _variable_of(call.inputs[target[1]]), restored
