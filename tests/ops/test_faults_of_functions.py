"""Nodes with functions whose numbers or gradients do not fit are typed errors."""

from __future__ import annotations

import numpy as np
import pytest
from calls.xla_examples import X, function

import flowc as tf
from flowc import raw_ops


@pytest.mark.parametrize("which", ["window_strides", "window_dilations", "base_dilations"])
def test_a_window_of_no_steps(which: str) -> None:
    ones = np.array([1, 1], np.int32)
    geometry = dict.fromkeys(("window_strides", "window_dilations", "base_dilations"), ones)
    geometry[which] = 0 * ones
    made = raw_ops.XlaReduceWindow(
        input=X, init_value=np.float32(0), window_dimensions=ones, **geometry,
        padding=np.zeros((2, 2), np.int32),
        computation=function(lambda a, c: a + c, tf.float32, tf.float32),
    )  # fmt: skip
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="at least 1"):
        session.run(made)


def test_a_gradient_of_another_shape_than_the_result() -> None:
    product = function(lambda x: x * x, tf.float32)
    (made,) = raw_ops.SymbolicGradient(
        input=[np.float32(3), np.ones((1, 1), np.float32)], Tout=[tf.float32], f=product
    )
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match="Incompatib"):
        session.run(made)
