"""`tf.parse_example` and its kin: serialized examples as tensors, sparse and ragged tensors.

In: strings, and what is wanted of them, key by key. Out: a dictionary by the same keys. The nodes
are those of TensorFlow, which takes the keys in their order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.selection import gather
from flowc.api.arrays.shaping import concat, reshape
from flowc.api.framework.basics import cast, constant
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.raw_ops import call
from flowc.api.framework.scopes import name_scope
from flowc.api.io.features import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    RaggedFeature,
    SparseFeature,
    VarLenFeature,
)
from flowc.api.math.elementwise import equal
from flowc.api.ragged.ragged_tensor import RaggedTensor
from flowc.api.sparse.sparse_changes import sparse_merge
from flowc.dataclass import dataclass
from flowc.graph import Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.subscripts import boolean_mask

_Features = Mapping[str, Any]
_DTYPES = (dtypes.f32, dtypes.i64, dtypes.string)


@dataclass(slots=True)
class _Params:
    """The arguments of an op that parses, in the order of the sorted keys."""

    sparse: dict[str, Any] = field(default_factory=dict[str, Any])  # key -> dtype
    dense: dict[str, tuple[Any, list[int | None], Tensor | None]] = field(default_factory=dict)
    ragged: dict[str, tuple[Any, Any]] = field(default_factory=dict)  # key -> dtypes

    def add_sparse(self, key: str, dtype: Any) -> None:
        if self.sparse.setdefault(key, dtype) != dtype:
            raise ValueError(f"Conflicting type {dtype} vs {self.sparse[key]} for feature {key}.")

    def add_ragged(self, key: str, dtype: Any, splits: Any) -> None:
        if self.ragged.setdefault(key, (dtype, splits)) != (dtype, splits):
            raise ValueError(f"Conflicting type for feature {key}.")


def _check(key: str, feature: Any, *names: str) -> None:
    for name in names:
        if getattr(feature, name) in (None, ""):
            what = "type" if name == "dtype" else name
            shown = f" Received feature={feature}"
            raise ValueError(f"Missing {what} for feature {key}.{shown}.")


def _params(features: _Features, kinds: tuple[type, ...]) -> _Params:
    found = _Params()
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, kinds):
            kind = type(feature).__name__
            raise ValueError(f"Unsupported {kind} {feature} for key '{key}'")
        _check(key, feature, "dtype")
        if feature.dtype not in _DTYPES:
            raise TypeError(
                f"Feature '{key}' has DataType {feature.dtype.name} not in list of allowed values: "
                "float32, int64, string"
            )
        match feature:
            case VarLenFeature():
                found.add_sparse(key, feature.dtype)
            case SparseFeature():
                _check(key, feature, "index_key", "value_key", "size")
                for index_key in _listed(feature.index_key):
                    found.add_sparse(index_key, dtypes.i64)
                found.add_sparse(feature.value_key, feature.dtype)
            case RaggedFeature():
                found.add_ragged(feature.value_key or key, feature.dtype, feature.row_splits_dtype)
                for partition in feature.partitions:
                    if not isinstance(partition, RaggedFeature.UniformRowLength):
                        found.add_ragged(partition.key, dtypes.i64, feature.row_splits_dtype)
            case FixedLenFeature():
                _check(key, feature, "shape")
                sizes = TensorShape(feature.shape).as_list()
                if sizes and sizes[0] is None:
                    raise ValueError(
                        f"First dimension of shape for feature {key} unknown. Consider using "
                        f"FixedLenSequenceFeature. Received feature={feature}."
                    )
                found.dense[key] = (feature.dtype, sizes, feature.default_value)
            case _:
                _check(key, feature, "shape")
                sizes = TensorShape(feature.shape).as_list()
                found.dense[key] = (feature.dtype, [None, *sizes], feature.default_value)
    return found


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _default(key: str, dtype: Any, sizes: list[int | None], value: Any) -> Tensor:
    if sizes and sizes[0] is None:
        empty = "" if dtype is dtypes.string else 0
        return constant(empty if value is None else value, dtype)
    if value is None:
        return constant([], dtype)
    if isinstance(value, Tensor):
        return value
    name = "key_" + re.sub("[^A-Za-z0-9_.\\-/]", "_", key)
    return reshape(as_tensor(value, dtype, name), TensorShape(sizes).as_list())


def _defaults(params: _Params) -> list[Tensor]:
    return [_default(key, *row) for key, row in params.dense.items()]


def _strings(items: Any) -> Any:
    return np.array(list(items), object)


def _from_sparse(params: _Params, indices: Any, values: Any, shapes: Any) -> dict[str, Any]:
    rows = zip(params.sparse, indices, values, shapes)
    return {key: SparseTensor(i, v, s) for key, i, v, s in rows}


def parse_example(
    serialized: Any,
    features: _Features,
    name: str | None = None,
    example_names: Any = None,
) -> dict[str, Any]:
    """What serialized `Example`s (string[batch]) have under the keys of `features`: tensors
    [batch, *shape] for `FixedLenFeature` and `FixedLenSequenceFeature`, a `SparseTensor` for
    `VarLenFeature` and `SparseFeature`, a `RaggedTensor` for `RaggedFeature`. `example_names`:
    string[batch], for messages.

    Raises `ValueError` for features that are not to be understood; a run raises
    `InvalidArgumentError` for a feature that is missing and has no default, or is of another dtype
    or size."""
    if not features:
        raise ValueError(f"Argument `features` cannot be None or falsy. Got {features}")
    kinds = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature, RaggedFeature)
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(
                "Unsupported: FixedLenSequenceFeature requires allow_missing to be True."
            )
    params = _params(features, kinds)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        given = as_tensor(serialized, dtypes.string, "serialized")
        found = call(
            "ParseExampleV2",
            given,
            _strings([]) if example_names is None else example_names,
            _strings(params.sparse),
            _strings(params.dense),
            _strings(params.ragged),
            _defaults(params),
            num_sparse=len(params.sparse),
            sparse_types=list(params.sparse.values()),
            ragged_value_types=[row[0] for row in params.ragged.values()],
            ragged_split_types=[row[1] for row in params.ragged.values()],
            dense_shapes=[row[1] for row in params.dense.values()],
        )
    by_key = _from_sparse(params, *found[:3]) | dict(zip(params.dense, found.dense_values))
    rows = zip(params.ragged, found.ragged_values, found.ragged_row_splits)
    single = given.shape.ndims == 0
    by_key |= {key: v if single else RaggedTensor(v, splits) for key, v, splits in rows}
    return {key: _made(key, features[key], by_key, single) for key in sorted(features)}


def _made(key: str, feature: Any, by_key: dict[str, Any], single: bool) -> Any:
    """A feature of those that were parsed."""
    if isinstance(feature, SparseFeature):
        ids = [by_key[k] for k in _listed(feature.index_key)]
        several = isinstance(feature.index_key, list | tuple)
        return sparse_merge(
            ids if several else ids[0],
            by_key[feature.value_key],
            list(feature.size) if several else feature.size,
            already_sorted=feature.already_sorted,
        )
    if isinstance(feature, RaggedFeature):
        found = by_key[feature.value_key or key]
        for partition in reversed(feature.partitions):
            found = _split(found, partition, by_key, feature, single)
        return found
    return by_key[key]


def _split(found: Any, partition: Any, by_key: Any, feature: Any, single: bool) -> RaggedTensor:
    """Values with one partition more: of one example, or of each of a batch."""
    kind = type(partition)
    if kind is RaggedFeature.UniformRowLength:
        if single:
            return RaggedTensor.from_uniform_row_length(found, partition.length, validate=False)
        inner = RaggedTensor.from_uniform_row_length(found.values, partition.length, validate=False)
        splits = found.row_splits // cast(partition.length, found.row_splits.dtype)
        return RaggedTensor(inner, splits)
    given = by_key[partition.key]
    if single:
        return _MAKERS[kind](found, cast(given, feature.row_splits_dtype), validate=False)
    lengths, splits = _lengths(kind, given, found)
    inner = RaggedTensor.from_row_lengths(
        found.values, cast(lengths, feature.row_splits_dtype), validate=False
    )
    return RaggedTensor(inner, splits)


_MAKERS: dict[type, Any] = {
    RaggedFeature.RowSplits: RaggedTensor.from_row_splits,
    RaggedFeature.RowLengths: RaggedTensor.from_row_lengths,
    RaggedFeature.RowStarts: RaggedTensor.from_row_starts,
    RaggedFeature.RowLimits: RaggedTensor.from_row_limits,
    RaggedFeature.ValueRowIds: RaggedTensor.from_value_rowids,
}


def _lengths(kind: type, given: RaggedTensor, found: RaggedTensor) -> tuple[Tensor, Tensor]:
    """The lengths of the rows of all examples, and how the examples split them."""
    if kind is RaggedFeature.RowLengths:
        return given.values, given.row_splits
    if kind is RaggedFeature.ValueRowIds:
        raise ValueError("RaggedFeature.ValueRowIds partitions one example, and not a batch")
    owners = given.value_rowids()
    if kind is RaggedFeature.RowSplits:
        same = equal(owners[1:], owners[:-1])
        lengths = boolean_mask(given.values[1:] - given.values[:-1], same)
        return lengths, RaggedTensor.from_value_rowids(
            lengths, boolean_mask(owners[1:], same), given.nrows(), validate=False
        ).row_splits
    begins = concat([constant([True]), equal(owners[1:], owners[:-1])], 0)
    inside = cast(begins, dtypes.i64)
    if kind is RaggedFeature.RowLimits:
        before = concat([constant([0], dtypes.i64), given.values[:-1]], 0)
        first = concat([constant([0], dtypes.i64), inside[1:]], 0)
        return given.values - before * first, given.row_splits
    totals = cast(gather(found.row_lengths(), owners), dtypes.i64)
    follows = concat([inside[1:], constant([0], dtypes.i64)], 0)
    after = concat([given.values[1:], constant([0], dtypes.i64)], 0)
    return after * follows + totals * (1 - follows) - given.values, given.row_splits


def parse_single_example(
    serialized: Any, features: _Features, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """As `parse_example`, of one example: `serialized` is a scalar, and no tensor has an axis for
    the batch. Raises as `parse_example`, and `ValueError` for another rank."""
    if not features:
        raise ValueError("Invalid argument: Missing features.")
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        given = as_tensor(serialized, dtypes.string, "serialized")
        _check_scalar(given, "serialized")
        return parse_example(given, features, example_names=example_names)


def _check_scalar(tensor: Tensor, what: str) -> None:
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"Input {what} must be a scalar, found shape {tensor.shape}")


# -- sequences


def parse_sequence_example(
    serialized: Any,
    context_features: _Features | None = None,
    sequence_features: _Features | None = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """What serialized `SequenceExample`s (string[batch]) have: the features of their contexts, as
    from `parse_example`; those of their feature lists, tensors [batch, most steps, *shape] for
    `FixedLenSequenceFeature`, sparse and ragged ones with an axis for the steps; and the steps
    int64[batch] of each dense one.

    Raises `ValueError` for no features at all; a run raises as that of `parse_example`."""
    if not (context_features or sequence_features):
        raise ValueError("Both `context_features` and `sequence_features` argument are None, but "
                         "at least one should have values.")  # fmt: skip
    context, lists = context_features or {}, sequence_features or {}
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        given = as_tensor(serialized, dtypes.string, "serialized")
        return _parse_sequences(given, context, lists, example_names)


def parse_single_sequence_example(
    serialized: Any,
    context_features: _Features | None = None,
    sequence_features: _Features | None = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """As `parse_sequence_example`, of one example: `serialized` is a scalar, no tensor has an axis
    for the batch, and the steps are the first axis. Raises as that, and `ValueError` for another
    rank."""
    if not (context_features or sequence_features):
        raise ValueError("Both `context_features` and `sequence_features` argument are None, but "
                         "at least one should have values.")  # fmt: skip
    context, lists = context_features or {}, sequence_features or {}
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        given = as_tensor(serialized, dtypes.string, "serialized")
        _check_scalar(given, "serialized")
        return _parse_sequences(given, context, lists, example_name)[:2]


def _parse_sequences(
    serialized: Tensor, context: _Features, lists: _Features, names: Any
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    of_context = _params(context, (VarLenFeature, FixedLenFeature, RaggedFeature))
    of_lists = _params(lists, (VarLenFeature, FixedLenSequenceFeature, RaggedFeature))
    single = serialized.shape.ndims == 0
    empty = [lists[key].allow_missing for key in of_lists.dense]
    with name_scope(None, "ParseSequenceExample"):
        found = call(
            "ParseSequenceExampleV2",
            serialized,
            (_strings([""])[0] if single else _strings([])) if names is None else names,
            *(_strings(p) for p in (of_context.sparse, of_context.dense, of_context.ragged)),
            *(_strings(p) for p in (of_lists.sparse, of_lists.dense, of_lists.ragged)),
            np.array(empty, bool),
            _defaults(of_context),
            Ncontext_sparse=len(of_context.sparse),
            context_sparse_types=list(of_context.sparse.values()),
            context_ragged_value_types=[row[0] for row in of_context.ragged.values()],
            context_ragged_split_types=[row[1] for row in of_context.ragged.values()],
            context_dense_shapes=[row[1] for row in of_context.dense.values()],
            Nfeature_list_sparse=len(of_lists.sparse),
            Nfeature_list_dense=len(of_lists.dense),
            feature_list_dense_types=[row[0] for row in of_lists.dense.values()],
            feature_list_sparse_types=list(of_lists.sparse.values()),
            feature_list_ragged_value_types=[row[0] for row in of_lists.ragged.values()],
            feature_list_ragged_split_types=[row[1] for row in of_lists.ragged.values()],
            feature_list_dense_shapes=[row[1][1:] for row in of_lists.dense.values()],
        )
    first = _from_sparse(of_context, *found[:3]) | dict(zip(of_context.dense, found[3]))
    for key, values, splits in zip(of_context.ragged, found[4], found[5]):
        first[key] = values if single else RaggedTensor(values, splits)
    second = _from_sparse(of_lists, *found[6:9]) | dict(zip(of_lists.dense, found[9]))
    for key, values, outer, inner in zip(of_lists.ragged, *found[11:]):
        steps = RaggedTensor(values, inner)
        second[key] = steps if single else RaggedTensor(steps, outer)
    return first, second, dict(zip(of_lists.dense, found[10]))
