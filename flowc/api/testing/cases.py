"""`tf.test.TestCase`: a unittest case with a graph of its own, sessions, and arrays compared."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from flowc.api.testing.assertions import ArrayAssertions
from flowc.graph import Graph, Tensor, reset_default_graph
from flowc.graph.default import default_graph, get_default_session
from flowc.run.session import Session


class TestCase(ArrayAssertions):
    """Every test starts with an empty default graph. What is compared may be tensors, which are
    evaluated in the default session. What does not hold raises `AssertionError`."""

    def setUp(self) -> None:
        super().setUp()
        self._session: Session | None = None
        self._folder: str | None = None
        reset_default_graph()
        np.random.seed(87654321)

    def tearDown(self) -> None:
        if self._session is not None:
            self._session.close()
        super().tearDown()

    @contextmanager
    def session(
        self, graph: Graph | None = None, config: Any = None, **_: Any
    ) -> Iterator[Session]:
        """A new session, which is the default one in the block."""
        with Session(graph=graph, config=config) as session:
            yield session

    @contextmanager
    def cached_session(
        self, graph: Graph | None = None, config: Any = None, **_: Any
    ) -> Iterator[Session]:
        """The same session in all blocks of a test."""
        if self._session is None:
            self._session = Session(graph=graph, config=config)
        with default_graph(self._session.graph), self._session.as_default():
            yield self._session

    def test_session(self, *args: Any, **kwargs: Any) -> Any:
        """The older name of `cached_session`, which runners take for a test."""
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")
        return self.cached_session(*args, **kwargs)

    def get_temp_dir(self) -> str:
        """A folder of this test, the same at each call."""
        if self._folder is None:
            folder = tempfile.TemporaryDirectory()
            self.addCleanup(folder.cleanup)
            self._folder = folder.name
        return self._folder

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session, or in that of `cached_session`."""
        session = get_default_session() or self._session
        if session is None:
            raise ValueError("evaluate needs a session: call it in `self.session()`")
        return session.run(tensors)

    def _array(self, value: Any) -> np.ndarray:
        return np.asarray(self.evaluate(value) if isinstance(value, Tensor) else value)


def get_temp_dir() -> str:
    """A folder for what tests write, the same in the whole process, which removes it at its end.
    Raises `OSError` where none can be made."""
    return _folder_of_process().name


@cache
def _folder_of_process() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="flowc-test-")


def assert_equal_graph_def(actual: Any, expected: Any) -> None:
    """Raises `AssertionError` where two GraphDefs differ in more than the order of their nodes,
    `TypeError` for what is no GraphDef."""
    for graph in (actual, expected):
        if getattr(getattr(graph, "DESCRIPTOR", None), "name", "") != "GraphDef":
            raise TypeError(f"Expected a GraphDef, found {type(graph).__name__}")
    found, wanted = ({n.name: n for n in g.node} for g in (actual, expected))
    if sorted(found) != sorted(wanted):
        raise AssertionError(f"Found nodes {sorted(found)}, expected {sorted(wanted)}")
    for name, node in wanted.items():
        if found[name] != node:
            raise AssertionError(f"Node '{name}' is\n{found[name]}\nexpected\n{node}")


def main(argv: list[str] | None = None) -> None:
    """Runs the test cases of the program that is started, as `unittest.main` does: with the
    arguments `argv`, else those of its command line. Raises `SystemExit` at the end, whose code is
    0 where all of them passed."""
    unittest.main(argv=argv)
