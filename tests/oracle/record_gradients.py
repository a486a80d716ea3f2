#!/usr/bin/env python3
"""Runs the programs of `snippets/gradient_snippets.py` in TensorFlow and records what they do.

    V/bin/python tests/oracle/record_gradients.py        # V has tensorflow-cpu==2.21.0

In: TensorFlow and flowc in one process. Out: `tests/recorded/gradients.json`: values or errors, and
a digest of the GraphDef that flowc exports for the same program, written only if TensorFlow loads
that GraphDef and computes the same values from it, and for programs that are marked so has nodes of
the same names. Beside them the op types for which TensorFlow registers a gradient.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.ops import gradient_registry

TESTS = Path(__file__).parents[1]
sys.path[:0] = [
    str(TESTS / "support"),
    str(TESTS / "oracle"),
    str(TESTS.parent),
    str(TESTS.parent / "runtime"),
]

from api_program import outcome, run_snippet
from make_api_data import check_export
from snippets.gradient_snippets import GRADIENT_SNIPPETS

import flowc


def check_same_names(ours: Any, theirs: Any) -> None:
    """Exits where flowc's GraphDef has nodes of other names, op types or inputs."""
    mine, wanted = ([[n.name, n.op, list(n.input)] for n in g.node] for g in (ours, theirs))
    for a, b in itertools.zip_longest(mine, wanted):
        if a != b:
            raise SystemExit(f"nodes differ\n  flowc      {a}\n  TensorFlow {b}")


def main() -> None:
    registered = gradient_registry._registry
    entries: dict[str, Any] = {
        "differentiable": sorted(n for n, entry in registered.items() if entry["type"]),
        "not differentiable": sorted(n for n, entry in registered.items() if not entry["type"]),
    }
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    programs: dict[str, Any] = {}
    failures: list[str] = []
    for snippet in GRADIENT_SNIPPETS:
        found = outcome(tf, snippet)
        entry = programs[snippet.name] = {"error": found.error, "values": found.values}
        if found.error is None:
            with flowc.Graph().as_default() as graph:
                try:
                    program = run_snippet(flowc, snippet)
                    entry["exported"] = check_export(program, graph, found.values, snippet.name)
                    if snippet.alike:
                        check_same_names(graph.as_graph_def(), found.graph.as_graph_def())
                except (Exception, SystemExit) as error:
                    failures.append(f"{snippet.name}: {type(error).__name__}: {error}")
    entries["programs"] = programs
    text = json.dumps(entries, separators=(",", ":")).replace('"programs"', '\n"programs"')
    (TESTS / "recorded" / "gradients.json").write_text(text.replace('},"', '},\n"') + "\n")
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main()
