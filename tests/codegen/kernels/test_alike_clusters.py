"""Clusters that are alike share what was made for the first of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import flowc as tf
from flowc.codegen.cpu.target import CpuTarget
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.sharing.alike import AlikeLaunches
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node

X = np.linspace(-2, 2, 32, dtype=np.float32).reshape(4, 8)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Node]]:
    """The clusters of loops for which launches are made."""
    monkeypatch.setenv("FLOWC_CACHE", "0")
    found: list[Node] = []
    launches = CpuTarget.launches

    def noted(self: CpuTarget, node: Node) -> tuple[Launch, ...]:
        if node.attrs["kind"] == "loop":
            found.append(node)
        return launches(self, node)

    monkeypatch.setattr(CpuTarget, "launches", noted)
    yield found


def layers(count: int, factors: list[float]) -> tuple[tf.Tensor, tf.Tensor]:
    """Products, and what comes between them: rows that are normalised, by way of a factor each."""
    x = y = tf.placeholder(tf.float32, [None, 8])
    w = tf.constant(np.eye(8, dtype=np.float32)[::-1])
    for i in range(count):
        y = tf.matmul(tf.nn.softmax(y) * factors[i % len(factors)] - x, w)
    return x, y


def first_run(count: int, factors: list[float]) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session(threads=1) as session:
        x, y = layers(count, factors)
        return session.run(y, {x: X})


def expected(count: int, factors: list[float]) -> np.ndarray:
    y = X.astype(np.float64)
    for i in range(count):
        e = np.exp(y - y.max(1, keepdims=True))
        y = (e / e.sum(1, keepdims=True) * factors[i % len(factors)] - X)[:, ::-1]
    return y


@pytest.mark.parametrize("factors", [[0.5], [0.5, -0.5, 2.0]], ids=["equal", "three kinds"])
def test_layers_share_their_launches(
    made: list[Node], factors: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = first_run(9, factors)
    np.testing.assert_allclose(found, expected(9, factors), rtol=1e-5, atol=1e-5)
    # The first layer reads the feed twice, where the others read it and a product.
    assert len(made) <= 2 * len(factors), made
    count = len(made)
    monkeypatch.setattr(AlikeLaunches, "of", lambda self, node, make: make(node))
    np.testing.assert_array_equal(found, first_run(9, factors))
    assert len(made) - count == 9


def test_zeros_keep_their_signs(made: list[Node]) -> None:
    x = tf.placeholder(tf.float32, [4, 8])
    signs = [tf.transpose(tf.transpose(x) * zero) for zero in (0.0, -0.0)]
    with tf.Session(graph=x.graph) as session:
        plus, minus = session.run(signs, {x: np.abs(X) + 1})
    assert not np.signbit(plus).any()
    assert np.signbit(minus).all()


@pytest.mark.parametrize("wrong", [0, 1, 2])
def test_faults_name_their_own_nodes(made: list[Node], wrong: int) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [5, 8])
        rows = [tf.placeholder(tf.int32, [3]) for _ in range(3)]
        heads = [tf.gather(x, i, name=f"rows_{n}") for n, i in enumerate(rows)]
        heads = [tf.matmul(h, np.eye(8, dtype=np.float32)) for h in heads]
        feeds = {x: np.ones((5, 8)), **{i: [0, 1, 2] for i in rows}}
        session.run(heads, feeds)
        with pytest.raises(InvalidArgumentError, match=f"rows_{wrong}"):
            session.run(heads, {**feeds, rows[wrong]: [0, 7, 2]})
