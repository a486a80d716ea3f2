"""`tf.graph_util`: GraphDefs with fewer nodes, or with constants in place of variables.

In: a GraphDef (flowc's or TensorFlow's message), names of nodes. Out: a new one of the same class.
Invariant: what is computed for the nodes that stay is the same; the message that was given is not
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import UnsupportedError
from flowc.graph.edits.frozen_functions import READ, FrozenFunctions, node_name, passed_handles
from flowc.graph.encode import tensor_proto
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.shape import TensorShape

REFERENCES = frozenset({"Variable", "VariableV2"})
HANDLE = "VarHandleOp"


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> Any:
    """The nodes that `dest_nodes` (names) depend on, themselves too, in the order of the graph.
    Raises `AssertionError` for an unknown name, `TypeError` for a name in place of a list."""
    _check(graph_def, dest_nodes)
    nodes = {node.name: node for node in graph_def.node}
    for name in dest_nodes:
        assert name in nodes, f"{name} is not in graph"
    kept: set[str] = set()
    stack = list(dest_nodes)
    while stack:
        name = stack.pop()
        if name not in kept:
            kept.add(name)
            stack += [node_name(i) for i in nodes[name].input]
    return _with_nodes(graph_def, (n for n in graph_def.node if n.name in kept))


def _check(graph_def: Any, names: Any) -> None:
    if not hasattr(graph_def, "node") or not hasattr(graph_def, "SerializeToString"):
        raise TypeError(
            f"graph_def must be a graph_pb2.GraphDef proto, but got type {type(graph_def)}."
        )
    if isinstance(names, str):
        raise TypeError(f"dest_nodes must be an iterable of strings, but got type {type(names)}.")


def _with_nodes(graph_def: Any, nodes: Iterable[Any]) -> Any:
    found = type(graph_def)()
    found.node.extend(nodes)
    found.library.CopyFrom(graph_def.library)
    found.versions.CopyFrom(graph_def.versions)
    return found


# -- constants in place of variables


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> Any:
    """The nodes that `output_node_names` depend on, with the values that variables have in `sess`.

    `variable_names_whitelist`: the variables to replace (default: all); `variable_names_blacklist`:
    those to keep. Functions are called with values in place of handles. Raises
    `FailedPreconditionError` for a variable without a value, and `UnsupportedError` for a node that
    does more with one than to read it.
    """
    graph = extract_sub_graph(input_graph_def, output_node_names)
    chosen = [
        node
        for node in graph.node
        if (node.op in REFERENCES or node.op == HANDLE)
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and node.name not in (variable_names_blacklist or ())
    ]
    values = _values(sess, chosen)
    kinds = {name: dtypes.as_dtype(value.dtype).enum for name, value in values.items()}
    handles = passed_handles(graph.node, {n.name: n.name for n in chosen if n.op == HANDLE})
    functions = FrozenFunctions(graph)
    functions.take_values(graph.node, handles, kinds)
    for node in graph.node:
        if node.name in values:
            node.CopyFrom(_constant(node, values[node.name]))
    graph.library.function.extend(functions.made)
    return graph


def _values(sess: Any, variables: Sequence[Any]) -> dict[str, np.ndarray]:
    """The values in a session, read at one moment."""
    reads = {v.name: _reading(sess.graph, v) for v in variables}
    return {name: np.asarray(value) for name, value in sess.run(reads).items()}


def _reading(graph: Graph, variable: Any) -> Any:
    """The tensor that is a variable's value: of a handle what reads it outside of any loop."""
    op = graph.get_operation_by_name(variable.name)
    if variable.op != HANDLE:
        return op.outputs[0]
    for reader in op.outputs[0].consumers():
        if reader.type == READ and reader.control_flow_context is None:
            return reader.outputs[0]
    raise UnsupportedError(
        f"nothing reads the variable '{variable.name}' outside of functions and loops",
        hint="make the variable with tf.get_variable or tf.Variable, which read it once",
    )


def _constant(node: Any, value: np.ndarray) -> Any:
    found = type(node)()
    found.name, found.op, found.device = node.name, "Const", node.device
    dtype = node.attr["dtype"].type
    found.attr["dtype"].type = dtype
    tensor = tensor_proto(value, dtypes.from_enum(dtype))
    found.attr["value"].tensor.MergeFromString(tensor.SerializeToString())
    return found


# -- nodes that only training needs


def remove_training_nodes(input_graph: Any, protected_nodes: Collection[str] | None = None) -> Any:
    """The graph without CheckNumerics, and without Identity nodes that nothing waits for or stands
    beside; `protected_nodes` stay. A new GraphDef. Raises `AttributeError` for what is none."""
    kept = set(protected_nodes or ())
    inputs = [i for node in input_graph.node for i in node.input]
    waited = {node_name(i) for i in inputs if i.startswith("^")}
    beside = {
        group.decode().removeprefix("loc:@")
        for node in input_graph.node
        if "_class" in node.attr
        for group in node.attr["_class"].list.s
    }
    spliced: dict[str, str] = {}
    for node in input_graph.node:
        plain = not any(i.startswith("^") for i in node.input)
        free = node.name not in waited and node.name not in beside and plain
        removed = node.op == "CheckNumerics" or (node.op == "Identity" and free)
        if removed and node.name not in kept:
            spliced[node.name] = node.input[0]
    return _with_nodes(input_graph, _spliced(input_graph.node, spliced))


def _spliced(nodes: Iterable[Any], spliced: Mapping[str, str]) -> list[Any]:
    """The nodes that stay, with what those that do not stay pass on."""

    def behind(name: str) -> str:
        while node_name(name) in spliced:
            name = spliced[node_name(name)]
        return name

    found: list[Any] = []
    for node in nodes:
        if node.name in spliced:
            continue
        copy = type(node)()
        copy.CopyFrom(node)
        given = [i for i in node.input if not (i.startswith("^") and node_name(i) in spliced)]
        copy.input[:] = [i if i.startswith("^") else behind(i) for i in given]
        found.append(copy)
    return found


# -- facts about nodes


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """The shape of a tensor of the graph; an input's name, such as `x` or `x:1`. Raises `KeyError`
    where there is no such tensor."""
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Whether TensorFlow keeps a node (an Operation or a NodeDef) off accelerators: constants of
    strings and i32, a few ops on i32, and variables where they are pinned. A bool. Raises
    `TypeError` for anything else."""
    if not isinstance(node, Operation) and not hasattr(node, "attr"):
        raise TypeError(f"expected an Operation or a NodeDef, found {node!r}")
    definition = node.node_def if isinstance(node, Operation) else node
    if pin_variables_on_cpu and definition.op in REFERENCES:
        return True
    small = (dtypes.i32.enum,)
    told: dict[str, Callable[[], bool]] = {
        "Const": lambda: definition.attr["dtype"].type in (*small, dtypes.string.enum),
        "DynamicStitch": lambda: definition.attr["T"].type in small,
        "ParallelDynamicStitch": lambda: definition.attr["T"].type in small,
        "Cast": lambda: definition.attr["SrcT"].type in small,
    }
    return definition.op in told and told[definition.op]()
