"""Runs the programs of `snippets/layer_snippets.py` in TensorFlow and records what they do.

    V/bin/python tests/oracle/record_layers.py    # V has tensorflow-cpu and tf-keras, 2.21.0

Out: `tests/recorded/layers.json`: for each program its values or error, what it said, and the nodes
of its graph where flowc's must be the same.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from api_program import outcome
from layer_program import lines_of
from snippets.layer_snippets import LAYER_SNIPPETS


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded: dict[str, Any] = {}
    for snippet in LAYER_SNIPPETS:
        found = outcome(tf, snippet)
        entry = {"error": found.error, "values": found.values, "said": found.said}
        if snippet.alike:
            entry["nodes"] = lines_of(found.graph.as_graph_def())
        recorded[snippet.name] = {k: v for k, v in entry.items() if v not in (None, [])}
    text = json.dumps(recorded, indent=0, default=bytes.decode)
    (TESTS / "recorded" / "layers.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
