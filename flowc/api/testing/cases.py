"""`tf.test.TestCase`: a unittest case with a graph of its own, sessions, and arrays compared."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from flowc.graph import Graph, Tensor, reset_default_graph
from flowc.graph.default import default_graph, get_default_session
from flowc.run.session import Session


class TestCase(unittest.TestCase):
    """Every test starts with an empty default graph. What is compared may be tensors, which are
    evaluated in the default session. What does not hold raises `AssertionError`."""

    def setUp(self) -> None:
        super().setUp()
        self._session: Session | None = None
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
        """A folder of this test."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def evaluate(self, tensors: Any) -> Any:
        """The values of tensors in the default session, or in that of `cached_session`."""
        session = get_default_session() or self._session
        if session is None:
            raise ValueError("evaluate needs a session: call it in `self.session()`")
        return session.run(tensors)

    def _array(self, value: Any) -> np.ndarray:
        return np.asarray(self.evaluate(value) if isinstance(value, Tensor) else value)

    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        np.testing.assert_array_equal(self._array(a), self._array(b), msg or "")

    def assertAllClose(
        self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None
    ) -> None:
        """Compares lists and mappings item by item."""
        if isinstance(a, Mapping):
            self.assertEqual(set(a), set(b), msg)
            for key in a:
                self.assertAllClose(a[key], b[key], rtol, atol, msg)
            return
        if isinstance(a, list | tuple) and any(np.ndim(x) for x in a if not isinstance(x, Tensor)):
            for x, y in zip(a, b, strict=True):
                self.assertAllClose(x, y, rtol, atol, msg)
            return
        np.testing.assert_allclose(self._array(a), self._array(b), rtol, atol, err_msg=msg or "")

    def assertNotAllClose(self, a: Any, b: Any, **kwargs: Any) -> None:
        """Raises where the two are close."""
        try:
            self.assertAllClose(a, b, **kwargs)
        except AssertionError:
            return
        self.fail("The two values are close at all elements")

    def assertNear(self, f1: float, f2: float, err: float, msg: str | None = None) -> None:
        self.assertLessEqual(abs(f1 - f2), err, msg)

    def assertShapeEqual(self, np_array: np.ndarray, tf_tensor: Tensor) -> None:
        self.assertEqual(list(np_array.shape), tf_tensor.shape.as_list())


def main(argv: list[str] | None = None) -> None:
    """Runs the test cases of the program that is started, as `unittest.main` does: with the
    arguments `argv`, else those of its command line. Raises `SystemExit` at the end, whose code is
    0 where all of them passed."""
    unittest.main(argv=argv)
