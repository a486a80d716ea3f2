"""Runs the programs of `saver_programs.py` and `saved_model_programs.py` in TensorFlow and records
what they see.

    V/bin/python tests/oracle/record_savers.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/savers.json`: what each program returned, and the nodes of each graph;
`contexts.meta`: a loop in a branch of another, with the contexts that TensorFlow writes.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from layer_program import lines_of
from saved_model_programs import MODEL_PROGRAMS
from saver_programs import GRAPHS, PROGRAMS


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    recorded: dict[str, Any] = {}
    for name, program in (PROGRAMS | MODEL_PROGRAMS).items():
        with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
            recorded[name] = program(tf, folder + "/")
    for name, build in GRAPHS.items():
        with tf.Graph().as_default() as graph:
            build(tf)
        recorded[name] = lines_of(graph.as_graph_def())
    with tf.Graph().as_default():
        contexts(str(TESTS / "recorded" / "contexts.meta"))
    text = json.dumps(recorded, indent=1)
    (TESTS / "recorded" / "savers.json").write_text(text + "\n")


def contexts(path: str) -> None:
    x = tf.placeholder(tf.float32, [], name="x")

    def body(i: Any, y: Any) -> Any:
        inner = tf.while_loop(lambda j, z: j < i, lambda j, z: (j + 1, z * x), [0, y], name="inner")
        return i + 1, tf.cond(inner[1] > 0, lambda: inner[1] + 1, lambda: inner[1], name="chosen")

    tf.while_loop(lambda i, y: i < 3, body, [0, x], name="loop")
    tf.train.export_meta_graph(path)


if __name__ == "__main__":
    main()
