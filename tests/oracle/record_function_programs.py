#!/usr/bin/env python3
"""Records what TensorFlow computes with functions as users write them, for other sizes than one.

    V/bin/python tests/oracle/record_function_programs.py [NAME...]

V has tensorflow-cpu 2.21. Out: tests/data/programs/functions.npz: for each function its frozen
graph (`lowered`: with switches and merges), the feeds and the results of its calls. A second run
writes the same, but for the order and the numbered names of nodes in a loop with a `Case`, which
TensorFlow does not repeat.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import numpy as np
import tensorflow as tf
from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

FILE = Path(__file__).resolve().parents[1] / "data" / "programs" / "functions.npz"
f32, i32 = tf.float32, tf.int32
RANDOM = np.random.RandomState(1)
ROWS = RANDOM.standard_normal((4, 3)).astype(np.float32)
MORE = RANDOM.standard_normal((7, 3)).astype(np.float32)


def repeated(x: Any, times: Any) -> Any:
    return tf.repeat(x, times, axis=0)


def chosen(case: Any, x: Any) -> Any:
    sides = [lambda: x + 1.0, lambda: tf.concat([x, x], 0), lambda: x * x, lambda: -x]
    return tf.switch_case(case, sides)


def chosen_in_a_loop(x: Any) -> Any:
    total = tf.zeros([3])
    for i in tf.range(tf.shape(x)[0]):
        total += _step(i, x[i], total)
    return total


def _step(i: Any, row: Any, total: Any) -> Any:
    inner = [lambda: row * 2.0, lambda: total * 0.5, lambda: tf.nn.relu(row)]
    return tf.switch_case(i % 4, [*inner, lambda: tf.switch_case(i // 4, inner)])


def mapped(x: Any) -> Any:
    return tf.vectorized_map(lambda row: tf.linalg.diag(row) @ row[:, None] + tf.reduce_max(row), x)


def spaced(x: Any) -> Any:
    return tf.linspace(tf.reduce_min(x, 0), tf.reduce_max(x, 0), 5)


def segments(x: Any, ids: Any) -> Any:
    kinds = (tf.math.segment_sum, tf.math.segment_max, tf.math.segment_mean, tf.math.segment_prod)
    dense = [kind(x, ids) for kind in kinds]
    return [*dense, tf.sparse.segment_mean(x, tf.zeros_like(ids), ids)]


# name: (function, dtypes and static shapes of its arguments, calls)
FUNCTIONS: dict[str, tuple[Callable[..., Any], list[Any], list[tuple[Any, ...]]]] = {
    "repeated": (
        repeated,
        [(f32, [None, 3]), (i32, [None])],
        [(ROWS, [1, 0, 2, 3]), (MORE, [0, 0, 1, 0, 0, 0, 2]), (ROWS[:1], [0])],
    ),
    "chosen": (
        chosen,
        [(i32, []), (f32, [None])],
        [(k, ROWS[k % 4]) for k in (0, 1, 2, 3, 9, -1)],
    ),
    "chosen_in_a_loop": (chosen_in_a_loop, [(f32, [None, 3])], [(ROWS,), (MORE,), (ROWS[:0],)]),
    "mapped": (mapped, [(f32, [None, 3])], [(ROWS,), (MORE,)]),
    "spaced": (spaced, [(f32, [None, 3])], [(ROWS,), (MORE,)]),
    "segments": (
        segments,
        [(f32, [None, 3]), (i32, [None])],
        [(ROWS, [0, 0, 1, 3]), (ROWS[:1], [2]), (ROWS[:0], [])],
    ),
}


def record(name: str) -> dict[str, np.ndarray]:
    function, types, calls = FUNCTIONS[name]
    specs = [tf.TensorSpec(shape, kind, f"x{i}") for i, (kind, shape) in enumerate(types)]
    arrays: dict[str, np.ndarray] = {}
    concrete = tf.function(function).get_concrete_function(*specs)
    for form, lowered in (("functions", False), ("lowered", True)):
        frozen = convert_variables_to_constants_v2(concrete, lower_control_flow=lowered)
        definition = frozen.graph.as_graph_def()
        for node in definition.node:
            node.ClearField("experimental_debug_info")
        text = definition.SerializeToString(deterministic=True)
        arrays[f"{name}/{form}"] = np.frombuffer(text, np.uint8)
        fetches = "\n".join(t.name for t in frozen.outputs)
        arrays[f"{name}/{form}/fetches"] = np.frombuffer(fetches.encode(), np.uint8)
    for number, call in enumerate(calls):
        feeds = [tf.constant(a, kind) for a, (kind, _) in zip(call, types)]
        for i, feed in enumerate(feeds):
            arrays[f"{name}/{number}/x{i}"] = feed.numpy()
        for i, result in enumerate(tf.nest.flatten(concrete(*feeds))):
            arrays[f"{name}/{number}/y{i}"] = result.numpy()
    return arrays


def main(names: list[str]) -> None:
    arrays: dict[str, np.ndarray] = {}
    if names and FILE.exists():
        with np.load(FILE) as file:
            arrays = {k: v for k, v in file.items() if k.partition("/")[0] not in names}
    for name in names or FUNCTIONS:
        arrays |= record(name)
        print(name)
    FILE.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(FILE, **{k: arrays[k] for k in sorted(arrays)})


if __name__ == "__main__":
    main(sys.argv[1:])
