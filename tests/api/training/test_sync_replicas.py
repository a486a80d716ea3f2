"""`tf.train.SyncReplicasOptimizer`: names and values as TensorFlow 2.21 gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import flowc as tf


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def made(replicas: int, total: int, **given: Any) -> tuple[Any, Any, Any, Any]:
    x = tf.Variable([1.0, 2.0], name="x")
    rows = tf.Variable([[1.0, 1.0], [2.0, 2.0]], name="rows")
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(x * x) + tf.reduce_sum(tf.gather(rows, [0, 0]))
    inside = tf.train.GradientDescentOptimizer(0.1)
    optimizer = tf.train.SyncReplicasOptimizer(inside, replicas, total, **given)
    return optimizer, optimizer.minimize(loss, step), [x, rows, step], x


def test_an_update_waits_for_all_gradients() -> None:
    optimizer, train_op, values, _ = made(2, 1)
    assert (train_op.name, train_op.op.type) == ("Assign_1:0", "Assign")
    (update,) = optimizer.get_chief_queue_runner().enqueue_ops
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        session.run(optimizer.chief_init_op)
        session.run(optimizer.get_init_tokens_op())
        session.run(train_op)
        session.run(train_op)
        assert session.run(values[2]) == 0
        session.run(update)
        x, rows, step = session.run(values)
        np.testing.assert_allclose(x, [0.8, 1.6], rtol=1e-6)
        np.testing.assert_allclose(rows, [[0.8, 0.8], [2, 2]], rtol=1e-6)
        assert (step, session.run(train_op)) == (1, 1)  # the token is the step


def test_names() -> None:
    optimizer, _, _, x = made(1, 1, variable_averages=tf.train.ExponentialMovingAverage(0.9),
                              variables_to_average=None, name="sync")  # fmt: skip
    assert [v.name for v in tf.local_variables()] == ["sync_rep_local_step:0"]
    assert (optimizer.get_name(), optimizer.get_slot_names()) == ("sync", [])
    assert optimizer.get_slot(x, "m") is None and optimizer.variables() == []
    assert optimizer.get_chief_queue_runner().name == "sync_token_q"
    assert optimizer.get_init_tokens_op(0).type == "NoOp"
    accumulators = [
        o.name for o in tf.get_default_graph().get_operations() if "cumulator" in o.type
    ]
    assert "sync/conditional_accumulator" in accumulators
    assert "sync/SetGlobalStep" in accumulators and "sync/SetGlobalStep_1" in accumulators


def test_hook_and_runner() -> None:
    optimizer, train_op, values, _ = made(1, 1)
    hook, coordinator = optimizer.make_session_run_hook(True), tf.train.Coordinator()
    hook.begin()
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        hook.after_create_session(session, coordinator)
        read = tf.cond(
            tf.is_variable_initialized(values[2]),
            lambda: values[2] + 0,
            lambda: tf.constant(-1, tf.int64),
        )
        seen = [session.run([train_op, read])[1] for _ in range(4)]
        assert seen == sorted(seen) and seen[-1] >= 2
        coordinator.request_stop()


def test_what_is_refused() -> None:
    inside = tf.train.GradientDescentOptimizer(0.1)
    optimizer = tf.train.SyncReplicasOptimizer(inside, 5, 2)
    with pytest.raises(ValueError, match=r"Should be called after apply_gradients\(\)"):
        optimizer.get_chief_queue_runner()
    with pytest.raises(ValueError, match=r"should be called after apply_gradients\(\)"):
        optimizer.get_init_tokens_op()
    with pytest.raises(ValueError, match="should be called before using the hook"):
        optimizer.make_session_run_hook(True).begin()
    x = tf.Variable([1.0, 2.0])
    with pytest.raises(ValueError, match="Global step is required to check staleness"):
        optimizer.apply_gradients([(tf.ones([2]), x)])
    step = tf.train.get_or_create_global_step()
    with pytest.raises(ValueError, match="Must supply at least one variable"):
        optimizer.apply_gradients([], step)
    optimizer.apply_gradients([(tf.ones([2]), x)], step)
    with pytest.raises(ValueError, match=r"Too few tokens .* 1 \(given\) vs 3 \(needed\)"):
        optimizer.get_init_tokens_op(1)


def test_indices_that_a_gradient_has_twice_stay_two() -> None:
    accumulator = tf.SparseConditionalAccumulator(tf.float32, [None, 1])
    first = accumulator.apply_grad([0, 2, 2], [[1.0], [3.0], [4.0]])
    second = accumulator.apply_grad([1, 2], [[5.0], [7.0]])
    with tf.Session() as session:
        session.run(first)
        session.run(second)
        indices, values, _ = session.run(accumulator.take_grad(2))
    assert indices.tolist() == [0, 1, 2, 2]
    assert values.tolist() == [[1], [5], [5], [4]]
