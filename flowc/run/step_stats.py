"""The trace of a run as TensorFlow tells of it: `RunMetadata.step_stats`.

In: a trace, and the graph whose operations its steps compute. Out: its bytes. Invariant: a step
that computes several operations is one entry under the name of the last, and its label names the
types of all.
"""

from __future__ import annotations

from collections.abc import Iterable

from flowc.codegen.compiled import COPY
from flowc.encoding.step_stats import NodeTimes, run_metadata
from flowc.graph import Graph, Operation
from flowc.run.devices import CPU
from flowc.run.traces import Trace, TracedRun


def told_of_run(graph: Graph, trace: Trace, has_graphs: bool) -> bytes:
    """The `RunMetadata` with the times and tensors of every step that ran, in the order in which
    they began, and with the graph if that was asked for."""
    told = (run for run in trace.runs if run.step.kind != COPY)
    runs = sorted(told, key=lambda run: run.start)
    graphs = [graph.as_graph_def().SerializeToString()] if has_graphs else []
    return run_metadata(CPU, [_times(graph, run) for run in runs], graphs)


def _times(graph: Graph, run: TracedRun) -> NodeTimes:
    name = run.step.nodes[-1]
    outputs = [(o.dtype, o.shape) for o in run.outputs]
    return NodeTimes(name, _label(graph, run), run.start, run.end, outputs)


def _label(graph: Graph, run: TracedRun) -> str:
    """`name = Op(inputs)`, as timelines show it; of several operations `Op+Op`."""
    found = [op for op in (_operation(graph, name) for name in run.step.nodes) if op is not None]
    types = "+".join(dict.fromkeys(op.type for op in found)) or run.step.kind
    inside = set(run.step.nodes)
    inputs = dict.fromkeys(t.op.name for op in found for t in op.inputs)
    given: Iterable[str] = (name for name in inputs if name not in inside)
    return f"{run.step.nodes[-1]} = {types}({', '.join(given)})"


def _operation(graph: Graph, name: str) -> Operation | None:
    """None for what stands in a function, or what flowc made."""
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None
