"""Operators, functions, reductions and constructors of ragged tensors: what is expected was seen in
TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import pytest

import flowc as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def listed(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        found = session.run(list(fetches))
    return [one.to_list() if hasattr(one, "to_list") else one.tolist() for one in found]


def rows() -> Any:
    return tf.ragged.constant([[1], [2, 3]])


def test_operators_and_elementwise_functions() -> None:
    r = rows()
    found = listed(r + r, r * 2, 1 - r, -r, r > 1, abs(-r), r / 2, tf.square(r))
    assert found[:5] == [[[2], [4, 6]], [[2], [4, 6]], [[0], [-1, -2]], [[-1], [-2, -3]],
                         [[False], [True, True]]]  # fmt: skip
    assert found[5:] == [[[1], [2, 3]], [[0.5], [1, 1.5]], [[1], [4, 9]]]
    chosen = tf.where(r > 1, r, r * 0)
    assert listed(chosen, tf.zeros_like(r), tf.size(r), tf.rank(r)) == [
        [[0], [2, 3]], [[0], [0, 0]], 3, 2
    ]  # fmt: skip
    assert r == r


def test_rows_that_are_not_the_same() -> None:
    r = rows()
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(r + tf.RaggedTensor.from_row_lengths([1, 2, 3], tf.placeholder_with_default(
            [2, 1], [2])))  # fmt: skip
    with pytest.raises(ValueError, match="expected a scalar"):
        _ = r + tf.constant([1, 2])
    with pytest.raises(TypeError, match="bounding_shape"):
        tf.shape(r)


def test_reductions() -> None:
    r, deep = rows(), tf.ragged.constant([[[1], [2, 3]], [[4]]])
    found = listed(
        tf.reduce_sum(r, 1), tf.reduce_sum(r, 0), tf.reduce_sum(r), tf.reduce_mean(r, axis=1),
        tf.reduce_max(r, axis=1), tf.reduce_any(r > 1, axis=1), tf.reduce_all(r > 1, axis=1),
        tf.reduce_sum(deep, axis=-1), tf.reduce_sum(r, 1, keepdims=True),
    )  # fmt: skip
    assert found == [
        [1, 5], [3, 3], 6, [1.0, 2.5], [1, 3], [False, True], [False, True], [[1, 5], [4]],
        [[1], [5]],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="axis=5 out of bounds"):
        tf.reduce_sum(r, 5)
    with pytest.raises(ValueError, match="not provided"):
        tf.math.reduce_euclidean_norm(tf.cast(deep, tf.float32), 1)


def test_rows_of_tensors() -> None:
    make, dense = tf.RaggedTensor, [[1, 0], [2, 3]]
    sparse = tf.SparseTensor([[0, 0], [1, 0], [1, 1]], [1, 2, 3], [3, 2])
    found = listed(
        make.from_tensor(dense, padding=0), make.from_tensor(dense, lengths=[1, 2]),
        make.from_tensor(dense), make.from_sparse(sparse),
        make.from_nested_row_lengths([1, 2, 3], [[1, 1], [1, 2]]),
    )  # fmt: skip
    assert found == [
        [[1], [2, 3]], [[1], [2, 3]], [[1, 0], [2, 3]], [[1], [2, 3], []], [[[1]], [[2, 3]]]
    ]  # fmt: skip
    gap = make.from_sparse(tf.SparseTensor([[0, 1]], [1], [1, 2]))
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="right-rag"):
        session.run(gap)
    with pytest.raises(ValueError, match="but not both"):
        make.from_tensor(dense, lengths=[1, 2], padding=0)


def test_what_is_said_of_rows() -> None:
    r = rows()
    lengths = r.nested_row_lengths()
    found = listed(r.bounding_shape(), r.bounding_shape(axis=1), *lengths, r.merge_dims(0, 1))
    assert found == [[2, 2], 2, [1, 2], [1, 2, 3]]
    assert r.with_row_splits_dtype(tf.int32).row_splits.dtype == tf.int32
    assert r.consumers()


def test_ranges_stacks_and_masks() -> None:
    r, more = rows(), tf.ragged.constant([[4, 5]])
    found = listed(
        tf.ragged.range([3, 0, 2]), tf.ragged.range([1, 2], [5, 2], 2), tf.ragged.range(3.0),
        tf.concat([r, more], 0), tf.ragged.stack([r, more]), tf.ragged.stack([[1, 2], [3]]),
        tf.ragged.boolean_mask([[1, 2, 3], [4, 5, 6]], [[True, False, True], [False] * 3]),
        tf.ragged.boolean_mask(r, tf.ragged.constant([[True], [False, True]])),
        tf.ragged.boolean_mask(r, [False, True]),
    )  # fmt: skip
    assert found == [
        [[0, 1, 2], [], [0, 1]], [[1, 3], []], [[0, 1, 2]], [[1], [2, 3], [4, 5]],
        [[[1], [2, 3]], [[4, 5]]], [[1, 2], [3]], [[1, 3], []], [[1], [3]], [[2, 3]],
    ]  # fmt: skip
    with pytest.raises(ValueError, match="may not be empty"):
        tf.ragged.stack([])
    with pytest.raises(ValueError, match="out of bounds"):
        tf.concat([r, r], 2)
    with pytest.raises(ValueError, match="takes as many numbers above 0"):
        tf.tile(r, [2])
    with pytest.raises(ValueError, match="ragged indices pick along axis 0: found axis 1"):
        tf.gather(r, more, axis=1)
    with pytest.raises(ValueError, match="greater than or equal to batch_dims"):
        tf.gather(r, r, axis=0, batch_dims=1)


def test_crosses() -> None:
    features = [tf.ragged.constant([["a"], ["b", "c"]]), tf.ragged.constant([["d"], ["e"]])]
    found = listed(tf.ragged.cross(features), tf.ragged.cross_hashed(features, num_buckets=100))
    assert found == [[[b"a_X_d"], [b"b_X_e", b"c_X_e"]], [[82], [61, 41]]]
