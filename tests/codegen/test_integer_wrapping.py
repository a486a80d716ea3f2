"""Sums, differences and products of integers wrap, whatever is computed of them in one kernel: LLVM
may not assume that they do not, as it does of a sum that is larger than what it was made of."""

from __future__ import annotations

from typing import Any

import numpy as np

import flowc as tf

SIGNED = (np.int8, np.int16, np.int32, np.int64)


def comparisons(x: Any) -> list[Any]:
    """Each is true of all numbers that do not wrap."""
    return [x + 1 > x, x - 1 < x, x * 2 // 2 <= x, -(-x - 1) > x, abs(x) * 1 >= 0]


def test_wrapped_numbers_are_compared() -> None:
    arrays: list[np.ndarray] = []
    for kind in SIGNED:
        least, most = np.iinfo(kind).min, np.iinfo(kind).max
        arrays.append(np.array([least, least + 1, -1, 0, 1, most - 1, most], kind))
    with tf.Graph().as_default(), tf.Session(threads=1) as session, np.errstate(all="ignore"):
        given = [tf.placeholder(tf.as_dtype(a.dtype), a.shape) for a in arrays]
        found = session.run([comparisons(x) for x in given], dict(zip(given, arrays)))
        expected = [comparisons(a) for a in arrays]
    for array, rows, wanted in zip(arrays, found, expected):
        np.testing.assert_array_equal(rows, wanted, str(array.dtype))
        assert not np.all(rows)
