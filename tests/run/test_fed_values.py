"""What decides ranks and axes may be fed: a Session compiles for the values that it needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.run.value_specialization import MOST_PROGRAMS

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
Case = tuple[Callable[..., Any], Callable[..., Any], Sequence[Any]]

# What is built of x and what is fed, the same in NumPy, and what is fed in turn.
CASES: dict[str, Case] = {
    "perm": (tf.transpose, np.transpose, [[2, 0, 1], [1, 0, 2], [2, 0, 1]]),
    "sum over an axis": (tf.reduce_sum, np.sum, [1, -1]),
    "sum over axes": (tf.reduce_sum, lambda x, a: np.sum(x, tuple(a)), [[0, 2], [1, 2]]),
    "argmax": (tf.argmax, np.argmax, [0, 2]),
    "concat": (
        lambda x, a: tf.concat([x, x + 1], a),
        lambda x, a: np.concatenate([x, x + 1], a),
        [1, -1],
    ),
    "split": (
        lambda x, a: tf.split(x, 2, a)[1],
        lambda x, a: np.split(x, 2, a)[1],
        [0, 2],
    ),
    "gather": (
        lambda x, a: tf.gather(x, [1, 0], axis=a),
        lambda x, a: np.take(x, [1, 0], a),
        [0, 1],
    ),
    "cumsum": (tf.cumsum, np.cumsum, [0, 1]),
    "expand_dims": (tf.expand_dims, np.expand_dims, [0, 3, -1]),
    "reverse": (tf.reverse, lambda x, a: np.flip(x, a), [[0], [2]]),
    "stride": (lambda x, a: x[:, ::a], lambda x, a: x[:, ::a], [1, 2, -1]),
    "reshape": (tf.reshape, np.reshape, [[6, 4], [-1, 4], [2, -1], [4, 6], [-1, 4]]),
    "bound": (lambda x, a: x[:, a:], lambda x, a: x[:, a:], [1, -1, 0, -2, 2, -1]),
    "index": (lambda x, a: x[a], lambda x, a: x[a], [0, -1]),
    "computed": (
        lambda x, a: tf.reduce_max(x, tf.range(a, 3)),
        lambda x, a: np.max(x, tuple(range(a, 3))),
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_values_that_are_fed_decide_shapes(name: str) -> None:
    build, wanted, fed = CASES[name]
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3, 4])
        a = tf.placeholder(tf.int32, np.shape(fed[0]))
        y = build(x, a)
        for value in fed:
            np.testing.assert_allclose(session.run(y, {x: X, a: value}), wanted(X, value))


def test_data_stays_data() -> None:
    """Small feeds of integers are constants only where it does not compile without."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3, 4])
        axis, step = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
        y = tf.reduce_sum(x, axis) * tf.cast(step, tf.float32)
        for number in range(5):
            found = session.run(y, {x: X, axis: 1, step: number})
            np.testing.assert_allclose(found, X.sum(1) * number)
        assert len(session._dispatcher.programs.all()) == 1


def test_what_counts_from_the_end_is_compiled_once() -> None:
    """The program for all values serves those that are not negative, also after others."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, a = tf.placeholder(tf.float32, [2, 3, 4]), tf.placeholder(tf.int32, [])
        y = x[:, a:]
        for value in (1, -1, 2, -1, 0, 1, -1):
            np.testing.assert_array_equal(session.run(y, {x: X, a: value}), X[:, value:])
        assert len(session._dispatcher.programs.all()) == 2


def test_axes_of_two_tensors_may_be_fed() -> None:
    """As `tensordot` has them: what is left of the axes has a length that the run counts."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, axes = tf.placeholder(tf.float32), tf.placeholder(tf.int32)
        first = tf.gather(axes, 0)
        left = tf.setdiff1d(tf.range(tf.rank(x)), first)[0]
        moved = tf.transpose(x, tf.concat([left, first], 0))
        for fed in ([[0], [1]], [[1], [0]], [[2, 0], [1, 1]]):
            found = session.run(moved, {x: X, axes: fed})
            order = [k for k in range(3) if k not in fed[0]] + fed[0]
            np.testing.assert_array_equal(found, X.transpose(order))


def test_a_branch_that_ranks_decide_against_need_not_fit() -> None:
    """As metrics squeeze labels that have a dimension more: the other branch has no such one."""
    with tf.Graph().as_default(), tf.Session() as session:
        x, y = tf.placeholder(tf.int32), tf.placeholder(tf.int32)
        more = tf.rank(x) - tf.rank(y)
        squeezed = tf.cond(tf.equal(more, 1), lambda: tf.squeeze(x, [-1]), lambda: x)
        other = tf.cond(tf.equal(more, -1), lambda: tf.squeeze(y, [-1]), lambda: y)
        four, column = np.arange(4), np.arange(4).reshape(4, 1)
        for fed in ((four, four), (column, four), (four, column)):
            found = session.run([squeezed, tf.equal(squeezed, other)], dict(zip((x, y), fed)))
            np.testing.assert_array_equal(found[0], four)
            assert found[1].all() and found[1].shape == (4,)


def test_programs_for_values_are_bounded() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.placeholder(tf.int32, [1])
        y = tf.cumsum(tf.ones([2, 2]), tf.reshape(a % 2, []))
        for value in range(MOST_PROGRAMS + 3):
            session.run(y, {a: [value]})
        assert len(session._dispatcher.programs.all()) == MOST_PROGRAMS


def test_what_no_small_feed_decides_is_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, 3])
        y = tf.cumsum(x, tf.cast(tf.reduce_sum(x), tf.int32), name="total")
        with pytest.raises(UnimplementedError, match="needs constants as its input 1") as caught:
            session.run(y, {x: np.zeros((2, 3))})
        assert caught.value.node == "total"


def test_sizes_that_are_wrong_stay_wrong() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x, shape = tf.placeholder(tf.float32, [24]), tf.placeholder(tf.int32, [2])
        y = tf.reshape(x, shape)
        for wrong in ([-1, -1], [-2, 12], [-1, 5]):
            with pytest.raises(InvalidArgumentError):
                session.run(y, {x: X.reshape(-1), shape: wrong})
        assert session.run(y, {x: X.reshape(-1), shape: [4, -1]}).shape == (4, 6)


def test_axes_that_fed_shapes_decide_are_fetched() -> None:
    session = tf.Session()
    left, right = (tf.placeholder(tf.int32, [n]) for n in (2, 3))
    axes = list(tf.raw_ops.BroadcastGradientArgs(s0=left, s1=right))
    for shapes, expected in {
        ((1, 3), (4, 2, 1)): ([0, 1], [2]),
        ((2, 3), (4, 2, 3)): ([0], []),
    }.items():
        found = session.run(axes, dict(zip((left, right), shapes)))
        assert tuple(x.tolist() for x in found) == expected
    with pytest.raises(tf.errors.InvalidArgumentError):
        session.run(axes, {left: [2, 3], right: [4, 3, 3]})


def test_gradients_decide_as_the_branch_of_a_loop_did() -> None:
    """The rank decides it: only one branch keeps values for its gradient."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [None])

        def body(i: tf.Tensor, v: tf.Tensor) -> list[tf.Tensor]:
            return [i + 1, tf.cond(tf.rank(x) > 0, lambda: v * 2, lambda: v * v * v)]

        y = tf.while_loop(lambda i, v: i < 3, body, [0, x])[1]
        given = [0.25, 0.5]
        np.testing.assert_array_equal(session.run(tf.gradients(y, x)[0], {x: given}), [8, 8])
        both = tf.cond(tf.rank(x) > 0, lambda: tf.gradients(y, x)[0], lambda: x)
        np.testing.assert_array_equal(session.run(both, {x: given}), [8, 8])


def test_quantized_feeds_meet_what_a_run_quantizes() -> None:
    """Arrays of plain integers are fed to tensors of quantised ones; the axis decides a shape."""
    r: Any = tf.raw_ops
    fed = [tf.placeholder(tf.quint8, [2, n]) for n in (1, 2)]
    axis = tf.placeholder(tf.int32, [])
    made = tf.quantize_v2(
        tf.placeholder_with_default(np.ones((2, 1), "f4"), [2, 1]), 0.0, 1.0, tf.quint8
    )[0]
    joined = r.QuantizedConcat(
        concat_dim=axis, values=[*fed, made], input_mins=[0.0] * 3, input_maxes=[1.0] * 3
    )[0]
    feeds = {axis: 1, fed[0]: np.uint8([[1], [2]]), fed[1]: np.uint8([[3, 4], [5, 6]])}
    with tf.Session() as session:
        found = session.run(tf.bitcast(joined, tf.uint8), feeds)
    assert found.tolist() == [[1, 3, 4, 255], [2, 5, 6, 255]]
