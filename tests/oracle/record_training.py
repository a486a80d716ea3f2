#!/usr/bin/env python3
"""Runs the programs of `snippets/training_snippets.py` in TensorFlow and records what they do.

    V/bin/python tests/oracle/record_training.py        # V has tensorflow-cpu==2.21.0

Out: `tests/recorded/training.json`: of each program its values or its error, and where flowc's
graph must be alike, the nodes of TensorFlow's; of each program of `session_snippets.py` what it
saw.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from api_program import nodes_of, outcome
from snippets.session_snippets import SESSIONS, seen
from snippets.training_snippets import TRAINING


def _lines(brackets: str, entries: list[str]) -> str:
    """JSON with an entry a line, so that recordings are compared line by line."""
    return brackets[0] + "\n" + ",\n".join(entries) + "\n" + brackets[1]


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    programs: dict[str, Any] = {}
    nodes: dict[str, int] = {}  # each once: programs have most of theirs in common
    for snippet in TRAINING:
        found = outcome(tf, snippet)
        programs[snippet.name] = {"error": found.error, "values": found.values}
        if snippet.alike:
            assert found.error is None, (snippet.name, found.error)
            texts = [json.dumps(node) for node in nodes_of(found.graph.as_graph_def())]
            places = [nodes.setdefault(text, len(nodes)) for text in texts]
            programs[snippet.name]["nodes"] = places
    logs: dict[str, Any] = {}
    for name in SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            logs[name] = seen(tf, name, folder)
    tables = {
        "programs": _lines(
            "{}", [f"{json.dumps(n)}: {json.dumps(r)}" for n, r in programs.items()]
        ),
        "nodes": _lines("[]", list(nodes)),
        "logs": _lines("{}", [f"{json.dumps(n)}: {json.dumps(r)}" for n, r in logs.items()]),
    }
    text = _lines("{}", [f"{json.dumps(name)}: {table}" for name, table in tables.items()]) + "\n"
    (TESTS / "recorded" / "training.json").write_text(text)


if __name__ == "__main__":
    main()
