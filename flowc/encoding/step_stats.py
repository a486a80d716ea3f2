"""What a run tells of itself as a `RunMetadata` message.

In: what ran from when to when, in nanoseconds since 1970, and the tensors that it gave. Out: the
bytes of the message that TensorFlow's tools read. Invariant: a time is written in microseconds and
in nanoseconds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.tensor_proto import data_type
from flowc.proto.step_stats_pb2 import NodeExecStats, RunMetadata

ALLOCATOR = "cpu"


@dataclass(frozen=True, slots=True)
class NodeTimes:
    """One execution of a node. `label`: `name = Op(inputs)`; a shape may be unknown: None."""

    name: str
    label: str
    start: int
    end: int
    outputs: Sequence[tuple[DType, tuple[int, ...] | None]]


def run_metadata(device: str, nodes: Sequence[NodeTimes], graphs: Sequence[bytes]) -> bytes:
    """The message of one device's nodes, and of the serialized graphs that ran."""
    found = RunMetadata()
    if nodes:
        of_device = found.step_stats.dev_stats.add(device=device)
        of_device.thread_names[0] = "flowc"
        for node in nodes:
            _fill(of_device.node_stats.add(), node)
    for graph in graphs:
        found.partition_graphs.add().ParseFromString(graph)
    return found.SerializeToString()


def _fill(stats: NodeExecStats, node: NodeTimes) -> None:
    nanos = node.end - node.start
    stats.node_name, stats.timeline_label = node.name, node.label
    stats.scheduled_nanos = stats.all_start_nanos = node.start
    stats.scheduled_micros = stats.all_start_micros = node.start // 1000
    stats.op_end_rel_nanos = stats.all_end_rel_nanos = nanos
    stats.op_end_rel_micros = stats.all_end_rel_micros = nanos // 1000
    total = 0
    for slot, (dtype, shape) in enumerate(node.outputs):
        described = stats.output.add(slot=slot).tensor_description
        described.dtype = data_type(dtype)
        described.shape.unknown_rank = shape is None
        size = dtype.size * math.prod(shape or ())
        for dim in shape or ():
            described.shape.dim.add(size=dim)
        allocated = described.allocation_description
        allocated.requested_bytes = allocated.allocated_bytes = 0 if shape is None else size
        allocated.allocator_name = ALLOCATOR
        total += allocated.allocated_bytes
    stats.memory.add(allocator_name=ALLOCATOR, total_bytes=total, peak_bytes=total)
