"""Tensors that stay in a Session from run to run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf

r: Any = tf.raw_ops


def test_tensors_stay_until_they_are_deleted() -> None:
    with tf.Graph().as_default() as graph:
        x, handle = tf.placeholder(tf.float32, [2]), tf.placeholder(tf.string, [])
        kept = r.GetSessionHandle(value=x * 2.0, name="a")
        value = r.GetSessionTensor(handle=handle, dtype=tf.float32) + 1.0
        wrong = r.GetSessionTensor(handle=handle, dtype=tf.int32)
        delete = r.DeleteSessionTensor(handle=handle)
    with tf.Session(graph=graph) as session, tf.Session(graph=graph) as other:
        first, second = (session.run(kept, {x: v}) for v in ([1, 2], [3, 4]))
        assert first == b"a;0;/job:localhost/replica:0/task:0/device:CPU:0"
        np.testing.assert_array_equal(session.run(value, {handle: first}), [3, 5])
        session.run(delete, {handle: first})
        np.testing.assert_array_equal(session.run(value, {handle: second}), [7, 9])
        for where, fetch, text in (
            (session, value, "is not in the session store"),
            (other, value, "is not in the session store"),
            (session, delete, "Failed to delete a non-existing tensor"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=text):
                where.run(fetch, {handle: first})
        with pytest.raises(tf.errors.InvalidArgumentError, match="is float, and not int32"):
            session.run(wrong, {handle: second})
