"""Ranks that only the run knows, where nothing but the shape is asked for: the step runs all the
same, as else nobody would find the rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf

PAIR = np.ones((2, 3), np.float32)


def _by_python(x: Any) -> Any:
    return tf.py_func(lambda v: v * PAIR, [x], tf.float32, stateful=False)


def _parsed(x: Any) -> Any:
    return tf.io.parse_tensor(tf.io.serialize_tensor(x * PAIR), tf.float32)


def _looked_up(x: Any) -> Any:
    empty, key = tf.raw_ops.EmptyTensorMap(), np.int32(1)
    held = tf.raw_ops.TensorMapInsert(input_handle=empty, key=key, value=x * PAIR)
    return tf.raw_ops.TensorMapLookup(input_handle=held, key=key, value_dtype=tf.float32)


@pytest.mark.parametrize("make", [_by_python, _parsed, _looked_up], ids=lambda f: f.__name__)
def test_shapes_of_values_that_nobody_reads(make: Callable[[Any], Any]) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        made = make(x)
        found = session.run([tf.shape(made), tf.rank(made), tf.size(made)], {x: 2})
        assert [v.tolist() for v in found] == [[2, 3], 2, 6]
        sizes = tf.map_fn(lambda v: tf.size(make(v)), tf.constant([1.0, 2.0]), dtype=tf.int32)
        assert session.run(sizes).tolist() == [6, 6]
