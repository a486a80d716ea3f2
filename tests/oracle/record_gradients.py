#!/usr/bin/env python3
"""Runs the programs of `tests/support/gradient_snippets.py` in TensorFlow and records what they do.

    V/bin/python tests/oracle/record_gradients.py        # V has tensorflow-cpu==2.21.0

Out: `tests/recorded/gradients.json`: values or errors, for some the nodes, and the op types for
which TensorFlow registers a gradient.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
from tensorflow.python.framework.ops import gradient_registry

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS / "support"))

from api_program import outcome
from gradient_snippets import GRADIENT_SNIPPETS


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
    for snippet in GRADIENT_SNIPPETS:
        found = outcome(tf, snippet)
        programs[snippet.name] = {"error": found.error, "values": found.values}
        if snippet.alike:
            programs[snippet.name]["nodes"] = [
                [node.name, node.op, list(node.input)] for node in found.graph.as_graph_def().node
            ]
        if found.error is not None:
            print(snippet.name, found.error[0][0], found.error[1][:150])
    entries["programs"] = programs
    text = json.dumps(entries, separators=(",", ":")).replace('"programs"', '\n"programs"')
    (TESTS / "recorded" / "gradients.json").write_text(text.replace('},"', '},\n"') + "\n")


if __name__ == "__main__":
    main()
