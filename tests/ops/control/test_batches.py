"""What would be shared with other runs or devices: batches of one run (their sizes, who has which
rows, what no other run brings), and calls of functions on a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.api.data.functions import traced
from flowc.errors import UnsupportedError

r: Any = tf.raw_ops
X = np.arange(6, dtype=np.float32).reshape(3, 2)
GIVEN = {"num_batch_threads": 1, "batch_timeout_micros": 1000, "grad_timeout_micros": 1000}


def _batch(*tensors: Any, most: int = 4, allowed: tuple[int, ...] = ()) -> Any:
    return r.Batch(
        in_tensors=list(tensors), max_batch_size=most, allowed_batch_sizes=list(allowed), **GIVEN
    )


def _unbatch(index: Any, key: int) -> Any:
    return r.Unbatch(
        batched_tensor=X, batch_index=np.array(index, np.int64).reshape(-1, 3), id=np.int64(key),
        timeout_micros=1000,
    )  # fmt: skip


def test_a_batch_is_filled_up_to_an_allowed_size() -> None:
    x = tf.placeholder(tf.float32, [None, 2])
    batch = _batch(x, allowed=(2, 4))
    rows = r.Unbatch(
        batched_tensor=batch.batched_tensors[0] + 1, batch_index=batch.batch_index, id=batch.id,
        timeout_micros=1000,
    )  # fmt: skip
    with tf.Session() as session:
        for count, size in ((0, 0), (1, 2), (2, 2), (3, 4)):
            whole, mine, index = session.run(
                [batch.batched_tensors[0], rows, batch.batch_index], {x: X[:count]}
            )
            wanted = np.concatenate([X[:count], X[:1].repeat(size - count, 0)])
            np.testing.assert_array_equal(whole, wanted)
            np.testing.assert_array_equal(mine, X[:count] + 1)
            assert index[:, 1:].tolist() == [[0, count]]


FAULTS: dict[str, tuple[Callable[[], Any], type[Exception]]] = {
    "Task size is larger": (
        lambda: _batch(tf.placeholder_with_default(X, [None, 2]), most=2).id,
        tf.errors.InvalidArgumentError,
    ),
    "must be monotonically increasing": (
        lambda: _batch(X, allowed=(4, 2)).id, tf.errors.InvalidArgumentError,
    ),
    "final entry in allowed_batch_sizes": (
        lambda: _batch(X, allowed=(2, 3)).id, tf.errors.InvalidArgumentError,
    ),
    "equal 0th-dimension": (lambda: _batch(X, [1, 2]).id, tf.errors.InvalidArgumentError),
    "at least one dimension": (lambda: _batch(1.0).id, tf.errors.InvalidArgumentError),
    "Sum of split sizes must not exceed": (
        lambda: _unbatch([[7, 0, 4]], 7), tf.errors.InvalidArgumentError,
    ),
    "must not be negative": (lambda: _unbatch([[7, 2, 1]], 7), tf.errors.InvalidArgumentError),
    "did not arrive": (lambda: _unbatch([[7, 0, 3]], 8), tf.errors.DeadlineExceededError),
    "no other run": (
        lambda: r.UnbatchGrad(
            original_input=X, batch_index=np.array([[7, 0, 3]]), grad=X, id=np.int64(9)
        ),
        tf.errors.DeadlineExceededError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("words", FAULTS)
def test_refused(words: str) -> None:
    make, kind = FAULTS[words]
    with tf.Graph().as_default(), tf.Session() as session, pytest.raises(kind, match=words):
        session.run(make())


@pytest.mark.parametrize("device", ["/device:GPU:0", "/job:worker/task:0", "/cpu:1", None])
def test_functions_are_called_on_the_device_of_this_process(device: str | None) -> None:
    double = traced(lambda x: 2 * x, (tf.TensorSpec([], tf.float32),), "double").reference
    target = tf.placeholder(tf.string, []) if device is None else device
    called = r.RemoteCall(target=target, args=[1.0], Tout=[tf.float32], f=double)
    words = "known only to the run" if device is None else f"calls a function on '{device}'"
    with tf.Session() as session, pytest.raises(UnsupportedError, match=words):
        session.run(called, {} if device else {target: "/cpu:0"})
