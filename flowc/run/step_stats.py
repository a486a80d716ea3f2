"""The trace of a run as TensorFlow tells of it: `RunMetadata.step_stats`.

In: a trace, and the graph whose operations its steps compute. Out: its bytes, and the steps as
they are. Invariant: a step that computes several operations has its time under the name of the
last, whose label names the types of all; the others are entries that take none.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace

from flowc.codegen.compiled import COPY
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.step_stats import NodeTimes, run_metadata
from flowc.graph import Graph, Operation
from flowc.run.devices import CPU
from flowc.run.traces import Trace, TracedRun


@dataclass(frozen=True, slots=True)
class StepTimes:
    """One execution of a step, in nanoseconds since 1970. `kind`: what runs it ("cluster", "dot",
    "host"); `nodes`: the operations that it computes, of the types `ops`; `inputs`: the operations
    that they read; `outputs`: dtypes and shapes of what it gives, None where nobody knows."""

    kind: str
    nodes: tuple[str, ...]
    ops: str
    inputs: tuple[str, ...]
    start: int
    end: int
    outputs: tuple[tuple[DType, tuple[int, ...] | None], ...]

    @property
    def bytes(self) -> int:
        """The bytes of the step's outputs, as far as their shapes are known."""
        return sum(d.size * math.prod(s) for d, s in self.outputs if s is not None)


def steps_of(graph: Graph, trace: Trace) -> list[StepTimes]:
    """The steps that ran but for copies, in the order in which they began."""
    told = (run for run in trace.runs if run.step.kind != COPY)
    return [_times(graph, run) for run in sorted(told, key=lambda r: (r.start, -r.end))]


def metadata_of_run(
    graph: Graph, trace: Trace, has_graphs: bool, asked: Iterable[Operation] = ()
) -> bytes:
    """The `RunMetadata` with the times and tensors of every step that ran, in the order in which
    they began, and with the graph if that was asked for. `asked`: what the run was for; operations
    among them that no step computes, as they were known before, are told of, too."""
    graphs = [graph.as_graph_def().SerializeToString()] if has_graphs else []
    steps = steps_of(graph, trace)
    computed = {name for step in steps for name in step.nodes}
    now = time.time_ns()
    known = [_known(op, now) for op in dict.fromkeys(asked) if op.name not in computed]
    every = [x for step in steps for x in (step, *_fused(graph, step))]
    return run_metadata(CPU, [_node_times(step) for step in (*every, *known)], graphs)


def _fused(graph: Graph, step: StepTimes) -> Iterator[StepTimes]:
    """The operations of a step before the last, whose results have no memory of their own."""
    found = (_operation(graph, name) for name in step.nodes[:-1])
    for op in (op for op in found if op is not None):
        yield replace(_known(op, step.start), outputs=())


def _known(op: Operation, now: int) -> StepTimes:
    """An operation that took no time: a constant, or what follows from constants alone."""
    inputs = tuple(dict.fromkeys(t.op.name for t in op.inputs))
    typed = [(t.base_dtype, t.shape) for t in op.outputs]
    outputs = tuple((dtype, shape.static_sizes) for dtype, shape in typed if dtype is not None)
    return StepTimes("known", (op.name,), op.type, inputs, now, now, outputs)


def _node_times(step: StepTimes) -> NodeTimes:
    """`name = Op(inputs)`, as timelines show it; of several operations `Op+Op`."""
    name = step.nodes[-1]
    label = f"{name} = {step.ops}({', '.join(step.inputs)})"
    return NodeTimes(name, label, step.start, step.end, step.outputs)


def _times(graph: Graph, run: TracedRun) -> StepTimes:
    nodes = run.step.nodes
    found = [op for op in (_operation(graph, name) for name in nodes) if op is not None]
    types = "+".join(dict.fromkeys(op.type for op in found)) or run.step.kind
    inputs = dict.fromkeys(t.op.name for op in found for t in op.inputs)
    read = tuple(name for name in inputs if name not in set(nodes))
    outputs = tuple((o.dtype, o.shape) for o in run.outputs)
    return StepTimes(run.step.kind, nodes, types, read, run.start, run.end, outputs)


def _operation(graph: Graph, name: str) -> Operation | None:
    """None for what stands in a function, or what flowc made."""
    try:
        return graph.get_operation_by_name(name)
    except (KeyError, ValueError):
        return None
