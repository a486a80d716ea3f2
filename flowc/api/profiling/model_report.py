"""`tf.profiler.profile`: parameters, operations, times and bytes of a graph, by scope, by op type
or along its edges.

In: a graph, what runs of it told, options of a `ProfileOptionBuilder`. Out: messages with the
fields of TensorFlow's, and a report. Invariant: a node's totals are those of all that stands below.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flowc.api.profiling.node_measures import NUMBERS, accounted_types, measured_nodes
from flowc.api.profiling.options import ProfileOptionBuilder
from flowc.api.profiling.report_text import report_of
from flowc.encoding.profile_messages import (
    AdviceProto,
    GraphNodeProto,
    MultiGraphNodeProto,
    OpLogEntry,
    OpLogProto,
)
from flowc.errors import UnimplementedError
from flowc.graph import Graph, get_default_graph

ROOT = "_TFProfRoot"
Children = Mapping[str, Sequence[str]]
_VIEWS = ("scope", "graph", "op")
_LEAST = {
    "min_bytes": "requested_bytes",
    "min_peak_bytes": "peak_bytes",
    "min_residual_bytes": "residual_bytes",
    "min_output_bytes": "output_bytes",
    "min_micros": "exec_micros",
    "min_accelerator_micros": "accelerator_exec_micros",
    "min_cpu_micros": "cpu_exec_micros",
    "min_params": "parameters",
    "min_float_ops": "float_ops",
}
_ORDERS = {
    **{name.removeprefix("min_"): field for name, field in _LEAST.items()},
    "occurrence": "run_count",
}


def profile(
    graph: Graph | None = None,
    run_meta: Any = None,
    op_log: Any = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = None,
) -> GraphNodeProto | MultiGraphNodeProto:
    """What the nodes of a graph (the default graph without one) hold and take: numbers of
    parameters, floating point operations, and, with the RunMetadata of a traced run, times and
    bytes. `cmd`: "scope" by names, "graph" from results to what they read, "op" by types.

    Prints a report unless `options` (of a `ProfileOptionBuilder`) say otherwise. `op_log`: an
    OpLogProto, whose numbers of operations take the place of those that are known. Raises
    `ValueError` for another `cmd`, `UnimplementedError` for "code".
    """
    runs = [] if run_meta is None else [run_meta]
    return GraphReport(graph, runs, op_log).shown(cmd, options)


class Profiler:
    """Reports of several traced runs of one graph: `add_step` takes the RunMetadata of each, and
    the views show one of them (`with_step`), or their mean. Raises `ValueError` where no step was
    added."""

    def __init__(self, graph: Graph | None = None, op_log: Any = None) -> None:
        self._graph, self._op_log = graph, op_log
        self._steps: dict[int, Any] = {}

    def add_step(self, step: int, run_meta: Any) -> None:
        """The run of a step."""
        self._steps[step] = run_meta

    def _shown(self, cmd: str, options: Mapping[str, Any]) -> Any:
        step = options.get("step", -1)
        runs = [m for n, m in self._steps.items() if step in (-1, n)]
        return GraphReport(self._graph, runs, self._op_log).shown(cmd, options)

    def profile_name_scope(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """The scope view."""
        return self._shown("scope", options)

    def profile_graph(self, options: Mapping[str, Any]) -> GraphNodeProto:
        """The graph view."""
        return self._shown("graph", options)

    def profile_operations(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """The op view."""
        return self._shown("op", options)

    def advise(self, options: Mapping[str, Any] | None = None) -> AdviceProto:
        """What took longest in the runs."""
        return GraphReport(self._graph, [*self._steps.values()], self._op_log).advice()


def advise(
    graph: Graph | None = None, run_meta: Any = None, options: Mapping[str, Any] | None = None
) -> AdviceProto:
    """What took longest in a traced run: the three op types at the top, and their nodes, under
    `checkers["ExpensiveOperationChecker"]`. Raises `ValueError` without the metadata of a traced
    run."""
    return GraphReport(graph, [] if run_meta is None else [run_meta], None).advice()


def write_op_log(
    graph: Graph | None,
    log_dir: str | os.PathLike[str],
    op_log: Any = None,
    run_meta: Any = None,
    add_trace: bool = True,
) -> None:
    """Writes `log_dir/tfprof_log`: an OpLogProto with the floating point operations of the nodes,
    and which of them are trainable variables, beside what `op_log` has. Raises `OSError` where
    that cannot be written."""
    report = GraphReport(graph, [] if run_meta is None else [run_meta], op_log)
    entries = {e.name: e for e in (op_log.log_entries if op_log is not None else ())}
    for name, node in report.nodes.items():
        types = [t for t in report.types[name] if t.startswith("_")]
        if name not in entries and (types or node.float_ops):
            entries[name] = OpLogEntry(name=name, float_ops=node.float_ops, types=types)
    Path(log_dir).mkdir(parents=True, exist_ok=True)
    written = OpLogProto(log_entries=entries.values()).SerializeToString()
    Path(log_dir, "tfprof_log").write_bytes(written)


class GraphReport:
    """The nodes of a graph with their numbers. `types` has the op type of each node, and
    `_trainable_variables` where it is one."""

    def __init__(self, graph: Graph | None, runs: Sequence[Any], op_log: Any) -> None:
        self.graph = get_default_graph() if graph is None else graph
        self.nodes = measured_nodes(self.graph, runs)
        self.types = {
            op.name: accounted_types(self.graph, op) for op in self.graph.get_operations()
        }
        for entry in () if op_log is None else op_log.log_entries:
            if entry.name in self.nodes:
                self.nodes[entry.name].float_ops = entry.float_ops
                self.types[entry.name] = (*self.types[entry.name], *entry.types)

    def shown(self, cmd: str, options: Mapping[str, Any] | None) -> Any:
        """One view, which is printed as well."""
        if cmd == "code":
            raise UnimplementedError("tf.profiler: flowc keeps no lines of code of operations")
        if cmd not in _VIEWS:
            raise ValueError(f"cmd must be one of {', '.join(_VIEWS)}, found {cmd!r}")
        chosen = {**ProfileOptionBuilder().build(), **(options or {})}
        if cmd == "op":
            found: Any = self._by_type(chosen)
        else:
            children = self._scopes() if cmd == "scope" else self._edges()
            found = self._tree(children, chosen)
        _print(report_of(found, cmd, chosen["select"]), chosen["output"])
        return found

    # -- trees

    def _scopes(self) -> dict[str, list[str]]:
        """The scopes and nodes inside each scope."""
        found: dict[str, list[str]] = {ROOT: []}
        for name in self.nodes:
            parts = name.split("/")
            above = ROOT
            for end in range(1, len(parts) + 1):
                scope = "/".join(parts[:end])
                if scope not in found:
                    found[scope] = []
                    found[above].append(scope)
                above = scope
        return found

    def _edges(self) -> dict[str, list[str]]:
        """What each node reads, under the first that reads it."""
        found: dict[str, list[str]] = {ROOT: []}
        taken = set[str]()
        for op in reversed(self.graph.get_operations()):
            if op.name not in taken:
                found[ROOT].append(op.name)
                taken.add(op.name)
            found[op.name] = []
            for tensor in op.inputs:
                if tensor.op.name not in taken:
                    found[op.name].append(tensor.op.name)
                    taken.add(tensor.op.name)
        return found

    def _tree(self, children: Children, options: Mapping[str, Any]) -> GraphNodeProto:
        """The nodes that are shown: what is not shown gives its children to what stands above."""
        made: dict[str, list[GraphNodeProto]] = {}
        hidden: dict[str, GraphNodeProto] = {}  # what is counted though it is not shown
        for name, depth in _from_below(children, ROOT):  # the root's depth is 1
            kids = [c for inner in children[name] for c in made.pop(inner)]
            node = self._own(name, options)
            rest = GraphNodeProto()
            _total(rest, [hidden.pop(inner) for inner in children[name]])
            rest.total_definition_count -= 1  # it stands for no node
            kids = [] if _matches(name, options["trim_name_regexes"]) else kids
            is_shown = name == ROOT or (
                depth <= options["max_depth"]
                and (bool(kids) or self._is_accounted(name, options))
                and _is_large(node, options)
                and _is_named(name, options)
            )
            if not is_shown:
                _total(node, [rest])
                made[name], hidden[name] = kids, node
                continue
            _total(node, kids if options["account_displayed_op_only"] else [*kids, rest])
            node.children.extend(sorted(kids, key=_order(options)))
            made[name], hidden[name] = [node], GraphNodeProto()
        return made[ROOT][0]

    def _own(self, name: str, options: Mapping[str, Any]) -> GraphNodeProto:
        node = GraphNodeProto(name=name)
        if name in self.nodes and self._is_accounted(name, options):
            node.CopyFrom(self.nodes[name])
        return node

    def _is_accounted(self, name: str, options: Mapping[str, Any]) -> bool:
        return any(_matches(t, options["account_type_regexes"]) for t in self.types.get(name, ()))

    # -- types

    def _by_type(self, options: Mapping[str, Any]) -> MultiGraphNodeProto:
        """Each type inside of the one before it, as TensorFlow's view has them."""
        groups: dict[str, MultiGraphNodeProto] = {}
        for name in sorted(self.nodes):
            node = self.nodes[name]
            if self._is_accounted(name, options):
                kind = self.types[name][0]
                group = groups.setdefault(kind, MultiGraphNodeProto(name=kind))
                inner = group.graph_nodes.add()
                inner.CopyFrom(node)
                _total(inner, [])
                for number in NUMBERS:
                    setattr(group, number, getattr(group, number) + getattr(node, number))
        shown = [
            g
            for g in groups.values()
            if _is_large(g, options)
            and _is_named(g.name, options)
            and len(g.graph_nodes) >= options["min_occurrence"]
        ]
        last = None
        for group in reversed(sorted(shown, key=_order(options, ""))):
            _total(group, [] if last is None else [last])
            if last is not None:
                group.children.append(last)
            last = group
        root = MultiGraphNodeProto(name=ROOT)
        if last is not None:
            _total(root, [last])
            root.children.append(last)
        return root

    def advice(self) -> AdviceProto:
        """The op types that took longest."""
        options = {**ProfileOptionBuilder.time_and_memory(), "output": "none"}
        view = self.shown("op", options)
        whole, lines = view.total_exec_micros or 1, list[str]()
        while view.children and len(lines) < 3:
            (view,) = view.children
            slow = max(view.graph_nodes, key=lambda n: n.exec_micros)
            lines.append(
                f"top {len(lines) + 1} operation type: {view.name}, {view.exec_micros} us "
                f"({view.exec_micros / whole:.1%}), longest node: {slow.name}, "
                f"{slow.exec_micros} us"
            )
        found = AdviceProto()
        found.checkers["ExpensiveOperationChecker"].reports.extend(lines)
        return found


def _from_below(children: Children, root: str) -> list[tuple[str, int]]:
    """(name, depth) of all, each behind what stands below it."""
    found: list[tuple[str, int]] = []
    left = [(root, 1)]
    while left:
        name, depth = left.pop()
        found.append((name, depth))
        left += [(inner, depth + 1) for inner in children[name]]
    return found[::-1]


def _matches(text: str, patterns: Sequence[str]) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in patterns)


def _is_named(name: str, options: Mapping[str, Any]) -> bool:
    shown = (*options["start_name_regexes"],) if options["start_name_regexes"] != [".*"] else ()
    begins = not shown or any(re.match(pattern, name) for pattern in shown)
    is_shown = _matches(name, options["show_name_regexes"])
    return begins and is_shown and not _matches(name, options["hide_name_regexes"])


def _is_large(node: Any, options: Mapping[str, Any]) -> bool:
    return all(getattr(node, field) >= options.get(least, 0) for least, field in _LEAST.items())


def _order(options: Mapping[str, Any], above: str = "total_") -> Any:
    """By name, or the largest total first (without `above`: the node's own number)."""
    field = _ORDERS.get(options["order_by"])
    if field is None:
        return lambda node: node.name
    return lambda node: (-getattr(node, f"{above}{field}"), node.name)


def _total(node: Any, children: Sequence[Any]) -> None:
    """The totals of a node: its own numbers, and those of its children."""
    for number in NUMBERS:
        below = sum(getattr(child, f"total_{number}") for child in children)
        setattr(node, f"total_{number}", getattr(node, number) + below)
    if isinstance(node, GraphNodeProto):
        node.total_definition_count = 1 + sum(c.total_definition_count for c in children)
        runs = sum(c.total_run_count for c in children)
        node.total_run_count = node.run_count + runs


def _print(text: str, output: str) -> None:
    kind, _, rest = output.partition(":")
    if kind == "stdout":
        sys.stdout.write(text)
    elif kind == "file":
        Path(rest.removeprefix("outfile=")).write_text(text)
