"""Records what TensorFlow does with the programs of `snippets/python_function_snippets.py`.

Out: `tests/recorded/python_functions.json`: values, errors, and the nodes of those marked so.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"
TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "support"))

import tensorflow.compat.v1 as tf
from api_program import outcome
from snippets.python_function_snippets import (
    PYTHON_FUNCTION_SNIPPETS,
    as_json,
    nodes_text,
    numbered,
)


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded: dict[str, Any] = {}
    for snippet in PYTHON_FUNCTION_SNIPPETS:
        found = outcome(tf, snippet)
        entry: dict[str, Any] = {"error": found.error, "values": as_json(found.values)}
        if found.error is not None:
            names, message = found.error
            entry["error"] = [names, numbered(message.splitlines()[0])]
        if snippet.alike:
            entry["nodes"] = nodes_text(found.graph.as_graph_def())
        recorded[snippet.name] = entry
    place = TESTS / "recorded" / "python_functions.json"
    place.write_text(json.dumps(recorded, indent=1) + "\n")


if __name__ == "__main__":
    main()
