#!/usr/bin/env python3
"""Records gradients that TensorFlow computes through calls, and branches and loops of functions.

    V/bin/python tests/oracle/record_function_gradients.py        # V has tensorflow-cpu==2.21.0

Out: tests/recorded/function_gradients.npz: for each graph its GraphDef without the gradients, and
the gradients of `y` by `x` and `w` for each number that `k` is fed. `index` says their names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

OUT = Path(__file__).resolve().parents[1] / "recorded" / "function_gradients.npz"
v1 = tf.compat.v1
X = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], np.float32)
W = np.array([[0.2, -0.4, 0.1], [0.3, 0.6, -0.2], [-0.5, 0.1, 0.4]], np.float32)


@tf.function
def layer(x: Any, w: Any) -> Any:
    return tf.tanh(tf.matmul(x, w)), tf.reduce_sum(x)


@tf.function
def twice(x: Any, w: Any) -> Any:
    y, _ = layer(x, w)
    return layer(y * 2.0, w)[0] + x


@tf.function
def noisy(x: Any) -> Any:
    return x * tf.random.uniform(tf.shape(x))


def if_else(x: Any, w: Any, k: Any) -> Any:
    return tf.cond(k > 0, lambda: tf.matmul(x, w) * x, lambda: tf.exp(x))


def case(x: Any, w: Any, k: Any) -> Any:
    return tf.switch_case(k, [lambda: x * x, lambda: tf.matmul(x, w), lambda: tf.sin(x) * w[0]])


def nested(x: Any, w: Any, k: Any) -> Any:
    return tf.cond(k > 0, lambda: twice(x, w), lambda: case(x, w, k))


def loop(x: Any, w: Any, k: Any) -> Any:
    return tf.while_loop(
        lambda i, a: i < k + 1, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, w)) + x), [0, x]
    )[1]


def loop_of_pairs(x: Any, w: Any, k: Any) -> Any:
    def body(i: Any, a: Any, b: Any) -> Any:
        return i + 1, tf.cond(i > 0, lambda: b * a, lambda: tf.sin(a)), a + tf.matmul(b, w)

    return tf.while_loop(lambda i, a, b: i < k, body, [0, x, x * 2.0])[1]


def nested_loops(x: Any, w: Any, k: Any) -> Any:
    def inner(i: Any, a: Any) -> Any:
        return tf.while_loop(lambda j, b: j < i, lambda j, b: (j + 1, tf.sin(b) * x), [0, a])[1]

    return tf.while_loop(
        lambda i, a: i < k + 1, lambda i, a: (i + 1, inner(i, tf.matmul(a, w))), [0, x]
    )[1]


GRAPHS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "call": lambda x, w, k: layer(x, w)[0] * 3.0,
    "both_results": lambda x, w, k: layer(x, w)[0] * layer(x, w)[1],
    "call_in_a_call": lambda x, w, k: twice(x, w),
    "if": if_else,
    "case": case,
    "nested": nested,
    "loop": loop,
    "loop_of_pairs": loop_of_pairs,
    "nested_loops": nested_loops,
    "noisy": lambda x, w, k: noisy(x),
    "variable": lambda x, w, k: twice(x, w),
    "variable_in_a_loop": loop,
}


def main() -> None:
    v1.disable_eager_execution()
    v1.enable_control_flow_v2()
    arrays: dict[str, np.ndarray] = {}
    index: dict[str, int] = {}
    for name, build in GRAPHS.items():
        with tf.Graph().as_default() as graph, v1.Session() as session:
            x = v1.placeholder(tf.float32, [None, 3], name="x")
            w: Any = v1.placeholder(tf.float32, [3, 3], name="w")
            if name.startswith("variable"):
                w = v1.get_variable("variable", initializer=W, use_resource=True)
                session.run(w.initializer)
            k = v1.placeholder(tf.int32, [], name="k")
            y = tf.identity(build(x, w, k), name="y")
            arrays[f"{name}/graph"] = np.frombuffer(
                graph.as_graph_def().SerializeToString(), np.uint8
            )
            gradients = [tf.zeros_like(t) if g is None else g
                         for t, g in zip((x, w), tf.gradients(y, [x, w]))]  # fmt: skip
            index[name] = 0 if name == "noisy" else 3
            for run in range(index[name]):
                fed = {x: X, k: run} if name.startswith("variable") else {x: X, w: W, k: run}
                found = session.run(gradients, fed)
                for i, value in enumerate(found):
                    arrays[f"{name}/{run}/{i}"] = value
    arrays["x"], arrays["w"] = X, W
    arrays["index"] = np.frombuffer(json.dumps(index).encode(), np.uint8)
    np.savez_compressed(OUT, **arrays)


if __name__ == "__main__":
    main()
