"""`RaggedTensor.from_...` check that partitions fit the values, unless they are told not to."""

from __future__ import annotations

import pytest

import flowc as tf


def test_a_run_finds_partitions_that_do_not_fit() -> None:
    ragged = tf.RaggedTensor
    with tf.Graph().as_default(), tf.Session() as session:
        ends = tf.placeholder(tf.int64, [None])
        values = tf.placeholder(tf.float32, [None])
        rows = ragged.from_row_splits(values, ends)
        fed = {values: [1.0, 2.0, 3.0]}
        assert session.run(rows, {**fed, ends: [0, 1, 3]}).to_list() == [[1.0], [2.0, 3.0]]
        for splits, fault in (
            ([1, 3], "the first row must begin at 0"),
            ([0, 4], "the last row must end with the last value"),
            ([0, 2, 1, 3], "row splits must not decrease"),
        ):
            with pytest.raises(tf.errors.InvalidArgumentError, match=fault):
                session.run(rows, {**fed, ends: splits})


def test_unchecked_partitions_add_no_operation() -> None:
    with tf.Graph().as_default() as graph:
        tf.RaggedTensor.from_row_splits(tf.zeros([3]), [0, 2], validate=False)
        assert not [op for op in graph.get_operations() if op.type == "Assert"]
