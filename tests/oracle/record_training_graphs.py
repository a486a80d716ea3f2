#!/usr/bin/env python3
"""Records steps of training that TensorFlow runs, and the graphs with their gradients.

    PYTHONPATH=tests/oracle V/bin/python tests/oracle/record_training_graphs.py [FOLDER NAME...]

V has tensorflow-cpu 2.21. Out: tests/data/training/graphs.npz: `index` (JSON), for each graph its
bytes, what each step is fed with, the losses, and the variables at the start and at the end. A
second run writes the same bytes.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf
from training_models import MODELS, Maker

FOLDER = Path(__file__).resolve().parents[1] / "data" / "training"
STEPS = 5
# Which variables and which control flow: references and frames are TensorFlow 1's.
KINDS = {"references": (False, False), "frames": (True, False), "functions": (True, True)}
KEPT = (
    "mlp-references", "averaged-references", "lstm-frames", "loops-frames", "embedding-functions",
)  # fmt: skip
v1 = tf.compat.v1


def graph_bytes(graph: tf.Graph) -> bytes:
    definition = graph.as_graph_def()
    for node in definition.node:
        node.ClearField("experimental_debug_info")
    return definition.SerializeToString(deterministic=True)


def record(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The graph's entry of the index, and its arrays."""
    model, kind = name.split("-")
    resources, functions = KINDS[kind]
    (v1.enable_control_flow_v2 if functions else v1.disable_control_flow_v2)()
    with tf.Graph().as_default() as graph, v1.variable_scope("", use_resource=resources):
        made = MODELS[model](Maker(len(model), STEPS))
        variables = v1.global_variables()
        initializer = v1.global_variables_initializer()
        reads = [v.read_value() if resources else v._ref() for v in variables]
    config = v1.ConfigProto(inter_op_parallelism_threads=1, intra_op_parallelism_threads=1)
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    arrays: dict[str, np.ndarray] = {"graph": np.frombuffer(graph_bytes(graph), np.uint8)}
    losses = []
    with v1.Session(graph=graph, config=config) as session:
        session.run(initializer)
        for number in range(STEPS):
            feeds = {place: values[number] for place, values in made.feeds.items()}
            loss, _ = session.run([made.loss, made.step], feeds)
            losses.append(loss)
            for place, value in feeds.items():
                arrays[f"feed/{number}/{place.op.name}"] = value
        ends = session.run(reads)
    arrays["losses"] = np.array(losses)
    for variable, end in zip(variables, ends):
        arrays[f"end/{variable.op.name}"] = end
    entry = {
        "initializer": initializer.name,
        "loss": made.loss.op.name,
        "step": made.step.name,
        "variables": {v.op.name: r.name for v, r in zip(variables, reads)},
    }
    return entry, arrays


def main(folder: Path, names: list[str]) -> None:
    index: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for name in names:
        try:
            index[name], found = record(name)
        except Exception as error:
            print(name, repr(error)[:300])
            continue
        arrays |= {f"{name}/{key}": value for key, value in found.items()}
        print(name, found["losses"])
    text = json.dumps(index, sort_keys=True)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(
        folder / "graphs.npz", index=np.frombuffer(text.encode(), np.uint8), **arrays
    )


if __name__ == "__main__":
    chosen = sys.argv[1:]
    main(Path(chosen[0]) if chosen else FOLDER, chosen[1:] or list(KEPT))
