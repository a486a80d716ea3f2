"""Rows of a `RaggedTensor` by index and slice, seen in TensorFlow 2.21."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import flowc as tf

# What is asked of [[1, 2, 3], [], [4, 5], [6]]; i is 1 and j is -1, in tensors.
_FLAT = """
-1 = [6]                               | 1:3 = [[], [4, 5]]
5: = []                                | i: = [[], [4, 5], [6]]
0, 1: = [2, 3]                         | :, 1: = [[2, 3], [], [5], []]
:, ::-1 = [[3, 2, 1], [], [5, 4], [6]] | :, -2:j = [[2], [], [4], []]
..., :1 = [[1], [], [4], [6]]          | :, None = [[[1, 2, 3]], [[]], [[4, 5]], [[6]]]
"""

# Of [[["k", "l"], [], ["m"]], [], [["n", "o"]], [["p"]]].
_NESTED = """
0, 0 = [k, l]                          | ::-2 = [[[p]], []]
:, -1:, :1 = [[[m]], [], [[n]], [[p]]]
"""


def _cases(text: str) -> list[tuple[str, str]]:
    lines = [case for line in text.strip().splitlines() for case in line.split("|")]
    return [(key.strip(), found.strip()) for key, found in (line.split(" = ") for line in lines)]


def _as_text(value: Any) -> str:
    plain = value.to_list() if hasattr(value, "to_list") else value.tolist()
    return re.sub("b?'", "", str(plain))


def test_rows_are_picked_as_from_lists() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        named = {
            "i": tf.constant(1),
            "j": tf.constant(np.int64(-1)),
            "flat": tf.RaggedTensor.from_row_splits([1, 2, 3, 4, 5, 6], [0, 3, 3, 5, 6]),
        }
        inner = tf.RaggedTensor.from_row_splits(list("klmnop"), [0, 2, 2, 3, 5, 6])
        named["nested"] = tf.RaggedTensor.from_row_splits(inner, [0, 3, 3, 4, 5])
        asked = [("flat", *case) for case in _cases(_FLAT)]
        asked += [("nested", *case) for case in _cases(_NESTED)]
        tensors = [eval(f"{rows}[{key}]", dict(named)) for rows, key, _ in asked]
        found = [_as_text(value) for value in session.run(tensors)]
        assert found == [expected for _, _, expected in asked]


def test_a_position_of_an_uneven_axis_is_refused() -> None:
    with tf.Graph().as_default():
        rows = tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 1, 3])
        with pytest.raises(ValueError, match="Cannot index into an inner ragged dimension"):
            rows[:, 0]
        with pytest.raises(IndexError, match="Too many indices for RaggedTensor: 3 for 2 axes"):
            rows[..., 0, 0, 0]
        with pytest.raises(TypeError, match="slice offsets must be integers"):
            rows[:, 0.5:]
        with pytest.raises(TypeError, match="not iterable"):
            list(rows)


def test_runs_of_a_vector_of_strings_are_a_vector() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        runs = tf.strings.ngrams(list("abcd"), 2, separator="")
        assert isinstance(runs, tf.Tensor)
        assert session.run(runs[::-1]).tolist() == [b"cd", b"bc", b"ab"]
        of_rows = tf.strings.ngrams([["a", "b"], ["c", "d"]], 2)
        assert session.run(of_rows).tolist() == [[b"a b"], [b"c d"]]
