"""Records what TensorFlow's profiler says of the graphs of `profiler_programs.py`, and lets its
`timeline` and its profiler read what flowc told of a run.

    V/bin/python tests/oracle/record_profiler.py    # V has tensorflow-cpu 2.21.0

Out: `tests/recorded/profiler.json`.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow.compat.v1 as tf
from tensorflow.python.client import timeline

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "support")]

from profiler_programs import PROGRAMS, options, views


def told() -> list[object]:
    """What TensorFlow reads in the RunMetadata of `tests/data/profile`, which flowc wrote."""
    metadata = tf.RunMetadata.FromString((TESTS / "data/profile/run_metadata.pb").read_bytes())
    trace = timeline.Timeline(metadata.step_stats).generate_chrome_trace_format()
    events = [e for e in json.loads(trace)["traceEvents"] if e["ph"] == "X"]
    graph = tf.Graph()
    with graph.as_default():
        tf.import_graph_def(metadata.partition_graphs[0], name="")
    quiet = {**tf.profiler.ProfileOptionBuilder.time_and_memory(0, 0), "output": "none"}
    view = tf.profiler.profile(graph, metadata, cmd="op", options=quiet)
    return [[[e["name"], e["args"]["name"]] for e in events], view.total_requested_bytes > 0]


def main() -> None:
    tf.disable_eager_execution()
    tf.disable_resource_variables()
    found: dict[str, object] = {name: views(tf, p) for name, p in PROGRAMS.items()}
    found["options"] = options(tf)
    found["told"] = told()
    text = json.dumps(found, indent=0)
    (TESTS / "recorded" / "profiler.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
