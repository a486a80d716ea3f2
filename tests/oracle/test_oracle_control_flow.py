"""Random nests of loops and conditionals, built by TensorFlow and by flowc: `make oracle`.

Both graphs must have the same nodes. Left out of `make test`, which needs no TensorFlow.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from api_program import nodes_of

import flowc

pytestmark = pytest.mark.oracle


@pytest.fixture(scope="module")
def tf() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    tensorflow = pytest.importorskip("tensorflow.compat.v1")
    tensorflow.disable_eager_execution()
    tensorflow.disable_control_flow_v2()
    tensorflow.disable_resource_variables()
    return tensorflow


class Program:
    """Builds the same random program with TensorFlow or flowc, seed by seed."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self.random = np.random.default_rng(seed)

    def build(self) -> None:
        tf = self.tf
        outside = [tf.placeholder(tf.float32, [2], name=f"x{i}") for i in range(2)]
        outside.append(tf.Variable([0.5, 1.0], name="v"))
        outside.append(tf.Variable([0.5, 1.0], name="r", use_resource=True))
        for _ in range(2):
            outside.append(self.value(outside, 0))

    def value(self, known: list[Any], depth: int) -> Any:
        """A new vector of two, made of known ones."""
        tf = self.tf
        choice = int(self.random.integers(0, 8 if depth < 4 else 3))
        a, b = self.one(known), self.one(known)
        match choice:
            case 0:
                return tf.tanh(a + 0.0)
            case 1:
                return a * b
            case 2:
                with tf.control_dependencies([self.one(known)]):
                    return a + tf.constant([1.0, 2.0]) if depth % 2 else tf.constant([3.0, 4.0])
            case 3:
                small = tf.reduce_sum(a * 1.0) < 1.0
                return tf.cond(
                    small,
                    lambda: self.chain(known, depth + 1),
                    lambda: self.chain(known, depth + 1),
                )
            case 4:
                return self.effect(known, depth)
            case 5:
                return self.array(known, depth)
            case _:
                return self.loop(known, depth, a)

    def one(self, known: list[Any]) -> Any:
        return known[int(self.random.integers(0, len(known)))]

    def chain(self, known: list[Any], depth: int) -> Any:
        known = list(known)
        for _ in range(int(self.random.integers(1, 3))):
            known.append(self.value(known, depth))
        return known[-1] if self.random.integers(0, 4) else self.one(known) + 0.0

    def loop(self, known: list[Any], depth: int, start: Any) -> Any:
        tf = self.tf
        limit = 3 if self.random.integers(0, 2) else None

        def body(i: Any, x: Any) -> Any:
            return i + 1, self.chain([*known, x], depth + 1)

        found = tf.while_loop(
            lambda i, x: tf.logical_and(i < 4, tf.reduce_sum(x * known[0]) < 9.0),
            body,
            (tf.constant(0), start + 0.0),
            shape_invariants=None,
            maximum_iterations=limit,
        )
        return found[1]

    def array(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        array = tf.TensorArray(tf.float32, size=3, clear_after_read=False)
        array = array.unstack(tf.stack([self.one(known) + 0.0 for _ in range(3)]))

        def body(i: Any, out: Any) -> Any:
            return i + 1, out.write(i, self.chain([*known, array.read(i)], depth + 1))

        _, out = tf.while_loop(lambda i, _: i < 3, body, (0, tf.TensorArray(tf.float32, size=3)))
        return tf.reduce_sum(out.stack(), 0)

    def effect(self, known: list[Any], depth: int) -> Any:
        tf = self.tf
        variable = known[int(self.random.integers(2, 4))]
        change = variable.assign_add(self.one(known) * 0.5)
        with tf.control_dependencies([change.op]):
            return variable.read_value() + 1.0


@pytest.mark.parametrize("seed", range(60))
def test_same_nodes(tf: Any, seed: int) -> None:
    found = []
    for library in (tf, flowc):
        with library.Graph().as_default() as graph:
            Program(library, seed).build()
        found.append(nodes_of(graph.as_graph_def()))
    theirs, ours = found
    for mine, wanted in zip(ours, theirs):
        assert mine == wanted
    assert len(ours) == len(theirs)
