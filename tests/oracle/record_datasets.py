"""Runs the programs of `dataset_snippets.py` in TensorFlow and records what they find.

    V/bin/python tests/oracle/record_datasets.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/datasets.json`, `iterator_states.json`, and `dataset_graphs.json` with the
graphs of some, compressed, and what TensorFlow finds in them.
"""

from __future__ import annotations

import base64
import json
import os
import sys
import tempfile
import zlib
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import numpy as np
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from iterator_states import resumed, states
from snippets.dataset_snippets import IMPORTED, imported, programs, seen


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    tf.get_logger().setLevel("ERROR")
    recorded: dict[str, object] = {}
    for name, code in programs().items():
        with tempfile.TemporaryDirectory() as folder:
            recorded[name] = seen(tf, code, folder + "/")
    write("datasets.json", recorded)
    kept: dict[str, object] = {}
    for name in states():
        with tempfile.TemporaryDirectory() as folder:
            kept[name] = resumed(tf, name, folder + "/")
    write("iterator_states.json", kept)
    write("dataset_graphs.json", {name: graph(programs()[name]) for name in IMPORTED})


def graph(code: str) -> list[object]:
    names = {
        "tf": tf,
        "np": np,
        "D": tf.data.Dataset,
        "E": tf.data.experimental,
    }
    with tf.Graph().as_default() as made:
        for statement in code.split("; "):
            exec(statement, names)
        tf.data.make_initializable_iterator(names["d"]).get_next()
    definition = made.as_graph_def()
    text = base64.b64encode(zlib.compress(definition.SerializeToString(), 9)).decode()
    return [text, imported(tf, definition)]


def write(name: str, recorded: dict[str, object]) -> None:
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in recorded.items())
    (TESTS / "recorded" / name).write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
