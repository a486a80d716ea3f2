"""How far threads of a dataset work ahead of who asks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.ops.datasets.threads import parallel


def _taken_ahead(monkeypatch: pytest.MonkeyPatch, size: int, batch: int) -> int:
    """How many elements of so many f64 each were taken beside those of three batches."""
    monkeypatch.setattr(parallel.Pace, "begins", lambda *_: True)
    monkeypatch.setattr(parallel.Pace, "ends", lambda *_: False)
    taken: list[int] = []

    def elements() -> Iterator[int]:
        for k in range(1000):
            taken.append(k)
            yield k

    def load(x: Any) -> Any:
        found: Any = tf.py_func(lambda k: np.full(size, float(k)), [x], tf.float64)
        return tf.ensure_shape(found, [size])

    with tf.Graph().as_default(), tf.Session() as session:
        found = tf.data.Dataset.from_generator(elements, tf.int64, []).map(load, 2).batch(batch)
        batches = found.make_one_shot_iterator().get_next()
        for k in range(3):
            expected = np.arange(k * batch, (k + 1) * batch)
            np.testing.assert_array_equal(session.run(batches)[:, 0], expected)
    return len(taken) - 3 * batch


def test_threads_work_two_batches_ahead(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _taken_ahead(monkeypatch, 1, 16) == 2 * 16 - 1
    assert _taken_ahead(monkeypatch, 1, 2) == parallel.AHEAD * 2 - 1


def test_but_no_more_than_memory_is_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "MOST_AHEAD", 12 * 9000)
    assert _taken_ahead(monkeypatch, 1 << 10, 16) == 12 - 1
