"""`tf.sparse`: crosses of features, and how often numbers occur.

In: sparse tensors and dense matrices, one row an example. Out: `SparseTensor`s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import reshape
from flowc.api.framework.basics import cast
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

HASH_KEY = 0xDECAFCAFFE  # of hashes, where a program gives none


def cross(inputs: Sequence[Any], name: str | None = None, separator: Any = None) -> SparseTensor:
    """The crosses of the features in each row, as strings: every combination of one of each input,
    joined by `separator` (`_X_`). `inputs`: sparse tensors and dense matrices of strings or
    numbers, whose rows agree. Raises `TypeError` for others."""
    word = as_tensor("_X_" if separator is None else separator, dtypes.string)
    parts = _columns(inputs, "All inputs must be Tensor or SparseTensor.")
    return SparseTensor(*call("SparseCrossV2", *parts, word, name=name))


def cross_hashed(
    inputs: Sequence[Any],
    num_buckets: int = 0,
    hash_key: int | None = None,
    name: str | None = None,
) -> SparseTensor:
    """The crosses of the features in each row, each as a number below `num_buckets` (any, if 0),
    which `hash_key` and the features decide. `inputs`: as those of `cross`, which says what it
    raises."""
    parts = _columns(inputs, "All inputs must be SparseTensors")
    texts = all(t.base_dtype is dtypes.string for t in (*parts[1], *parts[3]))
    found = call(
        "SparseCross",
        *parts,
        hashed_output=True,
        num_buckets=num_buckets,
        hash_key=hash_key or HASH_KEY,
        out_type=dtypes.i64,
        internal_type=dtypes.string if texts else dtypes.i64,
        name=name,
    )
    return SparseTensor(*found)


def _columns(inputs: Any, fault: str) -> tuple[list[Tensor], ...]:
    """The places, values and sizes of the sparse inputs, and the dense ones."""
    if not isinstance(inputs, list | tuple):
        raise TypeError("Inputs must be a list")
    if not all(isinstance(item, SparseTensor | Tensor) for item in inputs):
        raise TypeError(fault)
    sparse = [item for item in inputs if isinstance(item, SparseTensor)]
    dense = [feature_of(item) for item in inputs if isinstance(item, Tensor)]
    values = [feature_of(item.values) for item in sparse]
    return [t.indices for t in sparse], values, [t.dense_shape for t in sparse], dense


def feature_of(values: Tensor) -> Tensor:
    """Strings as they are, numbers as int64."""
    return values if values.base_dtype is dtypes.string else cast(values, dtypes.i64)


def sparse_bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """How often each number occurs in `values`, a tensor, `SparseTensor` or `RaggedTensor` of int32
    or int64: in all of it (axis 0), or in each row (-1). With `weights` of the same form, their
    sums; with `binary_output`, 1 for what occurs. Numbers from `maxlength` on do not count, and the
    result is at least `minlength` wide. Raises `ValueError` for another axis and for weights of
    another form; a run raises `InvalidArgumentError` for negative numbers."""
    if axis not in (None, 0, -1):
        raise ValueError(
            f"Unsupported value for argument axis={axis}. Only 0 and -1 are supported."
        )
    if weights is not None and binary_output:
        raise ValueError("Arguments `binary_output` and `weights` are mutually exclusive.")
    with name_scope(name, "count", [values, weights]):
        if not isinstance(values, SparseTensor | RaggedTensor):
            values = as_tensor(values, name="values")
        if weights is not None and not isinstance(weights, SparseTensor | RaggedTensor):
            weights = as_tensor(weights, name="weights")
        if weights is not None and type(weights) is not type(values):
            raise ValueError(
                "Argument `weights` must be of the form of `values`. Received "
                f"weights={weights} and values={values}"
            )
        if axis != -1:
            values, weights = _flat(values), None if weights is None else _flat(weights)
        found = call(
            *_counted(values),
            as_tensor([], values.dtype) if weights is None else _numbers(weights),
            minlength=-1 if minlength is None else minlength,
            maxlength=-1 if maxlength is None else maxlength,
            binary_output=binary_output,
        )
        return SparseTensor(*found)


def _numbers(given: Any) -> Tensor:
    """The elements of a tensor of any form."""
    if isinstance(given, RaggedTensor):
        return given.flat_values
    return given.values if isinstance(given, SparseTensor) else given


def _flat(given: Any) -> Tensor:
    return reshape(_numbers(given), [-1])


def _counted(values: Any) -> tuple[Any, ...]:
    """The op that counts in rows of this form, and its inputs."""
    if isinstance(values, SparseTensor):
        return ("SparseCountSparseOutput", *values.components())
    if isinstance(values, RaggedTensor):
        return "RaggedCountSparseOutput", values.row_splits, values.values
    return "DenseCountSparseOutput", values
