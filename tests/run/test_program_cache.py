"""The programs of a Session: who compiles them, and when."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import compiler

X = np.arange(4, dtype=np.float32)


@pytest.fixture
def session() -> tf.Session:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4], name="x")
        tf.add(x, x, name="twice")
        tf.square(x, name="square")
        return tf.Session(graph=graph)


def at_compilation(monkeypatch: pytest.MonkeyPatch, do: Callable[[], Any]) -> list[Any]:
    """What `do` gives at each compilation of a fetch set."""
    seen: list[Any] = []
    original = compiler.compile_fetches

    def compile_fetches(*given: Any, **more: Any) -> Any:
        seen.append(do())
        return original(*given, **more)

    monkeypatch.setattr(compiler, "compile_fetches", compile_fetches)
    return seen


def test_threads_compile_different_fetch_sets_side_by_side(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = threading.Barrier(2, timeout=60)  # broken, if one waits for the other to end
    seen = at_compilation(monkeypatch, both.wait)
    with ThreadPoolExecutor(2) as threads:
        found = list(
            threads.map(lambda name: session.run(name, {"x:0": X}), ["twice:0", "square:0"])
        )
    np.testing.assert_array_equal(found, [X + X, X * X])
    assert sorted(seen) == [0, 1]


def test_threads_that_want_the_same_program_compile_it_once(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = threading.Barrier(8, timeout=60)
    seen = at_compilation(monkeypatch, lambda: None)

    def run(_: int) -> np.ndarray:
        started.wait()
        return session.run("twice:0", {"x:0": X})

    with ThreadPoolExecutor(8) as threads:
        for found in threads.map(run, range(8)):
            np.testing.assert_array_equal(found, X + X)
    assert len(seen) == 1


def test_a_compilation_that_fails_leaves_the_fetch_set_to_others(
    session: tf.Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        failed.append(not failed)
        if failed[-1]:
            raise tf.errors.UnimplementedError("not now")

    failed: list[bool] = []
    at_compilation(monkeypatch, fail)
    with pytest.raises(tf.errors.UnimplementedError, match="not now"):
        session.run("twice:0", {"x:0": X})
    np.testing.assert_array_equal(session.run("twice:0", {"x:0": X}), X + X)
