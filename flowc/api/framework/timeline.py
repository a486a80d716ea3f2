"""`Timeline`: the steps of a run as a trace that browsers show (`chrome://tracing`, Perfetto).

In: the `step_stats` of a `RunMetadata`. Out: JSON. Invariant: a device is a process of the trace, a
step an event of it; an arrow leads from a step to each that reads what it gave.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_LABEL = re.compile(r"(.*) = (.*)\((.*)\)", re.DOTALL)


class Timeline:
    """The timeline of one traced run: `Timeline(run_metadata.step_stats)`. `graph` is not used.
    Raises `AttributeError` for what are no step stats."""

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        self._devices = step_stats.dev_stats

    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False, op_time: str = "schedule"
    ) -> str:
        """The trace as a string of JSON, times in microseconds.

        `show_dataflow`: with arrows between steps; `show_memory`: with the bytes of the tensors
        that the steps so far have made, by device; `op_time`: "schedule" counts a step from its
        start to its end, "gpu" and "all" mean the same on a CPU. Raises `ValueError` for another
        `op_time`.
        """
        if op_time not in ("schedule", "gpu", "all"):
            raise ValueError(f"op_time must be 'schedule', 'gpu' or 'all', found {op_time!r}")
        events: list[dict[str, Any]] = []
        for pid, device in enumerate(self._devices):
            events += _names(pid, device)
            events += [_region(pid, node) for node in device.node_stats]
            if show_dataflow:
                events += _arrows(pid, device)
            if show_memory:
                events += _memory(pid, device)
        return json.dumps({"traceEvents": events}, indent=4, separators=(",", ": "))


def _parsed(node: Any) -> tuple[str, list[str]]:
    """(the op of a step, the names of its inputs)"""
    found = _LABEL.fullmatch(node.timeline_label)
    if found is None:
        return node.timeline_label or node.node_name, []
    return found[2], [name.strip() for name in found[3].split(", ") if name]


def _event(phase: str, category: str, name: str, pid: int, node: Any) -> dict[str, Any]:
    found = {"ph": phase, "cat": category, "name": name, "pid": pid, "tid": node.thread_id}
    return {**found, "ts": _start(node)}


def _start(node: Any) -> float:
    return node.all_start_nanos / 1000 if node.all_start_nanos else node.all_start_micros


def _duration(node: Any) -> float:
    return node.all_end_rel_nanos / 1000 if node.all_end_rel_nanos else node.all_end_rel_micros


def _names(pid: int, device: Any) -> Iterator[dict[str, Any]]:
    yield {"name": "process_name", "ph": "M", "pid": pid, "args": {"name": device.device}}
    for tid, name in device.thread_names.items():
        yield {"name": "thread_name", "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}}


def _region(pid: int, node: Any) -> dict[str, Any]:
    op, inputs = _parsed(node)
    args = {"name": node.node_name, "op": op}
    args |= {f"input{i}": name for i, name in enumerate(inputs)}
    return {**_event("X", "Op", op, pid, node), "dur": _duration(node), "args": args}


def _arrows(pid: int, device: Any) -> Iterator[dict[str, Any]]:
    """From the last execution of a step to those that read it, each pair with its number."""
    made: dict[str, Any] = {}
    number = 0
    for node in device.node_stats:
        for name in dict.fromkeys(_parsed(node)[1]):
            source = made.get(name.removeprefix("^").split(":")[0])
            if source is None:
                continue
            start = _event("s", "DataFlow", name, pid, source)
            yield {**start, "ts": _start(source) + _duration(source), "id": number}
            yield {**_event("t", "DataFlow", name, pid, node), "id": number}
            number += 1
        made[node.node_name] = node


def _memory(pid: int, device: Any) -> Iterator[dict[str, Any]]:
    total = 0
    for node in device.node_stats:
        total += sum(memory.total_bytes for memory in node.memory)
        event = _event("C", "Memory", "Memory", pid, node)
        yield {**event, "ts": _start(node) + _duration(node), "args": {"bytes": total}}
