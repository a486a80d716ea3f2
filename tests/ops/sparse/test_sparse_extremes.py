"""Sparse tensors and ranges at the ends: sizes that multiply beyond 64 bits, slices and ranges up
to them, operands that are no sparse tensors; what is dealt to a batch. Expected: TensorFlow 2.21,
but for slices from 1 on, which lose their elements there.
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


ORDER = "is out of order. Many sparse ops require sorted indices"
SPARSE_FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "sets in another order": (
        "SetSize",
        {"set_indices": [[1, 0], [0, 1]]},
        r"\[1\] = \[0,1\] " + ORDER,
    ),
    "a place twice": ("SetSize", {"set_indices": [[1, 0], [1, 0]]}, r"\[1\] = \[1,0\] is repeated"),
    "a place outside": (
        "SetSize",
        {"set_indices": [[1, 0], [2, 0]]},
        "is out of bounds: need 0 <=",
    ),
    "a number outside": (
        "SparseBincount",
        {"indices": [[0, 0], [1, 3]]},
        r"\[1, :\] = \[1, 3\] is out",
    ),
    "sums of less than nothing": (
        "SparseReduceSumSparse",
        {"input_shape": [-1, 2]},
        "non-negative, got -1",
    ),
    "rows of less than nothing": ("SparseSoftmax", {"sp_shape": [2, -3]}, "non-negative, got -3"),
    "a quotient": ("SparseDenseCwiseDiv", {"dense": [[1.0, 0.0]]}, "cannot divide by zero"),
}
SPARSE_CALLS: dict[str, dict[str, Any]] = {
    "SetSize": {"set_values": np.int32([3, 4]), "set_shape": [2, 2]},
    "SparseBincount": {
        "values": np.int32([3, 4]), "dense_shape": [2, 2], "size": np.int32(5),
        "weights": np.float32([]),
    },
    "SparseReduceSumSparse": {
        "input_indices": [[0, 0], [1, 1]], "input_values": [1.0, 2.0], "reduction_axes": [1],
    },
    "SparseSoftmax": {"sp_indices": [[0, 0], [1, 1]], "sp_values": [1.0, 2.0]},
    "SparseDenseCwiseDiv": {
        "sp_indices": [[0, 0], [1, 1]], "sp_values": [1.0, 2.0], "sp_shape": [2, 2],
    },
}  # fmt: skip


@pytest.mark.parametrize("case", SPARSE_FAULTS)
def test_sparse_operands_that_are_none(case: str) -> None:
    name, given, fault = SPARSE_FAULTS[case]
    every = {**SPARSE_CALLS[name], **given}
    wide = {k: np.int64(v) if k.endswith(("indices", "shape")) else v for k, v in every.items()}
    made = getattr(raw_ops, name)(**wide)
    with pytest.raises(tf.errors.InvalidArgumentError, match=fault):
        _run(made if isinstance(made, tuple) else [made])


def test_a_matrix_of_a_batch_is_one_of_them() -> None:
    index = tf.placeholder(tf.int32, [])
    dense = np.float32([[[0, 1]], [[2, 0]]])
    matrix = raw_ops.DenseToCSRSparseMatrix(dense_input=dense, indices=_i([[0, 0, 1], [1, 0, 0]]))
    parts = raw_ops.CSRSparseMatrixComponents(
        csr_sparse_matrix=matrix, index=index, type=tf.float32
    )
    with tf.Session() as session:
        assert [x.tolist() for x in session.run(list(parts), {index: 1})] == [[0, 1], [0], [2]]
        for wrong in (-1, 2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="no matrix of this index"):
                session.run(list(parts), {index: wrong})


def test_what_is_dealt_to_a_batch_is_a_multiple_of_the_block() -> None:
    x, paddings = tf.placeholder(tf.float32, [1, None, 4, 2]), tf.placeholder(tf.int32, [2, 2])
    dealt = tf.space_to_batch_nd(x, [2, 2], paddings)
    with tf.Session() as session:
        for rows, before in ((4, 0), (5, 1)):
            fed = {x: np.ones((1, rows, 4, 2)), paddings: [[before, 0], [0, 0]]}
            assert session.run(dealt, fed).shape == (4, (rows + before) // 2, 2, 2)
            fed[paddings] = [[1 - before, 0], [0, 0]]
            with pytest.raises(tf.errors.InvalidArgumentError):
                session.run(dealt, fed)


def test_sets_that_nobody_validates_are_within_the_tensor() -> None:
    made = raw_ops.SetSize(
        set_indices=_i([[0, 0], [2, 0]]),
        set_values=np.int32([3, 4]),
        set_shape=_i([1, 2]),
        validate_indices=False,
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"no set at \[2\]"):
        _run([made])


@pytest.mark.parametrize("binary", [False, True])
def test_counts_of_rows_leave_out_negative_numbers(binary: bool) -> None:
    """As TensorFlow 2.21 does, which refuses them in a vector."""
    call = {
        "indices": np.int64([[0, 0], [0, 1], [1, 0], [2, 1]]), "values": np.int32([2, 2, -2, 5]),
        "dense_shape": np.int64([3, 2]), "size": np.int32(6), "weights": np.float32([]),
    }  # fmt: skip
    (found,) = _run([raw_ops.SparseBincount(**call, binary_output=binary)])
    wanted = np.zeros((3, 6))
    wanted[0, 2], wanted[2, 5] = (1 if binary else 2), 1
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("fed", [False, True])
def test_what_has_no_place_makes_no_nan_of_infinity(fed: bool) -> None:
    """Also between the matrices of a batch, and where everything is known before the run."""
    dense = np.float32([[[np.inf, 1.0], [2.0, 3.0]], [[4.0, 5.0], [np.nan, 6.0]]])
    right = tf.placeholder_with_default(dense, dense.shape)
    places = np.int64([[0, 0, 1], [0, 1, 0], [1, 0, 0]])
    matrix = raw_ops.DenseToCSRSparseMatrix(dense_input=np.full((2, 2, 2), 2, "f4"), indices=places)
    product = raw_ops.SparseMatrixMatMul(a=matrix, b=right if fed else dense)
    with tf.Session() as session:
        found = session.run(product, {right: dense} if fed else {})
    wanted = [[[4.0, 6.0], [np.inf, 2.0]], [[8.0, 10.0], [0.0, 0.0]]]
    np.testing.assert_array_equal(found, wanted)


def test_products_of_more_rows_than_32_bits_count_are_compiled() -> None:
    sparse = {"a_indices": [[2**31, 1]], "a_values": [1.0], "a_shape": [2**31 + 1, 2]}
    with tf.Graph().as_default() as graph:
        b = tf.placeholder(tf.float32, [2, 1])
        y = raw_ops.SparseTensorDenseMatMul(**sparse, b=b)
    assert len(tf.compile(graph, fetches=[y]).outputs) == 1
