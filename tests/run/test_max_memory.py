"""What one run of a Session may take: results, the memory of the run, what grows in loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click
import numpy as np
import pytest

import flowc as tf
from flowc.cli.parameters import Bytes
from flowc.errors import ResourceExhaustedError
from flowc_runtime.machine import memory_of_machine

COUNT = 1 << 16
X = np.ones(COUNT, np.float32)


def grown(x: Any) -> Any:
    """Eight times x, through results of two to seven times x that are freed."""
    return tf.while_loop(
        lambda i, a: i < 7,
        lambda i, a: (i + 1, tf.concat([a, x], 0)),
        [tf.constant(0), x],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
    )[1]


GRAPHS: dict[str, tuple[Callable[[Any], Any], int, int]] = {
    # what is computed, what is too little for it, what is enough
    "result": (lambda x: x * 2, X.nbytes - 1, X.nbytes),
    "arena": (lambda x: tf.reduce_sum(tf.cumsum(tf.cumsum(x))), X.nbytes, 3 * X.nbytes),
    "size of the run": (
        lambda x: tf.fill(tf.cast(x[:1], tf.int32) * COUNT, 1.0),
        X.nbytes,
        X.nbytes + 4096,
    ),
    "loop": (grown, 12 * X.nbytes, 40 * X.nbytes),
}


@pytest.mark.parametrize("name", GRAPHS)
def test_a_run_takes_no_more_than_it_may(name: str) -> None:
    build, little, enough = GRAPHS[name]
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None])
        y = build(x)
        with tf.Session(threads=1) as session:
            wanted = session.run(y, {x: X})
        with tf.Session(threads=1, max_memory=enough) as session:
            for _ in range(3):
                np.testing.assert_array_equal(session.run(y, {x: X}), wanted)
        with tf.Session(threads=1, max_memory=little) as session:
            for _ in range(2):
                with pytest.raises(ResourceExhaustedError, match=r"no memory for.*max_memory"):
                    session.run(y, {x: X})
            small = X[:16] if name != "size of the run" else X[:1] * 0
            session.run(y, {x: small})


def test_state_is_kept_where_a_run_takes_too_much() -> None:
    with tf.Graph().as_default():
        v = tf.Variable(np.zeros(4, np.float32), validate_shape=False)
        x = tf.placeholder(tf.float32, [None])
        set_, read = tf.assign(v, tf.cumsum(x), validate_shape=False), v.value()
        with tf.Session(threads=1, max_memory=4096) as session:
            session.run(tf.global_variables_initializer())
            with pytest.raises(ResourceExhaustedError):
                session.run(set_, {x: X})
            np.testing.assert_array_equal(session.run(read), np.zeros(4))


def test_what_the_machine_has_is_the_limit_without_one() -> None:
    have = memory_of_machine()
    assert have > 64 << 20
    with tf.Graph().as_default():
        n = tf.placeholder(tf.int64, [1])
        y = tf.reduce_sum(tf.cumsum(tf.fill(n, 1.0)))
        with (
            tf.Session(threads=1) as session,
            pytest.raises(ResourceExhaustedError, match="max_memory"),
        ):
            session.run(y, {n: np.array([have // 4 + 1])})


@pytest.mark.parametrize(
    ("text", "count"), [("4096", 4096), ("2k", 2048), ("512M", 512 << 20), ("3T", 3 << 40)]
)
def test_numbers_of_bytes(text: str, count: int) -> None:
    assert Bytes().convert(text, None, None) == count


@pytest.mark.parametrize("text", ["", "M", "-1", "1.5G", "0", "2X"])
def test_what_is_no_number_of_bytes(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no number of bytes"):
        Bytes().convert(text, None, None)


@pytest.mark.parametrize("setting", ["width", "precision"])
@pytest.mark.parametrize("is_fed", [False, True])
def test_texts_that_an_attr_makes_long(setting: str, is_fed: bool) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder_with_default(tf.constant([1.5, 2.0]), [2])
        given = x if is_fed else tf.constant([1.5, 2.0])
        y = tf.raw_ops.AsString(input=given, name="padded", **{setting: 10**9})
        with pytest.raises(ResourceExhaustedError, match="2 texts of 1000000000") as raised:
            session.run(y)
        assert raised.value.node == "padded"
        assert "padded" in str(raised.value)
        fine = tf.raw_ops.AsString(input=given, **{setting: 10**4})
        assert len(session.run(fine)[0]) >= 10**4
