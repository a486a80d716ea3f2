"""Static shapes of nodes whose axes, sizes or ranks only the run knows: what TensorFlow says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc.errors import FlowcError


def shapes(*tensors: Any) -> list[list[int | None] | None]:
    return [None if t.shape.ndims is None else t.shape.as_list() for t in tensors]


def test_a_transpose_has_the_rank_of_its_permutation() -> None:
    with tf.Graph().as_default():
        unknown, known = tf.placeholder(tf.float32), tf.placeholder(tf.float32, [2, 3])
        fed = tf.placeholder(tf.int32, [3])
        assert shapes(tf.transpose(unknown, [1, 0]), tf.transpose(unknown, fed)) == [
            [None, None],
            [None, None, None],
        ]
        assert shapes(tf.transpose(known, tf.placeholder(tf.int32))) == [[None, None]]
        with pytest.raises(ValueError, match="must be 0 but is 2"):
            tf.transpose(1.0, [1, 0])
        with tf.Session() as session:
            turned = tf.transpose(unknown, [1, 0])
            assert session.run(turned, {unknown: [[1.0, 2.0]]}).tolist() == [[1.0], [2.0]]
            with pytest.raises((FlowcError, ValueError), match="vector of size 0"):
                session.run(turned, {unknown: 1.0})


def test_pieces_of_fed_sizes_keep_the_other_dimensions() -> None:
    with tf.Graph().as_default():
        x, sizes = tf.placeholder(tf.float32, [6, 4]), tf.placeholder(tf.int32, [None])
        parts = tf.split(x, sizes, 0, num=2)
        assert shapes(*parts) == [[None, 4], [None, 4]]
        assert shapes(*tf.split(x, 2, tf.placeholder(tf.int32, []))) == [[None, None]] * 2
        with tf.Session() as session:
            first, _ = session.run(parts, {x: np.ones((6, 4)), sizes: [2, 4]})
            assert first.shape == (2, 4)


def test_a_sparse_placeholder_knows_the_sizes_that_it_was_given() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.sparse_placeholder(tf.float32, [None, 4], name="x")
        assert x.shape.as_list() == [None, 4]
        assert [f"{op.name} {op.type}" for op in graph.get_operations()] == [
            "x/shape_default Const",
            "x/shape PlaceholderWithDefault",
            "x/values Placeholder",
            "x/indices Placeholder",
        ]
        with pytest.raises(ValueError, match="not compatible"):
            x.set_shape([3, 5])
        x.set_shape([3, None])
        assert x.get_shape().as_list() == [3, 4]
        dense = tf.sparse_tensor_to_dense(x)
        with tf.Session() as session:  # the sizes come with the value, also where some were given
            fed = tf.SparseTensorValue([[1, 2]], [5.0], [2, 4])
            assert session.run(dense, {x: fed}).tolist() == [[0, 0, 0, 0], [0, 0, 5, 0]]


def test_a_sparse_tensor_of_unknown_rank_is_folded() -> None:
    with tf.Graph().as_default():
        x = tf.sparse_placeholder(tf.float32)
        whole, rows = tf.sparse_reduce_max(x), tf.sparse_reduce_max(x, 1)
        assert shapes(whole, rows) == [None, None]
        places = tf.sparse_reduce_sum_sparse(x, 1)
        assert places.indices.shape.as_list() == [None, None]
        fed = tf.SparseTensorValue([[0, 0], [1, 2]], [3.0, 5.0], [2, 3])
        with tf.Session() as session:
            most, each, kept = session.run([whole, rows, places], {x: fed})
        assert (most, each.tolist(), kept.values.tolist()) == (5.0, [3.0, 5.0], [3.0, 5.0])
