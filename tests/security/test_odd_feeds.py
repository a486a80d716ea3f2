"""What a graph says nothing of and a run feeds: shapes and numbers that an op does not take are
refused as TensorFlow refuses them, whether Python computes the op or a native program."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from campaigns.mutant_trials import faults
from campaigns.session_trials import FEEDS

import flowc as tf
from flowc.errors import InvalidArgumentError

COUNT = int(os.environ.get("FLOWC_FUZZ", "2")) * 2**14 // 1000
AT_ONCE = 256
r: Any = tf.raw_ops
f32, i32, i64 = np.float32, np.int32, np.int64
NO_WEIGHTS = np.zeros(0, f32)


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_fuzzed_feeds(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = faults(range(first, min(first + AT_ONCE, COUNT)), FEEDS)
    assert not found, "\n".join(found)


def _ragged_counts(splits: Any, values: Any) -> Any:
    return r.RaggedCountSparseOutput(
        splits=splits, values=values, weights=NO_WEIGHTS, binary_output=False
    )


def _sparse_bins(size: Any) -> Any:
    return r.SparseBincount(
        indices=np.array([[0, 0]]), values=np.array([1]), dense_shape=np.array([2, 2]), size=size,
        weights=NO_WEIGHTS,
    )  # fmt: skip


def _add_grad(dy: Any) -> Any:
    return r.SparseAddGrad(
        backprop_val_grad=dy, a_indices=np.array([[0, 0]]), b_indices=np.array([[0, 1]]),
        sum_indices=np.array([[0, 0], [0, 1]]),
    )  # fmt: skip


def _filled_rows(values: Any, default: Any) -> Any:
    return r.RaggedFillEmptyRows(
        value_rowids=np.array([0, 2]), values=values, nrows=i64(3), default_value=default
    )


def _written(size: Any, index: Any) -> Any:
    return tf.TensorArray(tf.float32, size).write(index, 1.0).stack()


def _scattered(indices: Any) -> Any:
    made = r.TensorListScatter(
        tensor=[1.0, 2.0], indices=indices, element_shape=np.zeros(0, i32)
    )  # fmt: skip
    return r.TensorListLength(input_handle=made)


def _dense_table(empty: Any, deleted: Any) -> Any:
    table = r.MutableDenseHashTableV2(
        empty_key=empty, deleted_key=deleted, value_dtype=tf.int64
    )  # fmt: skip
    return r.LookupTableSizeV2(table_handle=table)


def _zeros(shape: Any) -> Any:
    zeros = r.SparseMatrixZeros(dense_shape=shape, type=tf.float32)
    return r.SparseMatrixNNZ(sparse_matrix=zeros)


REFUSED: dict[str, tuple[Callable[..., Any], list[Any], str]] = {
    "splits of no row": (_ragged_counts, [np.zeros(0, i64), [1, 2]], "at least 2 elements"),
    "a size below 0": (_sparse_bins, [i64(-5)], r"size \(-5\) must be non-negative"),
    "a vector as a size": (_sparse_bins, [i64([5])], "Shape must be rank 0 but is rank 1"),
    "too few gradients": (_add_grad, [np.zeros(1, f32)], "should match .*: got 1 and 2"),
    "a scalar as values": (_filled_rows, [f32(1), f32(2)], "values must be a vector"),
    "a vector as default": (_filled_rows, [f32([1, 1]), f32([2])], "default_value must be a scal"),
    "values without rows": (_filled_rows, [f32([1, 1, 1]), f32(2)], r"length of `values` \(3\)"),
    "names of no file": (
        lambda name: r.WriteFile(filename=name, contents="x"), [np.zeros(0, "S1")],
        "Shape must be rank 0",
    ),
    "an array of no size": (_written, [np.zeros(0, i32), i32(0)], "Expected size to be a scalar"),
    "a vector as index": (_written, [i32(2), i32([0])], "Expected index to be a scalar"),
    "a matrix as indices": (_scattered, [i32([[0, 1]])], "Expected indices to be a vector"),
    "keys of no elements": (_dense_table, [np.zeros(0, i64)] * 2, "cannot be equal"),
    "a key that is a matrix": (_dense_table, [i64([[1]]), i64([[2]])], r"vector, got shape \[1,1"),
    "keys of two shapes": (_dense_table, [i64(1), i64([2])], r"shapes: \[\] and \[1\]"),
    "a matrix of no shape": (_zeros, [i64([[2, 2]])], "a sparse matrix has 2 or 3 dims"),
    "lines to print": (
        lambda text: r.PrintV2(input=text), [np.array(["a", "b"])], "input must be a scalar"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    build, values, words = REFUSED[name]
    with tf.Graph().as_default(), tf.Session() as session:
        made = build(*(tf.placeholder_with_default(value, None) for value in values))
        with pytest.raises(InvalidArgumentError, match=words):
            session.run(made)


def test_a_sparse_sum_of_a_fed_shape() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        shape = tf.placeholder(tf.int64, None)
        summed = r.SparseReduceSumSparse(
            input_indices=np.array([[0, 1], [1, 2]]),
            input_values=[1.0, 2.0],
            input_shape=shape,
            reduction_axes=[1],
        )
        for rows in (2, 5):
            indices, values, sizes = session.run(list(summed), {shape: [rows, 4]})
            assert indices.tolist() == [[0], [1]]
            assert values.tolist() == [1, 2] and sizes.tolist() == [rows]
