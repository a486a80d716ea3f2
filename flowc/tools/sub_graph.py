"""The part of a model between inputs and outputs.

In: a model's message, names of tensors. Out: the message with the nodes that the outputs need, and
placeholders where it was cut. Invariant: what is computed for the outputs is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.encoding.context_names import MESSAGES
from flowc.errors import UnknownNameError, UsageError, did_you_mean
from flowc.graph.edits.graph_def_edits import extract_sub_graph, node_name
from flowc.graph.encode import attr_value
from flowc.graph.graph import Graph
from flowc.graph.tensor import Tensor
from flowc.importer.metagraph import graph_of_message
from flowc.tools.meta_graph import fit_meta_graph, variable_of
from flowc.tools.model_file import ModelFile


def extract_model(model: ModelFile, outputs: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Leaves a model what `outputs` (tensors, or nodes) need when `inputs` (tensors) are fed;
    variables keep what initializes them. Returns what was kept and dropped. Raises
    `UnknownNameError`, and `UsageError` for an input that is no tensor of known dtype."""
    whole = len(model.graph_def.node)
    graph = graph_of_message(model.graph_def, str(model.path))
    for name in outputs:
        _check_known(graph, name)
    cut = _cut(model.graph_def, graph, inputs)
    ends = [node_name(name) for name in outputs]
    found = extract_sub_graph(cut, ends)
    if model.meta_graph is not None:
        found = extract_sub_graph(cut, [*ends, *_initializers(model.meta_graph, cut, found)])
    kept = {node.name for node in found.node}
    unused = [name for name in inputs if node_name(name) not in kept]
    if unused:
        raise UsageError(f"no output needs the inputs {', '.join(unused)}", hint="leave them out")
    model.graph_def.CopyFrom(found)
    notes = [f"kept {len(kept)} of {whole} nodes"]
    if model.meta_graph is not None:
        there = {op.name for op in graph.get_operations()}
        new_name = lambda name: None if name in there and name not in kept else name
        notes += fit_meta_graph(model.meta_graph, new_name)
    return notes


def _check_known(graph: Graph, name: str) -> None:
    if node_name(name) not in graph:
        names = [op.name for op in graph.get_operations()]
        raise UnknownNameError(
            f"no node is named {node_name(name)!r}", hint=did_you_mean(name, names)
        )


def _cut(graph_def: Any, graph: Graph, inputs: Sequence[str]) -> Any:
    """The graph with placeholders, of the same names, in place of the nodes of inputs."""
    cut: dict[str, Any] = {}
    for name in inputs:
        _check_known(graph, name)
        node, _, index = name.partition(":")
        op = graph.get_operation_by_name(node)
        if (index or "0") != "0" or len(op.outputs) != 1:
            raise UsageError(
                f"input {name!r}: node '{node}' ({op.type}) has {len(op.outputs)} outputs, and a "
                "placeholder has one",
                hint="cut behind it, at a node with one output",
            )
        cut[node] = _placeholder(graph_def, op.outputs[0])
    found = type(graph_def)()
    found.CopyFrom(graph_def)
    for node in found.node:
        if node.name in cut:
            node.CopyFrom(cut[node.name])
    return found


def _placeholder(graph_def: Any, tensor: Tensor) -> Any:
    if tensor.dtype is None:
        raise UsageError(
            f"input '{tensor.name}': flowc does not know the dtype of what {tensor.op.type} gives",
            hint="cut at another node",
        )
    node = type(graph_def)().node.add()
    node.name, node.op, node.device = tensor.op.name, "Placeholder", tensor.op.device
    node.attr["dtype"].type = tensor.dtype.base_dtype.enum
    shape = attr_value(tensor.shape).SerializeToString()
    node.attr["shape"].MergeFromString(shape)
    return node


def _initializers(meta: Any, cut: Any, found: Any) -> list[str]:
    """The nodes that give first values to the variables of `found`, and read them."""
    kept = {node.name for node in found.node}
    there = {node.name for node in cut.node}
    more: list[str] = []
    for key, collection in meta.collection_def.items():
        if collection.WhichOneof("kind") != "bytes_list" or key in MESSAGES:
            continue
        for value in collection.bytes_list.value:
            variable = variable_of(value)
            if variable is not None and node_name(variable.variable_name) in kept:
                names = variable.initializer_name, variable.snapshot_name
                more += [n for name in names if (n := node_name(name)) in there]
    return more
