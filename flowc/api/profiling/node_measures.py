"""The numbers of each node of a graph: parameters, floating point operations, times, bytes.

In: a graph, and the RunMetadata of traced runs. Out: a message for each node. Invariant: numbers of
several runs are means; a step that computes several operations counts for the last of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from flowc.api.profiling.float_operations import Sizes, float_operations, shape_of
from flowc.api.variables.graph_keys import GraphKeys
from flowc.encoding.profile_messages import GraphNodeProto
from flowc.graph import Graph, Operation, Tensor

NUMBERS = (
    "exec_micros", "accelerator_exec_micros", "cpu_exec_micros", "requested_bytes", "peak_bytes",
    "residual_bytes", "output_bytes", "parameters", "float_ops",
)  # fmt: skip
TRAINABLE = "_trainable_variables"
_VARIABLES = {"Variable", "VariableV2", "VarHandleOp", "TemporaryVariable"}


def accounted_types(graph: Graph, op: Operation) -> tuple[str, ...]:
    """The type of an operation, and `_trainable_variables` for a variable that is trained."""
    if op.type not in _VARIABLES:
        return (op.type,)
    trained = {v.op.name for v in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    return (op.type, TRAINABLE) if op.name in trained else (op.type,)


def measured_nodes(graph: Graph, runs: Sequence[Any]) -> dict[str, GraphNodeProto]:
    """The nodes by name, with their own numbers."""
    stats: dict[str, list[Any]] = defaultdict(list)
    for metadata in runs:
        for device in metadata.step_stats.dev_stats:
            for node in device.node_stats:
                stats[node.node_name.split(":")[0]].append(node)
    shapes = {name: _shapes_told(found[-1]) for name, found in stats.items()}
    return {
        op.name: _measured(op, stats.get(op.name, ()), shapes, max(len(runs), 1))
        for op in graph.get_operations()
    }


def _shapes_told(stats: Any) -> dict[int, Sizes]:
    found: dict[int, Sizes] = {}
    for output in stats.output:
        shape = output.tensor_description.shape
        if not shape.unknown_rank:
            found[output.slot] = tuple(d.size for d in shape.dim)
    return found


def _measured(
    op: Operation, stats: Sequence[Any], told: dict[str, dict[int, Sizes]], runs: int
) -> GraphNodeProto:
    def shape(tensor: Tensor) -> Sizes | None:
        known = shape_of(tensor)
        return told.get(tensor.op.name, {}).get(tensor.value_index) if known is None else known

    found = GraphNodeProto(name=op.name)
    inputs, outputs = [shape(t) for t in op.inputs], [shape(t) for t in op.outputs]
    found.float_ops = float_operations(op, inputs, outputs) or 0
    found.parameters = _parameters(op)
    for number, sizes in enumerate(inputs):
        for size in (sizes or (1,)) if sizes is not None else ():
            found.input_shapes[number].dim.add(size=size)
    micros = sum(s.all_end_rel_micros for s in stats)
    found.exec_micros = found.cpu_exec_micros = round(micros / runs)
    taken = sum(memory.total_bytes for s in stats for memory in s.memory)
    found.requested_bytes = found.peak_bytes = found.output_bytes = round(taken / runs)
    found.run_count = len(stats)
    return found


def _parameters(op: Operation) -> int:
    """Of what is declared with a shape: variables, and placeholders, which TensorFlow counts too.
    Only variables are trained."""
    sizes = op.attrs.get("shape")
    if not isinstance(sizes, tuple) or not all(isinstance(s, int) and s >= 0 for s in sizes):
        return 0
    return math.prod(sizes)
