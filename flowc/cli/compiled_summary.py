"""What `flowc compile` says of a program at the end.

In: the graph, the report of its compilation, the program. Out: plain data; lines on stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from flowc.plan.text import arena_text

if TYPE_CHECKING:
    from flowc.codegen.compiled import CompiledProgram
    from flowc.compiler import Report
    from flowc.graph import Graph


def summary_of(graph: Graph, report: Report, program: CompiledProgram) -> dict[str, Any]:
    """What became of a model, as plain data."""
    plan = report.stages.plan
    spec = program.metadata.spec
    return {
        "variables": [str(v.tensor) for v in spec.variables],
        "objects": [o.name for o in spec.objects],
        "inputs": list(map(str, spec.fed)),
        "outputs": list(map(str, spec.fetched)),
        "nodes in": report.nodes_in,
        "nodes of the model": _nodes_held(graph),
        "kernels out": len(report.stages.kernels),
        "launches": report.clusters,
        "arena": arena_text(plan) if plan is not None else "none",
        "weights": program.metadata.weights_bytes,
        "seconds": dict(report.seconds),
    }


def print_summary(files: Sequence[Mapping[str, Any]], programs: Mapping[str, Any]) -> None:
    """The files and what became of each program, in a few lines on stderr."""
    rows = [("" if n else "wrote", _file_text(file)) for n, file in enumerate(files)]
    for name, found in programs.items():
        if name:
            rows.append(("signature", name))
        if found["variables"]:
            rows.append(("variables", ", ".join(found["variables"])))
        if found["objects"]:
            rows.append(("objects", ", ".join(found["objects"])))
        times = ", ".join(f"{k} {v:.2f}" for k, v in found["seconds"].items())
        rows += [
            ("inputs", ", ".join(found["inputs"]) or "none"),
            ("outputs", ", ".join(found["outputs"]) or "none"),
            ("nodes in", f"{found['nodes in']:,} of {found['nodes of the model']:,}"),
            ("kernels out", f"{found['kernels out']}, launched from {found['launches']} places"),
            ("arena", found["arena"]),
            ("weights", f"{found['weights']:,} bytes"),
            ("target", found["target"]),
            ("seconds", times),
        ]
    for name, value in rows:
        print(f"{name:>12}  {value}", file=sys.stderr)


def _file_text(file: Mapping[str, Any]) -> str:
    is_library = str(file["path"]).endswith((".so", ".a"))
    return f"{file['path']} ({file['bytes']:,} bytes)" if is_library else file["path"]


def _nodes_held(graph: Graph) -> int:
    """As `flowc inspect` counts them: those of a function once, however often it is called."""
    inner = sum(len(f.body.nodes) for f in graph.functions.values())
    return len(graph.get_operations()) + inner
