"""Threads that share one Session, Sessions that run side by side, and Sessions that are closed
while they run: the same bits as one thread gives, and nobody waits for ever.

`FLOWC_FUZZ` does more of each.
"""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

import flowc as tf
from flowc.compiler import compile_computation
from flowc.ir.builder import Builder
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import MOST_THREADS, Executable

MUCH = "FLOWC_FUZZ" in os.environ
THREADS, RUNS = (16, 10_000) if MUCH else (8, 1_000)
SESSIONS, CLOSED = (100, 1_000) if MUCH else (50, 40)
SIZES = (0, 1, 7, 1000)
LONG = 60  # seconds that nothing here takes

pytestmark = pytest.mark.timeout(1800)


def arrays_of(size: int) -> np.ndarray:
    return np.random.default_rng(size).normal(size=size).astype(np.float32)


def built() -> tuple[tf.Graph, Any, Any]:
    """A kernel that threads share, and values in the arena."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], "x")
        y = tf.nn.softmax(tf.cumsum(tf.sin(x)) * 0.1)
    return graph, x, y


def test_a_program_has_a_thread_for_each_core_that_its_process_may_use() -> None:
    """As a library has: threads that share a core wait for each other."""
    b = Builder()
    c = b.build([b.exp(b.parameter("x", tensor_type("f32", (4,))))])
    program = compile_computation(c, Options(), spec_of(c, ["x"], ["y"]))
    cores = os.sched_getaffinity(0)
    assert Executable(program).threads == min(len(cores), MOST_THREADS)
    os.sched_setaffinity(0, {min(cores)})
    try:
        assert Executable(program).threads == 1 and Executable(program, 2).threads == 2
    finally:
        os.sched_setaffinity(0, cores)


def test_fuzz_threads_of_one_session_get_the_same_bits() -> None:
    graph, x, y = built()
    with tf.Session(graph=graph, threads=2) as session:
        feeds = [{x: arrays_of(size)} for size in SIZES]
        wanted = [session.run(y, feed).tobytes() for feed in feeds]

        def work(number: int) -> int:
            same = 0
            for i in range(number, number + RUNS):
                case = i % len(feeds)
                same += session.run(y, feeds[case]).tobytes() == wanted[case]
            return same

        with ThreadPoolExecutor(THREADS) as pool:
            found = [f.result(LONG * 10) for f in [pool.submit(work, n) for n in range(THREADS)]]
    assert found == [RUNS] * THREADS


def test_fuzz_sessions_side_by_side() -> None:
    graph, x, y = built()
    together = threading.Barrier(SESSIONS, timeout=LONG)
    feed = arrays_of(1000)

    def work(_: int) -> bytes:
        with tf.Session(graph=graph, threads=2) as session:
            together.wait()
            return session.run(y, {x: feed}).tobytes()

    with ThreadPoolExecutor(SESSIONS) as pool:
        assert len(set(pool.map(work, range(SESSIONS), timeout=LONG))) == 1


def test_fuzz_a_session_is_closed_while_it_runs() -> None:
    """A run ends with its result, or because the Session is closed."""
    graph, x, y = built()
    feed = arrays_of(1000)
    with tf.Session(graph=graph) as session:
        wanted = session.run(y, {x: feed}).tobytes()

    def work(session: tf.Session, started: threading.Event) -> int:
        for count in range(10**9):
            try:
                assert session.run(y, {x: feed}).tobytes() == wanted
            except RuntimeError as error:
                assert "closed" in str(error)
                return count
            started.set()
        return -1

    with ThreadPoolExecutor(4) as pool:
        for _ in range(CLOSED):
            session, started = tf.Session(graph=graph), threading.Event()
            runs = [pool.submit(work, session, started) for _ in range(3)]
            assert started.wait(LONG)
            session.close()
            assert all(run.result(LONG) >= 0 for run in runs)
