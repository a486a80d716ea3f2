#!/usr/bin/env python3
"""Records graphs at the edges of control flow, and what TensorFlow makes of them.

    V/bin/python tests/oracle/record_control_flow_edges.py    # V has tensorflow-cpu==2.21.0

Out: tests/data/control_flow_edges/graphs.npz. For each case its GraphDef and its runs, one after
another in one session: names of feeds and fetches, the arrays fed, and the arrays fetched or the
class and the message of the error that the run ends in.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
import edge_frames
import edge_functions  # noqa: F401  (defines cases)
import edge_loops  # noqa: F401  (defines cases)
import numpy as np
import tensorflow as tf

FILE = Path(__file__).resolve().parents[1] / "data" / "control_flow_edges" / "graphs.npz"
v1 = tf.compat.v1


def configuration() -> Any:
    """No optimizer looks at the graph: what counts is what the executor does with it."""
    config = v1.ConfigProto(
        operation_timeout_in_ms=20000, inter_op_parallelism_threads=1,
        intra_op_parallelism_threads=1,
    )  # fmt: skip
    config.graph_options.optimizer_options.opt_level = -1
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def message_of(error: Exception) -> str:
    """Without the traces of where nodes were built."""
    text = re.split(r"\n\t? ?\[\[|\n\nOriginal stack|\n\nErrors may", str(error))[0]
    text = re.sub(
        r"^(Graph execution error:|Detected at .*|    File .*|Node: .*)?\n", "", text, flags=re.M
    )
    return re.sub(r"^\d root error\(s\) found.\n\s*\(0\) \w+: ", "", text).strip()


def record(name: str, arrays: dict[str, Any]) -> list[dict[str, Any]]:
    with tf.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        runs = edge_frames.CASES[name]()
        edge_frames.place_constants(graph)
        arrays[f"{name}/graph"] = np.frombuffer(
            graph.as_graph_def().SerializeToString(deterministic=True), np.uint8
        )
    entries: list[dict[str, Any]] = []
    with v1.Session(graph=graph, config=configuration()) as session:
        for number, run in enumerate(runs):
            entry: dict[str, Any] = {
                "fetches": [f.name for f in run.fetches],
                "feeds": [t.name for t in run.feeds],
            }
            for i, (tensor, value) in enumerate(run.feeds.items()):
                arrays[f"{name}/{number}/x{i}"] = np.asarray(value, tensor.dtype.as_numpy_dtype)
            try:
                found = session.run(list(run.fetches), run.feeds)
            except tf.errors.OpError as error:
                entry["error"] = [type(error).__name__, message_of(error)]
            else:
                for i, value in enumerate(found):
                    if value is not None:
                        arrays[f"{name}/{number}/y{i}"] = np.asarray(value)
            entries.append(entry)
    return entries


def main() -> None:
    arrays: dict[str, Any] = {}
    index = {name: record(name, arrays) for name in edge_frames.CASES}
    for name, runs in index.items():
        for run in runs:
            if "error" in run:
                print(name, run["error"], file=sys.stderr)
    arrays["index"] = np.frombuffer(json.dumps(index).encode(), np.uint8)
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(FILE, **arrays)
    print(f"{len(index)} graphs, {FILE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
