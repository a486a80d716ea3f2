"""Runs in TensorFlow's environment: JSON requests in, seconds out. tensorflow_peer.py starts it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import loop_programs
import numpy as np
import tensorflow as tf
from model_session import open_model

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)
v1 = tf.compat.v1


def chain(x: Any) -> Any:
    return tf.tanh(2.0 * x + 1.0) * tf.sigmoid(x) + tf.exp(-x * x)


def layer_norm(x: Any, gamma: Any, beta: Any) -> Any:
    mean, variance = tf.nn.moments(x, [1], keepdims=True)
    return tf.nn.batch_normalization(x, mean, variance, beta, gamma, 1e-6)


def _case(name: str) -> tuple[Any, list[np.ndarray]]:
    programs = loop_programs.cases()
    if name in programs:
        build, arrays = programs[name]
        return partial(build, v1), arrays
    rng = np.random.default_rng(0)
    square = rng.standard_normal((1024, 1024)).astype(np.float32)
    row = rng.standard_normal(1024).astype(np.float32)
    flat = rng.standard_normal(4 << 20).astype(np.float32)
    four = [rng.standard_normal((1, 56, 56, 64)).astype(np.float32) for _ in range(4)]
    cases: dict[str, tuple[Any, list[np.ndarray]]] = {
        "chain": (chain, [flat]),
        "softmax": (tf.nn.softmax, [square]),
        "layer norm": (layer_norm, [square, row, row]),
        "transpose": (tf.transpose, [square]),
        "concat": (lambda *parts: tf.concat(parts, 3), four),
        "pad": (lambda x: tf.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]]), four[:1]),
        "sum": (lambda x: tf.reduce_sum(x), [flat]),
    }
    return cases[name]


def prepare(case: str, mode: str) -> Any:
    """A function without arguments that computes the case once."""
    if mode == "model":
        return _model(Path(case))
    body, arrays = _case(case)
    function = tf.function(body, autograph=False, jit_compile=mode == "xla")
    constants = [tf.constant(a) for a in arrays]

    assert tf.config.experimental.get_synchronous_execution()  # a call returns when it is done

    def run() -> None:
        function(*constants)

    run()
    return run


def _model(folder: Path) -> Any:
    """A run of a model's folder."""
    session, feeds, fetches = open_model(folder)
    run = session.make_callable(fetches, list(feeds))

    def call() -> None:
        run(*feeds.values())

    call()
    return call


def _seconds_of_step(program: str) -> float:
    import training  # late: it runs programs in graph mode, the others run eagerly

    config = v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    resources = v1.resource_variables_enabled()
    v1.disable_resource_variables()
    v1.disable_control_flow_v2()
    try:
        with contextlib.redirect_stdout(sys.stderr), tf.Graph().as_default():
            return training.seconds_of_step(program, v1, config=config)
    finally:
        v1.enable_control_flow_v2()
        if resources:
            v1.enable_resource_variables()


def main() -> None:
    prepared: dict[tuple[str, str], Any] = {}
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = _answer(request, prepared)
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(answer), flush=True)


def _answer(request: dict[str, Any], prepared: dict[tuple[str, str], Any]) -> dict[str, Any]:
    if request["do"] == "hello":
        return {"version": tf.__version__}
    if request["do"] == "train":
        return {"seconds": _seconds_of_step(request["case"])}
    key = (request["case"], request["mode"])
    if request["do"] == "prepare":
        prepared[key] = prepare(*key)
        return {}
    start = time.process_time()  # of all threads; there is one that computes
    prepared[key]()
    return {"seconds": time.process_time() - start}


if __name__ == "__main__":
    main()
