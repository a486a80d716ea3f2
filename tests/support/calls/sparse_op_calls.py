"""Calls of ops on sparse tensors, sets and what variants hold: run by TensorFlow to be recorded,
and by flowc.

In: a module with TensorFlow 1's API, or its `raw_ops`. Out: `CALLS`, op -> functions that
give an operation's results, and `GRADIENTS`, functions that give gradients of the values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from calls.sparse_matrix_calls import MATRIX_CALLS
from calls.variant_calls import VARIANT_CALLS, VARIANT_GRADIENTS

Call = Callable[[Any], Any]
PLACES = np.array([[0, 1], [0, 3], [2, 0], [2, 1]], np.int64)
VALUES = np.array([1.5, -2.0, 0.5, 3.0], np.float32)
SIZES = np.array([3, 4], np.int64)
NUMBERS = np.array([2, 0, 2, 5], np.int32)
SETS = np.array([[1, 2, 2], [3, 9, 1]], np.int32)
OTHERS = np.array([[2, 5], [9, 9]], np.int32)
NOTHING = np.zeros(0, np.float32)
SPARSE = {"indices": PLACES, "values": NUMBERS, "dense_shape": SIZES}


def _fold(**more: Any) -> dict[str, Any]:
    return {"input_indices": PLACES, "input_values": VALUES, "input_shape": SIZES, **more}


def _own(**more: Any) -> dict[str, Any]:
    return {"sp_indices": PLACES, "sp_values": VALUES, "sp_shape": SIZES, **more}


def _set(i: int, values: Any = NUMBERS) -> dict[str, Any]:
    return {f"set{i}_indices": PLACES, f"set{i}_values": values, f"set{i}_shape": SIZES}


CALLS: dict[str, list[Call]] = {
    name: [
        lambda r, n=name: getattr(r, n)(**_fold(reduction_axes=[1])),
        lambda r, n=name: getattr(r, n)(**_fold(reduction_axes=[-2], keep_dims=True)),
        lambda r, n=name: getattr(r, n)(**_fold(reduction_axes=[0, 1])),
    ]
    for name in (
        "SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse",
    )
}  # fmt: skip
CALLS |= MATRIX_CALLS | VARIANT_CALLS
CALLS |= {
    "SparseSoftmax": [lambda r: r.SparseSoftmax(**_own())],
    **{
        f"SparseDenseCwise{word}": [
            lambda r, n=word: getattr(r, f"SparseDenseCwise{n}")(
                **_own(dense=np.arange(1, 13, dtype=np.float32).reshape(3, 4))
            ),
            lambda r, n=word: getattr(r, f"SparseDenseCwise{n}")(
                **_own(dense=np.array([[2], [3], [4]], np.float32))
            ),
        ]
        for word in ("Add", "Mul", "Div")
    },
    "SparseAddGrad": [
        lambda r: r.SparseAddGrad(
            backprop_val_grad=VALUES, a_indices=PLACES[:2], b_indices=PLACES[1:],
            sum_indices=PLACES,
        )
    ],
    "SparseSliceGrad": [
        lambda r: r.SparseSliceGrad(
            backprop_val_grad=VALUES[:2], input_indices=PLACES, input_start=[2, 0],
            output_indices=PLACES[2:] - [2, 0],
        )
    ],
    "DenseToDenseSetOperation": [
        lambda r, o=o: r.DenseToDenseSetOperation(set1=SETS, set2=OTHERS, set_operation=o)
        for o in ("a-b", "b-a", "union", "intersection")
    ],
    "DenseToSparseSetOperation": [
        lambda r: r.DenseToSparseSetOperation(
            set1=np.array([[2, 1], [7, 7], [5, 2]], np.int32), set_operation="union", **_set(2)
        )
    ],
    "SparseToSparseSetOperation": [
        lambda r: r.SparseToSparseSetOperation(
            set_operation="intersection", **_set(1), **_set(2, NUMBERS[::-1].copy())
        )
    ],
    "SetSize": [
        lambda r: r.SetSize(set_indices=PLACES, set_values=NUMBERS, set_shape=SIZES)
    ],
    "SparseBincount": [
        lambda r: r.SparseBincount(**SPARSE, size=4, weights=NOTHING),
        lambda r: r.SparseBincount(**SPARSE, size=6, weights=VALUES),
        lambda r: r.SparseBincount(
            indices=PLACES[:, 1:], values=NUMBERS, dense_shape=[4], size=6, weights=NOTHING,
            binary_output=True,
        ),
    ],
    "RaggedBincount": [
        lambda r: r.RaggedBincount(splits=[0, 3, 3, 4], values=NUMBERS, size=6, weights=NOTHING),
    ],
    "DenseCountSparseOutput": [
        lambda r: r.DenseCountSparseOutput(values=SETS, weights=NOTHING, binary_output=False),
        lambda r: r.DenseCountSparseOutput(
            values=SETS, weights=SETS.astype(np.float32), binary_output=False, maxlength=5
        ),
        lambda r: r.DenseCountSparseOutput(
            values=SETS[0], weights=NOTHING, binary_output=True, minlength=12
        ),
    ],
    "SparseCountSparseOutput": [
        lambda r: r.SparseCountSparseOutput(**SPARSE, weights=NOTHING, binary_output=False)
    ],
    "RaggedCountSparseOutput": [
        lambda r: r.RaggedCountSparseOutput(
            splits=[0, 3, 3, 4], values=NUMBERS, weights=NOTHING, binary_output=False
        )
    ],
}  # fmt: skip


def _gradient(tf: Any, make: Call) -> Any:
    values = tf.constant(VALUES)
    found = make(values)
    return tf.gradients(found, [values], tf.ones_like(found) * 2.0 + found)[0]


_PLACED = {"input_indices": PLACES, "input_shape": SIZES}
_GIVEN = {"sp_indices": PLACES, "sp_shape": SIZES}
_DENSE = np.array([[2], [3], [4]], np.float32)
GRADIENTS: dict[str, Call] = {
    **VARIANT_GRADIENTS,
    "sum": lambda tf: _gradient(
        tf, lambda v: tf.raw_ops.SparseReduceSum(input_values=v, reduction_axes=[1], **_PLACED)
    ),
    "sum_kept": lambda tf: _gradient(
        tf,
        lambda v: tf.raw_ops.SparseReduceSum(
            input_values=v, reduction_axes=[0], keep_dims=True, **_PLACED
        ),
    ),
    "softmax": lambda tf: _gradient(tf, lambda v: tf.raw_ops.SparseSoftmax(sp_values=v, **_GIVEN)),
    "product": lambda tf: _gradient(
        tf, lambda v: tf.raw_ops.SparseDenseCwiseMul(sp_values=v, dense=_DENSE, **_GIVEN)
    ),
    "quotient": lambda tf: _gradient(
        tf, lambda v: tf.raw_ops.SparseDenseCwiseDiv(sp_values=v, dense=_DENSE, **_GIVEN)
    ),
}


def listed(results: Any) -> list[Any]:
    return list(results) if isinstance(results, (list, tuple)) else [results]
