"""Run by tests in a process of its own, with `failing_malloc.c` preloaded: programs whose k-th
allocation fails, and programs for which every allocation from the k-th on does.

Prints a line of JSON for each program: its name, how many runs were refused, how many gave the
right answer all the same, how many allocations a run makes, and what was wrong.
"""

from __future__ import annotations

import ctypes
import json
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import flowc as tf
from flowc.codegen.link import loaded as loading
from flowc.errors import ResourceExhaustedError
from flowc_runtime import Model, ModelError, load

SHIM = ctypes.CDLL(None)
NEVER = 2**62
MOST = 200  # the k-th allocation for k up to this
SECONDS = 0.1  # what a refusal may take
X = np.arange(1, 2000, dtype=np.float32)
r: Any = tf.raw_ops


@dataclass
class Tried:
    refused: int = 0
    right: int = 0
    allocations: int = 0
    wrong: list[str] = field(default_factory=list)


def arena(x: Any) -> Any:
    return tf.reduce_sum(tf.cumsum(tf.cumsum(x)))


def size_of_the_run(x: Any) -> Any:
    return tf.fill(tf.cast(x[:1], tf.int32) * 5000, 1.0)


def rows_that_hold(x: Any) -> Any:
    return tf.boolean_mask(tf.cumsum(x), x > 900.0)


def growing(x: Any) -> Any:
    return tf.while_loop(
        lambda i, a: i < 7,
        lambda i, a: (i + 1, tf.concat([a, x], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )[1]


def sorted_rows(x: Any) -> Any:
    return tf.nn.top_k(tf.cumsum(x), 1000).values


def pieces(x: Any) -> Any:
    return tf.concat(tf.dynamic_partition(x, tf.cast(x > 700.0, tf.int32), 2)[::-1], 0)


def matrices(x: Any) -> Any:
    y = tf.reshape(x[:1936], [44, 44])
    return tf.matmul(tf.matmul(y, y, transpose_a=True), y + 1.0)


BUILT: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (arena, size_of_the_run, rows_that_hold, growing, sorted_rows, pieces, matrices)
}


def clear_arena() -> None:
    """So that a run has to ask for what it needs."""
    ctypes.CFUNCTYPE(None)(loading._runtime["flowc_arena_clear"])()


def try_all(
    run: Callable[[], Any], before: Callable[[], None], keeps_blocks: bool = False
) -> Tried:
    """`before`: what makes a run ask for memory again. `keeps_blocks`: and frees none."""
    found = Tried()
    wanted = run()
    before()
    SHIM.flowc_fail(NEVER, NEVER)
    run()
    found.allocations = SHIM.flowc_allocations()
    before()
    blocks = SHIM.flowc_live_blocks()
    for k in range(1, MOST + 1):
        for last in (k, NEVER):
            before()
            SHIM.flowc_fail(k, last)
            began = time.perf_counter()
            try:
                result = run()
            except (ResourceExhaustedError, ModelError) as error:
                found.refused += 1
                if "no memory" not in str(error):
                    found.wrong.append(f"{k}, {last}: {error}")
                if time.perf_counter() - began > SECONDS:
                    found.wrong.append(f"{k}, {last}: took {time.perf_counter() - began:.3f} s")
            except Exception as error:
                found.wrong.append(f"{k}, {last}: {type(error).__name__}: {error}")
            else:
                found.right += 1
                if not np.array_equal(result, wanted):
                    found.wrong.append(f"{k}, {last}: another result")
            SHIM.flowc_fail(NEVER, NEVER)
            if not np.array_equal(run(), wanted):
                found.wrong.append(f"{k}, {last}: another result afterwards")
            before()
            if not keeps_blocks and SHIM.flowc_live_blocks() != blocks:
                found.wrong.append(f"{k}, {last}: {SHIM.flowc_live_blocks() - blocks} blocks more")
                blocks = SHIM.flowc_live_blocks()
        if k > found.allocations + 2:
            break  # no later one is made
    return found


def in_a_session(build: Callable[[Any], Any]) -> Tried:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        y = build(x)
        with tf.Session(threads=2) as session:
            return try_all(lambda: session.run(y, {x: X}), clear_arena)


def with_a_variable() -> Tried:
    """A run that is refused leaves the variable as it was."""
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        v = tf.Variable(X)
        changed = tf.assign(v, v * 1.0 + arena(x) * 0.0, validate_shape=False)
        with tf.Session(threads=1) as session:
            session.run(tf.global_variables_initializer())
            found = try_all(lambda: session.run(changed, {x: X}), clear_arena)
            SHIM.flowc_fail(1, NEVER)
            try:
                session.run(tf.assign(v, tf.cumsum(tf.cumsum(x))), {x: X})
            except ResourceExhaustedError:
                pass
            else:
                found.wrong.append("an assignment without memory")
            SHIM.flowc_fail(NEVER, NEVER)
            if not np.array_equal(session.run(v), X):
                found.wrong.append("the variable has changed")
            return found


def in_a_library(build: Callable[[Any], Any], folder: Path) -> Tried:
    """Each time with a library that has not run yet: nothing that is exported empties an arena."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        path = folder / f"flowc_model_{build.__name__}.so"
        tf.compile(graph, feeds=[x], fetches=[tf.identity(build(x), name="y")], out=path)
    loaded: list[Model] = []

    def load_anew() -> None:
        copy = folder / f"flowc_model_{len(loaded)}.so"
        shutil.copy(path, copy)
        loaded.append(load(str(copy)))

    load_anew()
    return try_all(lambda: loaded[-1](X), load_anew, keeps_blocks=True)


def main(folder: str, *names: str) -> None:
    SHIM.flowc_allocations.restype = SHIM.flowc_live_blocks.restype = ctypes.c_int64
    SHIM.flowc_fail.argtypes = [ctypes.c_int64, ctypes.c_int64]
    loading.RUNTIME_FUNCTIONS = (*loading.RUNTIME_FUNCTIONS, "flowc_arena_clear")
    for name in names:
        match name:
            case "variable":
                found = with_a_variable()
            case "library":
                found = in_a_library(pieces, Path(folder))
            case _:
                found = in_a_session(BUILT[name])
        row = [name, found.refused, found.right, found.allocations, found.wrong[:5]]
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
