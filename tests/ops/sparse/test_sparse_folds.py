"""Gradients of ops on sparse tensors are TensorFlow's; what they refuse, they refuse as it does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from calls.sparse_examples import RECORDED
from calls.sparse_op_calls import GRADIENTS, PLACES, SETS, SIZES, VALUES

import flowc as tf

r: Any = tf.raw_ops


def test_gradients_are_those_of_tensorflow() -> None:
    with tf.Session() as session, np.load(RECORDED) as recorded:
        found = session.run({name: program(tf) for name, program in GRADIENTS.items()})
        for name, result in found.items():
            np.testing.assert_allclose(result, recorded[f"gradient/{name}"], 1e-6, err_msg=name)


def test_what_is_refused() -> None:
    sparse = {"sp_indices": PLACES, "sp_values": VALUES, "sp_shape": SIZES}
    calls = (
        (lambda: r.SparseDenseCwiseAdd(**sparse, dense=np.ones((3, 5), "f4")), "broadcasts dense"),
        (
            lambda: r.DenseToDenseSetOperation(set1=SETS, set2=SETS[:1], set_operation="union"),
            "Dimension 0 in both shapes must be equal, but are 2 and 1",
        ),
        (
            lambda: r.DenseToDenseSetOperation(set1=SETS, set2=SETS, set_operation="xor"),
            "Invalid set_operation",
        ),
        (
            lambda: r.RaggedBincount(splits=[0, 2], values=[1, -1], size=3, weights=VALUES[:0]),
            "non-negative",
        ),
    )
    for call, text in calls:
        with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=text):
            session.run(call())
