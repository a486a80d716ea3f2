"""Summaries that a training step fetches: the bytes that TensorFlow 2.21 gives, and its faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import errors

LOSS = b"\n\x0b\n\x04loss\x15\x00\x00\xc0?"
A, B = b"\n\x08\n\x01a\x15\x00\x00\x80?", b"\n\x08\n\x01b\x15\x00\x00\x00@"


def _scalar(tags: Any, values: Any) -> Any:
    return tf.raw_ops.ScalarSummary(tags=tf.constant(tags), values=tf.constant(values))


def _run(*fetches: Any) -> Any:
    with tf.Session() as session:
        return session.run(list(fetches))


@pytest.fixture(autouse=True)
def _graph() -> Any:
    with tf.Graph().as_default():
        yield


def test_numbers_with_tags() -> None:
    found = _run(
        _scalar("loss", np.float32(1.5)),
        _scalar("", np.float64(1e300)),
        _scalar(["a", "b"], np.array([1, 2])),
    )
    assert found == [LOSS, b"\n\x05\x15\x00\x00\x80\x7f", A + B]


def test_summaries_of_a_step() -> None:
    x = tf.placeholder(tf.float32, [None])
    loss = tf.raw_ops.ScalarSummary(tags=tf.constant("loss"), values=tf.reduce_sum(x))
    both = tf.raw_ops.MergeSummary(inputs=[loss, _scalar("a", np.float32(1))])
    with tf.Session() as session:
        assert session.run(both, {x: [0.5, 1.0]}) == LOSS + A
        long = _scalar("t" * 200, np.float32(1))
        assert session.run(long)[:9] == b"\n\xd0\x01\n\xc8\x01ttt"


def test_merging_refuses_a_tag_twice_and_other_bytes() -> None:
    one = _scalar("a", np.float32(1))
    with pytest.raises(errors.InvalidArgumentError, match="Duplicate tag a found in summary"):
        _run(tf.raw_ops.MergeSummary(inputs=[one, _scalar(["b", "a"], np.ones(2))]))
    with pytest.raises(errors.InvalidArgumentError, match="Could not parse one of the summary"):
        _run(tf.raw_ops.MergeSummary(inputs=[one, tf.constant(["zz"])]))


def test_tags_and_values_differ_in_shape() -> None:
    with pytest.raises(ValueError, match=r"not the same shape: \[\] != \[2\]"):
        _scalar("a", np.ones(2))


def test_tensors_as_tensorflow_writes_them() -> None:
    """The very bytes of TensorFlow 2.21, fields in the order of their numbers."""
    r: Any = tf.raw_ops
    content = b'B\x12\x08\x01\x12\x04\x12\x02\x08\x02"\x08\x00\x00\xc0?\x00\x00\x00@'
    with tf.Graph().as_default(), tf.Session() as session:
        x = np.float32([1.5, 2.0])
        tagged = r.TensorSummaryV2(tag="t", tensor=x, serialized_summary_metadata="")
        of_node = r.TensorSummary(tensor=x, name="n")
        found = session.run([tagged, of_node])
    assert found == [b"\n\x19\n\x01t" + content + b"J\x00", b"\n\x17:\x01n" + content]
