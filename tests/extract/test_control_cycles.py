"""Loops whose gradients wait for updates that are made of what the loops give."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from update_programs import CASES, X, build, trained

import flowc as tf
from flowc.errors import InvalidModelError

# What TensorFlow 2.21 finds: three losses, then what the updates kept.
RECORDED: dict[tuple[str, str], list[float]] = {
    ("loop", "descend"): [0.10406143, 0.10284849, 0.10176861, -0.02652919, -0.03230166, -0.0380836],
    ("cond_in_loop", "descend"): [
        0.2596009,
        0.25118056,
        0.24222112,
        -0.432912,
        -0.3574288,
        -0.2327425,
    ],
    ("recurrent", "adam_clipped"): [
        0.0003789232,
        6.829923e-05,
        0.0002506497,
        0.51466864,
        0.5133526,
        0.5138446,
    ],
    ("loop", "two_optimizers"): [
        0.10406143,
        0.10239443,
        0.1007696,
        -0.0252842,
        -0.0306293,
        -0.0359946,
    ],
}


@pytest.mark.parametrize(("loop", "step"), CASES)
def test_an_update_before_the_step_changes_no_loss(loop: str, step: str) -> None:
    found = trained(tf, loop, step)
    assert found == pytest.approx(trained(tf, loop, step, waits=False), rel=1e-5, abs=1e-7)
    if (loop, step) in RECORDED:
        assert found == pytest.approx(RECORDED[loop, step], rel=1e-5, abs=1e-6)


def test_a_program_that_was_saved_trains_on(tmp_path: Path) -> None:
    path = str(tmp_path / "model")
    with tf.Graph().as_default():
        x, (loss, step) = build(tf, "loop", "descend", waits=True)
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.train.Saver().save(session, path)
            wanted = [session.run([loss, step], {x: X})[0] for _ in range(2)]
    with tf.Graph().as_default(), tf.Session() as session:
        tf.train.import_meta_graph(path + ".meta").restore(session, path)
        found = [session.run(["loss:0", step.name], {"x:0": X})[0] for _ in range(2)]
    assert found == wanted


def test_gradients_alone_run_the_updates_that_they_wait_for() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.Variable(0.5)
        runs = tf.Variable(0.0, trainable=False)
        _, h = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, h * w), [0, tf.ones([])])
        with tf.control_dependencies([tf.assign_add(runs, 1.0 + 0.0 * h)]):
            (gradient,) = tf.gradients(h, w)
        session.run(tf.global_variables_initializer())
        assert session.run(gradient) == pytest.approx(0.75)
        assert session.run(runs) == 1.0


def test_a_loop_that_needs_its_own_outcome_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.constant(np.float32(1.0))
        _, h = tf.while_loop(lambda i, _: i < 3, lambda i, h: (i + 1, h * 2.0), [0, start])
        start.op.add_control_inputs([h.op])
        message = "depends on itself, and no NextIteration closes the loop"
        with pytest.raises(InvalidModelError, match=message):
            session.run(h)


def test_gradients_of_nested_loops_do_not_wait_for_updates() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        w = tf.get_variable("w", initializer=0.5)

        def body(i: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            inner = tf.while_loop(lambda j, _: j < 2, lambda j, h: (j + 1, h * w), [0, h])
            return i + 1, inner[1]

        loss = tf.while_loop(lambda i, _: i < 2, body, [0, tf.ones([])])[1]
        optimizer = tf.train.GradientDescentOptimizer(0.1)
        kept = tf.Variable(0.0, trainable=False)
        update = tf.assign_add(kept, loss)
        refused = pytest.raises(ValueError, match="gradients of nested loops outside of")
        with refused, tf.control_dependencies([update]):
            optimizer.minimize(loss)
        gradients = optimizer.compute_gradients(loss, [w])
        with tf.control_dependencies([update]):
            step = optimizer.apply_gradients(gradients)
        session.run(tf.global_variables_initializer())
        session.run(step)
        assert session.run([w, kept]) == pytest.approx([0.5 - 0.1 * 4 * 0.5**3, 0.5**4])
