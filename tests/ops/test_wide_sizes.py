"""Sparse tensors whose sizes multiply beyond 64 bits, slices that end beyond them, ranges from one
end of the integers to the other; and how a range of floats is rounded. Expected: TensorFlow 2.21,
but for the slices from 1 on, which lose their elements there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import flowc as tf
from flowc import raw_ops

MOST, LEAST = 2**63 - 1, -(2**63)
WIDE = [2**32, 2**32, 3]
PLACES = [[0, 0, 0], [2**31, 0, 1], [2**32 - 1, 2**32 - 1, 2]]
OTHERS = [[0, 0, 1], [2**31, 0, 1]]
BOTH = [PLACES[0], OTHERS[0], *PLACES[1:]]


def _i(value: Any) -> tf.Tensor:
    return tf.constant(value, tf.int64)


def _f(value: Any) -> tf.Tensor:
    return tf.constant(value, tf.float32)


def _run(made: Any) -> list[Any]:
    with tf.Session() as session:
        return [np.asarray(x).tolist() for x in session.run(list(made))]


def test_places_of_wide_sparse_tensors_are_told_apart() -> None:
    a = {"a_indices": _i(PLACES), "a_values": _f([1.0, 2.0, 3.0]), "a_shape": _i(WIDE)}
    b = {"b_indices": _i(OTHERS), "b_values": _f([2.0, 5.0]), "b_shape": _i(WIDE)}
    assert _run(raw_ops.SparseSparseMaximum(**a, **b)) == [BOTH, [1, 2, 5, 3]]
    assert _run(raw_ops.SparseAdd(**a, **b, thresh=_f(0.0))) == [BOTH, [1, 2, 7, 3], WIDE]


@pytest.mark.parametrize(
    ("start", "size", "places", "sizes"),
    [
        ([1, 1], [MOST, MOST], [[0, 1], [1, 2]], [2, 3]),
        ([1, 1], [2**62, 3], [[0, 1], [1, 2]], [2, 3]),
        ([0, 0], [MOST, MOST], [[0, 0], [1, 2], [2, 3]], [3, 4]),
        ([MOST, 0], [1, 1], [], [0, 1]),
        ([-1, 0], [2, 2], [[1, 0]], [2, 2]),
        ([5, 5], [2, 2], [], [0, 0]),
    ],
)
def test_a_slice_may_end_beyond_the_integers(
    start: list[int], size: list[int], places: list[list[int]], sizes: list[int]
) -> None:
    whole = tf.SparseTensor([[0, 0], [1, 2], [2, 3]], [1.0, 2.0, 3.0], [3, 4])
    part = tf.sparse_slice(whole, start, size)
    found = _run([part.indices, part.dense_shape])
    assert found == [places, sizes]


def test_joined_sparse_tensors_have_a_size_that_is_a_number() -> None:
    def joined(rows: int) -> Any:
        return raw_ops.SparseConcat(
            indices=[_i([[0, 0]]), _i([[1, 1]])],
            values=[_f([1.0]), _f([2.0])],
            shapes=[_i([rows, 2])] * 2,
            concat_dim=0,
        )

    assert _run(joined(2**61)) == [[[0, 0], [2**61 + 1, 1]], [1, 2], [2**62, 2]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="along axis 0 is too large"):
        _run(joined(MOST))


@pytest.mark.parametrize(
    ("start", "limit", "step", "numbers"),
    [
        (LEAST, MOST, 2**62, [LEAST, -(2**62), 0, 2**62]),
        (MOST, LEAST, -(2**62), [MOST, 2**62 - 1, -1, -(2**62) - 1]),
        (MOST - 3, MOST, 2, [MOST - 3, MOST - 1]),
        (0, 5, LEAST, []),
        (5, 0, LEAST, [5]),
    ],
)
def test_a_range_from_end_to_end(start: int, limit: int, step: int, numbers: list[int]) -> None:
    made = raw_ops.RaggedRange(starts=_i([start]), limits=_i([limit]), deltas=_i([step]))
    assert _run(made) == [[0, len(numbers)], numbers]


def test_ranges_of_floats_are_rounded_as_they_are_added_up() -> None:
    made = raw_ops.RaggedRange(starts=_f([0, 0]), limits=_f([0.3, 1]), deltas=_f([0.1, 0.1]))
    splits, numbers = _run(made)
    assert splits == [0, 3, 13]
    assert numbers[-1] == np.cumsum(np.full(10, 0.1, np.float32))[8]
    with pytest.raises(tf.errors.ResourceExhaustedError, match="10000000000 elements"):
        _run(raw_ops.RaggedRange(starts=_f([0]), limits=_f([1e30]), deltas=_f([1e20])))
