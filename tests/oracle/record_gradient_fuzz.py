#!/usr/bin/env python3
"""Records the gradients that TensorFlow computes for the random programs of the fuzz.

    PYTHONPATH=tests/support V/bin/python tests/oracle/record_gradient_fuzz.py [OUT [FIRST COUNT]]

V has tensorflow-cpu==2.21.0. Out: tests/recorded/gradient_fuzz.npz, or OUT for other seeds.
`frames` and `functions`: for each seed the loss and its gradients (NaN where TensorFlow raises), of
the program with the control flow of TensorFlow 1 and of another one with that of TensorFlow 2;
`frame_rows`: which of the gradients are rows (`IndexedSlices`). `graphs`: what
TensorFlow 2 builds, one GraphDef after another, for the first `IN_SUITE` seeds, or for all where
OUT is given; `ends`: where each ends, `fetches`: the names of their losses.
"""

from __future__ import annotations

import logging
import lzma
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf
from gradient_programs import (
    INPUTS,
    SIZE,
    GradientProgram,
    differentiated,
    flat,
    in_session,
    points,
)

OUT = Path(__file__).resolve().parents[1] / "recorded" / "gradient_fuzz.npz"
v1 = tf.compat.v1
COUNT = 1000
IN_SUITE = 40


class Recorded:
    def __init__(self) -> None:
        self.values: list[np.ndarray] = []
        self.rows: list[list[bool]] = []
        self.graphs: list[bytes] = []
        self.fetches: list[str] = []

    def add(self, seed: int, has_functions: bool) -> None:
        one = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
        with v1.Graph().as_default() as graph, v1.Session(config=one) as session:
            fed = [v1.placeholder(v1.float64, [SIZE], name=f"x{i}") for i in range(INPUTS)]
            loss = GradientProgram(v1, seed, has_functions).loss_of(fed)
            self.graphs.append(graph.as_graph_def().SerializeToString(deterministic=True))
            self.fetches.append(loss.name)
            built = differentiated(v1, loss, fed)
            try:
                values = flat(in_session(session, built)(points(seed)[0]))
            except tf.errors.OpError:
                values = np.full(1 + INPUTS * SIZE, np.nan)
        self.values.append(values)
        self.rows.append(built.rows)


def main(out: str = "", first: int = 0, count: int = COUNT) -> None:
    logging.disable(logging.WARNING)
    v1.disable_v2_behavior()
    arrays: dict[str, Any] = {"first": first}
    for name, has_functions in (("frame", False), ("function", True)):
        (v1.enable_control_flow_v2 if has_functions else v1.disable_control_flow_v2)()
        recorded = Recorded()
        for seed in range(first, first + count):
            recorded.add(seed, has_functions)
        arrays[f"{name}s"] = np.array(recorded.values)
        if not has_functions:
            arrays["frame_rows"] = np.array(recorded.rows)
    kept = recorded.graphs if out else recorded.graphs[:IN_SUITE]
    arrays["ends"] = np.cumsum([len(g) for g in kept])
    arrays["graphs"] = np.frombuffer(lzma.compress(b"".join(kept), preset=9), np.uint8)
    arrays["fetches"] = np.array(recorded.fetches[: len(kept)])
    np.savez_compressed(out or OUT, **arrays)


if __name__ == "__main__":
    main(*sys.argv[1:2], *map(int, sys.argv[2:]))
