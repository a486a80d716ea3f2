"""Functions of dtypes that their ops do not take, or seldom see: what is expected was seen in
TensorFlow 2.21."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import flowc as tf

BYTES = tf.int8
# The function, its dtype and its values.
FUNCTIONS: dict[str, tuple[Callable[[], Any], Any, Any]] = {
    "round of integers": (lambda: tf.round(tf.constant([7, -8])), tf.int32, [7, -8]),
    "quotients": (lambda: tf.div_no_nan([7, 1], [2, 0]), tf.float64, [3.5, 0]),
    "of bytes": (lambda: tf.div_no_nan(tf.cast([7], BYTES), 2), tf.float32, [3.5]),
    "between integers": (lambda: tf.linspace(0, 10, 5), tf.float64, [0, 2.5, 5, 7.5, 10]),
    "truth": (lambda: tf.eye(2, dtype=tf.bool), tf.bool, [[True, False], [False, True]]),
    "arguments": (lambda: tf.angle([2.0, -3.0]), tf.float32, [0, np.float32(np.pi)]),
    "texts that are there": (lambda: tf.count_nonzero(["a", "", "b"]), tf.int64, 2),
    "no texts": (lambda: tf.raw_ops.ZerosLike(x=["a", "bc"]), tf.string, [b"", b""]),
    "complex rows": (
        lambda: tf.nn.l2_normalize(tf.constant([3j, 4], tf.complex64), 0),
        tf.complex64,
        np.array([0.6j, 0.8], np.complex64).tolist(),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values(name: str) -> None:
    function, dtype, expected = FUNCTIONS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        tensor = function()
        assert tensor.dtype == dtype
        assert session.run(tensor).tolist() == expected


def test_refused() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(TypeError, match="input must be a numeric tensor, but got tensor with"):
            tf.real(tf.constant("a"))
        truth = tf.Variable([True], use_resource=True)
        wide = tf.Variable([1j], dtype=tf.complex64, use_resource=True)
        session.run(tf.global_variables_initializer())
        for change in (truth.assign_add([True]), tf.scatter_min(wide, [0], [1j])):
            with pytest.raises(tf.errors.FlowcError, match="there is no kernel for"):
                session.run(change)
