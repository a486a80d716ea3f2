"""What `flowc compile` says of a program at the end.

In: the graph, the report of its compilation, the program. Out: lines on stderr.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowc.codegen.compiled import CompiledProgram
    from flowc.compiler import Report
    from flowc.graph import Graph
    from flowc.ir.dims import Dim


def print_summary(graph: Graph, report: Report, program: CompiledProgram, target: str) -> None:
    """What became of a model, in a few lines on stderr."""
    rows: list[tuple[str, Any]] = []
    plan = report.stages.plan
    spec = program.metadata.spec
    variables = ", ".join(str(v.tensor) for v in spec.variables)
    if variables:
        rows.append(("variables", variables))
    rows += [
        ("inputs", ", ".join(map(str, spec.fed)) or "none"),
        ("outputs", ", ".join(map(str, spec.fetched)) or "none"),
        ("nodes in", f"{report.nodes_in:,} of {_nodes_held(graph):,}"),
        ("kernels out", f"{len(report.stages.kernels)}, launched from {report.clusters} places"),
        ("arena", _bytes(plan.arena_bytes) if plan is not None else "none"),
        ("weights", f"{program.metadata.weights_bytes:,} bytes"),
        ("target", target),
        ("seconds", ", ".join(f"{k} {v:.2f}" for k, v in report.seconds.items())),
    ]
    for name, value in rows:
        print(f"{name:>12}  {value}", file=sys.stderr)


def _bytes(size: Dim) -> str:
    """A size in bytes; one that grows with the inputs is told where every named size is 1."""
    from flowc.ir.dims import evaluate, symbols_of

    if isinstance(size, int):
        return f"{size:,} bytes"
    named = symbols_of(size)
    least = evaluate(size, dict.fromkeys(named, 1))
    names = ", ".join(map(str, named))
    return f"{least:,} bytes where {names} {'is' if len(named) == 1 else 'are'} 1"


def _nodes_held(graph: Graph) -> int:
    """As `flowc inspect` counts them: those of a function once, however often it is called."""
    inner = sum(len(f.body.nodes) for f in graph.functions.values())
    return len(graph.get_operations()) + inner
