"""Runs the programs of `dataset_snippets.py` in TensorFlow and records what they find.

    V/bin/python tests/oracle/record_datasets.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/datasets.json`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow.compat.v1 as tf

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from dataset_snippets import programs, seen


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    tf.disable_control_flow_v2()
    tf.get_logger().setLevel("ERROR")
    recorded: dict[str, object] = {}
    for name, code in programs().items():
        with tempfile.TemporaryDirectory() as folder:
            recorded[name] = seen(tf, code, folder + "/")
    lines = ",\n".join(f"{json.dumps(n)}: {json.dumps(v)}" for n, v in recorded.items())
    (TESTS / "recorded" / "datasets.json").write_text("{\n" + lines + "\n}\n")


if __name__ == "__main__":
    main()
