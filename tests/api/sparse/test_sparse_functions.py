"""`tf.sparse`: shapes that are known without a run, other forms of arguments, crosses and counts.
What is expected was seen in TensorFlow 2.21."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with tf.Graph().as_default():
        yield


def sparse() -> Any:
    return tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])


def listed(*fetches: Any) -> list[Any]:
    with tf.Session() as session:
        found = session.run(fetches)
    return [[part.tolist() for part in one] for one in found]


def test_static_shapes_of_what_becomes_of_a_sparse_tensor() -> None:
    a, wide = sparse(), tf.SparseTensor([[2, 0]], [1.0], [3, 1])
    joined = tf.sparse.concat(-1, [a, a])
    grown = tf.sparse_concat(1, [a, wide], expand_nonconcat_dim=True)
    added, reshaped = tf.sparse.add(a, a), tf.sparse.reshape(a, [3, -1])
    found = [joined, grown, added, reshaped, tf.sparse.expand_dims(a, -1), tf.sparse.transpose(a)]
    shapes = [[2, 6], [3, 4], [2, 3], [3, 2], [2, 3, 1], [3, 2]]
    assert [one.shape.as_list() for one in found] == shapes
    values = listed(*found)
    assert [sizes for _, _, sizes in values] == shapes
    assert values[1][0] == [[0, 1], [1, 0], [1, 2], [2, 3]]
    assert values[4][0] == [[0, 1, 0], [1, 0, 0], [1, 2, 0]]


def test_what_a_sparse_tensor_does_not_fit() -> None:
    a = sparse()
    calls = [
        lambda: tf.sparse.reshape(a, [4, -1]),
        lambda: tf.sparse.reshape(a, [-1, -1]),
        lambda: tf.sparse.retain(a, [True, False]),
        lambda: tf.sparse.reset_shape(a, [1, 3]),
        lambda: tf.sparse.transpose(a, [0]),
        lambda: tf.sparse.add(a, tf.SparseTensor([[0, 0]], [1.0], [1, 1])),
    ]
    for call in calls:
        with pytest.raises(ValueError):
            call()
    fed = tf.sparse_placeholder(tf.float32)
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError):
        session.run(tf.sparse.reset_shape(fed, [1, 3]), {fed: ([[0, 1]], [1.0], [2, 3])})
    with pytest.raises(TypeError, match="vocab_size"):
        tf.sparse_merge(a, a, [5, 3])


def test_functions_of_the_values_that_a_sparse_tensor_keeps() -> None:
    a = sparse().with_values(tf.constant([-1.0, 4.0, 9.0]))
    found = listed(tf.abs(a), tf.negative(a), tf.square(a), tf.sign(a), tf.sqrt(tf.abs(a)))
    expected = [[1, 4, 9], [1, -4, -9], [1, 16, 81], [-1, 1, 1], [1, 2, 3]]
    assert [values for _, values, _ in found] == expected
    assert all(places == [[0, 1], [1, 0], [1, 2]] for places, _, _ in found)


def test_a_dense_matrix_before_a_sparse_one() -> None:
    product = tf.sparse.sparse_dense_matmul(np.ones((2, 2), np.float32), sparse())
    assert product.shape.as_list() == [2, 3]
    with tf.Session() as session:
        assert session.run(product).tolist() == [[2, 1, 3], [2, 1, 3]]


def test_crosses_of_features() -> None:
    words = tf.SparseTensor([[0, 0], [1, 0]], ["a", "b"], [2, 1])
    others = tf.SparseTensor([[0, 0], [1, 0]], ["c", "d"], [2, 1])
    crossed = tf.sparse.cross([words, tf.constant([["c"], ["d"]])])
    hashed = tf.sparse.cross_hashed([words, others], num_buckets=10, hash_key=3)
    first, second = listed(crossed, hashed)
    assert first == [[[0, 0], [1, 0]], [b"a_X_c", b"b_X_d"], [2, 1]]
    assert second == [[[0, 0], [1, 0]], [3, 3], [2, 1]]
    with pytest.raises(TypeError, match="All inputs must be Tensor or SparseTensor"):
        tf.sparse.cross([[["c"]]])


def test_counts_of_numbers() -> None:
    numbers = tf.SparseTensor([[0, 1], [1, 0], [1, 2]], [1, 2, 3], [2, 3])
    rows = np.array([[1, 2, 2], [0, 1, 1]])
    found = listed(
        tf.sparse.bincount(numbers),
        tf.sparse.bincount(numbers, axis=-1),
        tf.sparse.bincount(rows, axis=-1, minlength=5, binary_output=True),
    )
    assert found == [
        [[[1], [2], [3]], [1, 1, 1], [4]],
        [[[0, 1], [1, 2], [1, 3]], [1, 1, 1], [2, 4]],
        [[[0, 1], [0, 2], [1, 0], [1, 1]], [1, 1, 1, 1], [2, 5]],
    ]


def test_the_elements_of_strings_that_are_not_empty() -> None:
    assert listed(tf.sparse.from_dense(["", "a"])) == [[[[1]], [b"a"], [2]]]


def test_values_are_asked_of_a_session_of_the_same_graph() -> None:
    a = sparse()
    with tf.Session(graph=tf.Graph()) as other, pytest.raises(ValueError, match="is different"):
        a.eval(session=other)
    with pytest.raises(ValueError, match=r"evaluate tensor.*No default session is registered"):
        a.eval()
    with tf.Session():
        assert a.eval().values.tolist() == [1.0, 2.0, 3.0]
