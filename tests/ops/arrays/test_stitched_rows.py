"""DynamicStitch with indices that only the run knows: as many rows as the largest says, zeros where
none points, as TensorFlow 2.21 has it. What a partition dealt out needs no more than it had."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tensor_types import tensor_type

import flowc as tf
from flowc import dtypes
from flowc.extract.program import extract


@pytest.fixture
def session() -> Iterator[tf.Session]:
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.mark.parametrize("rank", [1, None])
def test_rows_that_no_index_names_are_zeros(session: tf.Session, rank: int | None) -> None:
    first, second = (tf.placeholder(tf.int32, [None] * (rank or 2)) for _ in range(2))
    rows = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
    shape = (2,) if rank else (2, 1)
    data = [rows.reshape(*shape, 3), -rows.reshape(*shape, 3)]
    whole = tf.dynamic_stitch([first, second], data)
    for indices, expected in {
        ((0, 2), (1, 5)): [rows[0], -rows[0], rows[1], 0 * rows[0], 0 * rows[0], -rows[1]],
        ((0, 0), (0, 0)): [-rows[1]],
        ((3, 1), (1, 0)): [-rows[1], -rows[0], 0 * rows[0], rows[0]],
    }.items():
        fed = [np.reshape(i, shape) for i in indices]
        np.testing.assert_array_equal(session.run(whole, dict(zip((first, second), fed))), expected)


def test_what_is_no_index_ends_the_run(session: tf.Session) -> None:
    at = tf.placeholder(tf.int32, [None])
    x = tf.placeholder(tf.float32, [None, 3])
    whole = tf.dynamic_stitch([at], [x], name="whole")
    ones = np.ones((2, 3), np.float32)
    assert session.run(whole, {at: [], x: ones[:0]}).shape == (0, 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="whole"):
        session.run(whole, {at: [-1, 0], x: ones})
    with pytest.raises(tf.errors.ResourceExhaustedError, match="whole"):
        session.run(whole, {at: [2**31 - 1, 0], x: ones})


def test_what_a_partition_dealt_out_has_a_bound(session: tf.Session) -> None:
    x, part = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.int32, [None])
    dealt = tf.dynamic_partition(tf.range(tf.shape(x)[0]), part, 2)
    rows = tf.dynamic_partition(x, part, 2)
    whole = tf.dynamic_stitch(dealt, [rows[0] * 10.0, rows[1]])
    found = session.run(
        [whole, *tf.gradients(whole * whole, x)], {x: [[1, 2]] * 3, part: [1, 0, 1]}
    )
    np.testing.assert_array_equal(found[0], [[1, 2], [10, 20], [1, 2]])
    np.testing.assert_array_equal(found[1], [[2, 4], [200, 400], [2, 4]])
    types = {x: tensor_type(dtypes.f32, (4, 2)), part: tensor_type(dtypes.i32, (4,))}
    computation = extract(tf.get_default_graph(), [whole], types)
    assert "dynamic_stitch" in {node.op.name for node in computation.nodes}
