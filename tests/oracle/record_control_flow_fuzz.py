#!/usr/bin/env python3
"""Records random control-flow graphs, and what TensorFlow computes with them.

    V/bin/python tests/oracle/record_control_flow_fuzz.py      # V has tensorflow-cpu==2.21.0

Out: tests/data/control_flow/fuzz.npz. `index` is JSON: for each graph its seed, its size in bytes,
its fetches and initializer, and for each run the dtypes and shapes of feeds and values; `data` is
the graphs and arrays one after another. The seeds are the first whose graphs are small, so that
replaying them takes a minute.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"
sys.path.insert(0, str(Path(__file__).parent))

import control_flow_fuzz
import numpy as np
import tensorflow as tf

OUT = Path(__file__).resolve().parents[1] / "data" / "control_flow" / "fuzz.npz"
COUNT = 200
LARGEST = 36_000  # bytes of a GraphDef


def main() -> None:
    logging.disable(logging.WARNING)
    tf.compat.v1.disable_eager_execution()
    index: list[dict[str, Any]] = []
    pieces: list[bytes] = []

    def put(array: Any) -> list[Any]:
        array = np.asarray(array)
        pieces.append(np.ascontiguousarray(array).tobytes())
        return [array.dtype.name, *array.shape]

    seed = 0
    while len(index) < COUNT:
        program = control_flow_fuzz.program(seed)
        seed += 1
        graph = program.graph.as_graph_def().SerializeToString(deterministic=True)
        if len(graph) > LARGEST:
            continue
        runs = control_flow_fuzz.results(program)
        if any(isinstance(found, str) for found in runs):
            continue  # an error of TensorFlow's
        pieces.append(graph)
        index.append(
            {
                "seed": program.seed,
                "bytes": len(graph),
                "features": sorted(program.features),
                "fetches": program.fetches,
                "initializer": program.initializer,
                "dynamic": program.dynamic,
                "feeds": [{n: put(a) for n, a in feed.items()} for feed in program.feeds],
                "values": [[put(a) for a in found] for found in runs],
            }
        )
    text = json.dumps(index, separators=(",", ":")).encode()
    np.savez_compressed(
        OUT,
        index=np.frombuffer(text, np.uint8),
        data=np.frombuffer(b"".join(pieces), np.uint8),
    )
    print(f"{len(index)} of the first {seed} seeds, {OUT.stat().st_size} bytes")


if __name__ == "__main__":
    main()
