"""Run by tests in a process of its own: a Session whose run has no end until a signal comes.

For each kind of loop: prints `ready`, runs, and prints a line of JSON with what ended the run, what
the Session gives afterwards, the variable that the run had assigned, and how many threads Python
knows. The last line is of a run that signals of its own process meet.
"""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Callable
from typing import Any

import flowc as tf


class Alarm(Exception):
    """Raised by a handler of our own."""


def scalar_loop(limit: Any) -> Any:
    """One kernel."""
    return tf.while_loop(lambda i: i < limit, lambda i: i * 0, [tf.constant(0)])


def nested_scalar_loops(limit: Any) -> Any:
    def body(i: Any) -> Any:
        return 0 * tf.while_loop(lambda j: j < 10, lambda j: j + 1, [i])

    return tf.while_loop(lambda i: i < limit, body, [tf.constant(0)])


def endless_inner_loop(limit: Any) -> Any:
    """The loop round it would go on, too."""

    def body(i: Any) -> Any:
        return tf.while_loop(lambda j: j < limit, lambda j: j * 0, [i])

    return tf.while_loop(lambda i: i < limit, body, [tf.constant(0)])


def vector_loop(limit: Any) -> Any:
    """Small kernels that the driver calls."""
    x = tf.ones([50])
    return tf.while_loop(lambda i, v: i < limit, lambda i, v: (i * 0, tf.sin(v)), [0, x])[0]


def native_loop(limit: Any) -> Any:
    x = tf.range(1000, dtype=tf.float32)
    step = lambda i, v: (i * 0, tf.nn.top_k(v, 1000).values)
    return tf.while_loop(lambda i, v: i < limit, step, [0, x])[0]


LOOPS: dict[str, Callable[[Any], Any]] = {
    f.__name__: f
    for f in (scalar_loop, nested_scalar_loops, endless_inner_loop, vector_loop, native_loop)
}


def handled(session: Any, fetch: Any, feeds: Any) -> None:
    """The first signal is handled and the run goes on, the second one ends it."""
    seen: list[int] = []

    def handle(number: int, _: Any) -> None:
        seen.append(number)
        if len(seen) == 2:
            raise Alarm

    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        session.run(fetch, feeds)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def show(kind: str, run: Callable[[Any, Any, Any], Any]) -> None:
    graph = tf.Graph()
    with graph.as_default(), tf.Session() as session:
        limit = tf.placeholder(tf.int32, [])
        v = tf.get_variable("v", initializer=tf.constant([1.0, 2.0]))
        with tf.control_dependencies([tf.assign_add(v, [1.0, 1.0])]):
            found = LOOPS[kind](tf.identity(limit))
        session.run(tf.global_variables_initializer())
        session.run(found, {limit: 0})
        how = "nothing"
        try:
            run(session, found, {limit: 1})
        except BaseException as error:
            how = type(error).__name__
        left = int(session.run(found, {limit: 0}))
        threads = threading.active_count()
        print(json.dumps([kind, how, left, session.run(v).tolist(), threads]), flush=True)


def announced(session: Any, fetch: Any, feeds: Any) -> None:
    print("ready", flush=True)
    session.run(fetch, feeds)


if __name__ == "__main__":
    # A shell starts what it puts into the background with this signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for loop in LOOPS:
        show(loop, announced)
    show("vector_loop", handled)
