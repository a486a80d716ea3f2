"""A process that compiles and runs, and whose children do so too: a line for each child's exit.

In: a kind of `KINDS` and how many children. Children that hang end
with the tracebacks of their threads.
"""

from __future__ import annotations

import faulthandler
import json
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import flowc as tf

LIMIT = 120  # seconds that a child may take, which waits for the processor as others do
AT_ONCE = 2  # children that are started together: more would wait for the processor


def compile_and_run(number: int) -> None:
    """A program of its own for each number."""
    with tf.Graph().as_default(), tf.Session(threads=2) as session:
        x = tf.placeholder(tf.float32, [None, 8])
        y = tf.tanh(tf.matmul(x, tf.ones([8, 3]))) * float(number)
        found = session.run(y, {x: np.zeros((5, 8))})
        assert found.shape == (5, 3)
        assert not found.any()


def forked(step: Callable[[], object]) -> int:
    """How a child that does a step ended."""
    process = os.fork()
    if not process:
        faulthandler.dump_traceback_later(LIMIT, exit=True)
        code = 1
        try:
            step()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def while_compiling(count: int) -> list[int]:
    """At moments from the first import of the compiler on."""
    stop = threading.Event()

    def work() -> None:
        number = 1000
        while not stop.is_set():
            compile_and_run(number)
            number += 1

    thread = threading.Thread(target=work)
    thread.start()
    codes = []
    for i in range(count):
        time.sleep(0.02 + 0.05 * (i % 7))
        codes.append(forked(lambda i=i: compile_and_run(i)))
    stop.set()
    thread.join()
    return codes


def with_the_session_of_the_parent(count: int) -> list[int]:
    """While a thread compiles another shape for it, and one runs what changes a variable."""
    with tf.Graph().as_default(), tf.Session(threads=2) as session:
        x = tf.placeholder(tf.float32, [None, None])
        v = tf.get_variable("v", initializer=tf.zeros([1 << 16]))
        changed = v.assign_add(tf.ones([1 << 16]))
        y = tf.reduce_sum(tf.tanh(x))
        session.run(tf.global_variables_initializer())
        session.run([y, changed], {x: np.zeros((2, 3))})
        stop = threading.Event()

        def assign() -> None:
            while not stop.is_set():
                session.run(changed.op)

        def in_child() -> None:
            assert session.run(y, {x: np.ones((3, 2))}) > 4
            before = session.run(v)[0]
            session.run(changed.op)
            assert session.run(v)[0] == before + 1

        thread = threading.Thread(target=assign)
        thread.start()
        codes = [forked(in_child) for _ in range(count)]
        stop.set()
        thread.join()
        return codes


def started(method: str) -> Callable[[int], list[int]]:
    def run(count: int) -> list[int]:
        compile_and_run(1)
        context: Any = multiprocessing.get_context(method)
        children = [context.Process(target=compile_and_run, args=(i,)) for i in range(count)]
        for i in range(0, count, AT_ONCE):
            for child in children[i : i + AT_ONCE]:
                child.start()
            for child in children[i : i + AT_ONCE]:
                child.join(LIMIT)
        return [-1 if child.exitcode is None else child.exitcode for child in children]

    return run


def after_a_run(count: int) -> list[int]:
    compile_and_run(1)
    return [forked(lambda i=i: compile_and_run(i % 2)) for i in range(count)]


KINDS: dict[str, Callable[[int], list[int]]] = {
    "after_a_run": after_a_run,
    "while_compiling": while_compiling,
    "with_the_session_of_the_parent": with_the_session_of_the_parent,
    "forkserver": started("forkserver"),
    "spawn": started("spawn"),
}

if __name__ == "__main__":
    print(json.dumps(KINDS[sys.argv[1]](int(sys.argv[2]))))
