"""`tf.distributions` gives what `tests/oracle/record_distributions.py` recorded of TensorFlow.

`FLOWC_FUZZ` evaluates every expression; else every eleventh: in turn each method of one of
them, as 6 or 7 follow each other.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distribution_cases import FAULTS, STATIC, evaluated

import flowc as tf

RECORDED = json.loads((Path(__file__).parents[2] / "recorded" / "distributions.json").read_text())
# TensorFlow refuses a batch of them, though the statistic is defined: it compares shapes it did not
# broadcast.
BEYOND = {
    "dirichlet.mode()": [0.14285715, 0.2857143, 0.5714286, 0.0425532, 0.6382979, 0.3191489],
    "beta.cdf([0.2, 0.5, 0.9])": [0.5498151, 0.3812815, 0.8776593, 0.8049844, 0.8125, 0.9987300],
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return evaluated(tf, step=1 if "FLOWC_FUZZ" in os.environ else 11)


def test_values_and_samples_as_in_tensorflow(found: dict[str, Any]) -> None:
    compared = 0
    for text, values in found.items():
        expected = RECORDED[text]
        if isinstance(expected, str) or text in STATIC:
            continue
        assert [(v["dtype"], v["shape"]) for v in values] == [
            (v["dtype"], v["shape"]) for v in expected
        ], text
        for value, wanted in zip(values, expected):
            np.testing.assert_allclose(
                value["values"], wanted["values"], rtol=2e-5, atol=1e-6, err_msg=text
            )
        compared += 1
    assert compared >= 20


def test_what_is_known_without_a_run(found: dict[str, Any]) -> None:
    assert {t: found[t] for t in STATIC} == {t: RECORDED[t] for t in STATIC}


def test_faults_as_in_tensorflow(found: dict[str, Any]) -> None:
    assert {t: found[t] for t in FAULTS} == {t: RECORDED[t] for t in FAULTS}


def test_statistics_that_tensorflow_refuses() -> None:
    d = tf.distributions
    dirichlet = d.Dirichlet([[1.5, 2.0, 3.0], [1.2, 4.0, 2.5]])
    beta = d.Beta([0.5, 2.0, 3.0], [[1.5], [4.0]])
    tensors = {
        "dirichlet.mode()": dirichlet.mode(),
        "beta.cdf([0.2, 0.5, 0.9])": beta.cdf([0.2, 0.5, 0.9]),
    }
    for text, value in tf.Session().run(tensors).items():
        assert isinstance(RECORDED[text], str)
        np.testing.assert_allclose(value.reshape(-1), BEYOND[text], rtol=1e-5)


@pytest.mark.parametrize(
    ("made", "sampled", "text"),
    [
        (4, 20, "d.Normal([0.0, 1.0], [1.0, 2.0])"),
        (2, 16, "d.Bernoulli(logits=[0.0, 1.0])"),
        (6, 18, "d.Categorical(logits=[[0.0, 1.0]])"),
        (3, 39, "d.Beta([1.0, 2.0], 2.0)"),
    ],
)
def test_as_many_nodes_as_tensorflows(made: int, sampled: int, text: str) -> None:
    """The seed of a random node follows from how many nodes are before it."""
    with tf.Graph().as_default() as graph:
        distribution = eval(text, {"d": tf.distributions})
        assert len(graph.get_operations()) == made
        distribution.sample()
        assert len(graph.get_operations()) == made + sampled


def test_a_distribution_of_a_program() -> None:
    """One that says only how it draws and its log_prob, and a divergence registered for it."""
    d = tf.distributions

    class Point(d.Distribution):
        def __init__(self, at: float) -> None:
            self.at = at
            super().__init__(
                tf.float32, d.NOT_REPARAMETERIZED, False, False, {"at": at}, name="Point"
            )

        def _batch_shape(self) -> Any:
            return []

        def _event_shape(self) -> Any:
            return []

        def _sample_n(self, n: Any, seed: int | None = None) -> Any:
            return tf.fill([n], self.at)

        def _log_prob(self, x: Any) -> Any:
            return tf.log(tf.cast(tf.equal(x, self.at), tf.float32))

    @d.RegisterKL(Point, d.Distribution)
    def _divergence(a: Any, b: Any, name: str | None = None) -> Any:
        return -b.log_prob(a.at, name=name or "kl") * 0.0 / tf.constant(0.0)

    point = Point(2.0)
    session = tf.Session()
    drawn, likely = session.run([point.sample([2, 1]), point.copy(at=3.0).prob([2.0, 3.0])])
    assert drawn.tolist() == [[2.0], [2.0]] and likely.tolist() == [0.0, 1.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="returned NaN values"):
        session.run(point.kl_divergence(d.Normal(0.0, 1.0)))
    with pytest.raises(NotImplementedError, match="survival_function is not implemented: Point"):
        point.survival_function(1.0)
