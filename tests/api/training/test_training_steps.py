"""A training step is one native call: forward, backward and update; in a steady loop it allocates
nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.run import executable
from flowc.run.executable import Executable

Made = tuple[Any, dict[Any, np.ndarray]]  # the operation of a step, and what it is fed
RANDOM = np.random.RandomState(0)
LABELS = np.array([1, 0, 2, 1, 1, 0, 2, 2], np.int32)


def weights(*shape: int) -> Any:
    return tf.Variable(RANDOM.rand(*shape).astype(np.float32) - 0.5)


def perceptron() -> Made:
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.int32, [None])
    hidden = tf.nn.relu(tf.matmul(x, weights(6, 5)) + weights(5))
    logits = tf.matmul(hidden, weights(5, 3)) + weights(3)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=logits))
    step = tf.train.get_or_create_global_step()
    rate = tf.train.exponential_decay(0.01, step, 100, 0.9)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    return train, {x: RANDOM.rand(8, 6).astype(np.float32), y: LABELS}


def softmax_regression() -> Made:
    x, y = tf.placeholder(tf.float32, [None, 6]), tf.placeholder(tf.float32, [None, 3])
    answer = tf.nn.softmax(tf.matmul(x, weights(6, 3)) + weights(3))
    loss = tf.reduce_mean(-tf.reduce_sum(y * tf.log(answer), reduction_indices=[1]))
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    return train, {x: RANDOM.rand(8, 6).astype(np.float32), y: np.eye(3, dtype="f")[LABELS]}


def embedding() -> Made:
    index, y = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.float32, [None, 1])
    rows = tf.nn.embedding_lookup(weights(7, 4), index)
    loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights(4, 1)) - y))
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    return train, {index: LABELS, y: RANDOM.rand(8, 1).astype(np.float32)}


@pytest.mark.parametrize("make", [perceptron, softmax_regression, embedding])
def test_a_step_is_one_native_call(
    make: Callable[[], Made], monkeypatch: pytest.MonkeyPatch
) -> None:
    native, allocated = [], []
    run, empty = Executable.run_laid_out, executable.empty
    monkeypatch.setattr(
        Executable, "run_laid_out", lambda self, *a: native.append(self) or run(self, *a)
    )
    monkeypatch.setattr(executable, "empty", lambda *a: allocated.append(a) or empty(*a))
    with tf.Graph().as_default():
        train, feeds = make()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for _ in range(3):
                session.run(train, feeds)
            before = _addresses(session)
            native.clear()
            allocated.clear()
            for _ in range(4):
                session.run(train, feeds)
            assert len(native) == 4 and len(set(native)) == 1 and not native[0].metadata.calls
            assert not allocated
            # The contents go back and forth between two buffers, or stay where they are.
            assert _addresses(session) == before


def _addresses(session: tf.Session) -> dict[str, int]:
    held = session._variables._held
    return {name: variable.value.ctypes.data for name, variable in held.items()}
