"""Threads that compile: what is submitted is done, with threads or without, until the process is
over."""

from __future__ import annotations

import errno
import mmap
import subprocess
import sys
import threading

import pytest

from flowc.codegen.worker_threads import WorkerThreads, in_thread
from flowc.errors import ResourceExhaustedError

LONG = 60  # seconds until a thread counts as stuck


def own_threads() -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name == "tried"]


def test_so_many_threads_do_all_of_it() -> None:
    together = threading.Barrier(3, timeout=LONG)
    with WorkerThreads(3, "tried") as threads:
        meeting = [threads.submit(together.wait) for _ in range(6)]
        assert len(own_threads()) <= 3
        squares = [threads.submit(pow, n, 2) for n in range(50)]
        with pytest.raises(ZeroDivisionError):
            threads.submit(divmod, 1, 0).result(LONG)
    assert all(f.done() for f in (*meeting, *squares))
    assert [f.result() for f in squares] == [n * n for n in range(50)]
    for thread in own_threads():
        thread.join(LONG)
    assert threads.submit(pow, 3, 2).result(LONG) == 9


def test_what_is_raised_takes_back_what_none_has_begun() -> None:
    begun, release, seen = threading.Event(), threading.Event(), list[int]()

    def first() -> None:
        begun.set()
        release.wait(LONG)

    threads = WorkerThreads(1, "tried")
    with pytest.raises(KeyboardInterrupt), threads:
        threads.submit(first)
        threads.submit(seen.append, 1)
        assert begun.wait(LONG)
        raise KeyboardInterrupt
    release.set()
    threads.submit(seen.append, 2).result(LONG)
    assert seen == [2]


def test_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with WorkerThreads(2, "tried") as threads:
        found = [threads.submit(threading.get_ident) for _ in range(3)]
        with pytest.raises(ZeroDivisionError):
            threads.submit(divmod, 1, 0).result(0)
    assert [f.result(0) for f in found] == [threading.get_ident()] * 3
    with pytest.raises(ResourceExhaustedError, match="no thread"):
        in_thread("tried", print)


def test_without_memory_for_a_thread_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM, which cannot say that it lacks memory, would be called next."""

    def refused(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    def no_memory(*_: object) -> None:
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    monkeypatch.setattr(threading.Thread, "start", refused)
    monkeypatch.setattr(mmap, "mmap", no_memory)
    seen: list[int] = []
    with WorkerThreads(2, "tried") as threads:
        with pytest.raises(MemoryError, match="the stack of a thread"):
            threads.submit(seen.append, 1)
        monkeypatch.undo()
        threads.submit(seen.append, 2).result(LONG)
    assert seen == [2]


PROGRAM = """
import atexit, sys, threading
import numpy as np
import flowc as tf

def work(factor):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        y = tf.nn.softmax(tf.matmul(x, tf.ones([4, 4])) * factor)
        queue = tf.FIFOQueue(3, tf.float32)
        waits = queue.dequeue()
        with tf.control_dependencies([queue.enqueue(1.0)]):
            beside = tf.identity(y)
        print(session.run([beside, waits], {x: np.ones((2, 4), np.float32)})[0].sum(), flush=True)

def later():
    threading.main_thread().join()
    work(2.0)

if "atexit" in sys.argv:
    atexit.register(work, 3.0)
else:
    threading.Thread(target=later).start()
"""


@pytest.mark.parametrize("how", ["thread", "atexit"])
def test_a_process_compiles_and_runs_until_its_end(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the step of a queue that waits for another of the same run."""
    monkeypatch.setenv("FLOWC_CACHE", "0")
    command = [sys.executable, "-c", PROGRAM, how]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (found.stdout, found.stderr, found.returncode) == ("2.0\n", "", 0)
