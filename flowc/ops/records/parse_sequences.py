"""ParseSequenceExample, its second version and ParseSingleSequenceExample: serialized
`SequenceExample` messages as tensors.

In: strings, the keys of features of the context and of feature lists. Out: host steps: tensors of
all examples for each key. Invariant: TensorFlow's values, defaults and errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from itertools import chain, pairwise
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.example_parts import Parts, features_of, sequence_parts
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.records.features import Array, Values, Wanted, read_values
from flowc.ops.records.parse_examples import (
    ExampleBatch,
    check_keys,
    column_of,
    dense_dims,
    parse,
    sparse_dims,
    texts,
)

WRONG_TYPE = "Expected type: {wanted}"
# Outputs of the context and of feature lists: sparse tensors, dense ones, ragged ones.
_TYPES = "{f32, i64, string}"


class Context(ExampleBatch):
    """The features of contexts, in the words of messages about them."""

    @property
    def wrong_dense(self) -> str:
        return WRONG_TYPE

    def fault(self, key: str, i: int, text: str) -> InvalidArgumentError:
        return InvalidArgumentError(
            f"Name: {_name(self.names, i)}, Context feature: {key}.  {text}"
        )


def _name(names: Sequence[str], i: int) -> str:
    return names[i] if i < len(names) and names[i] else "<unknown>"


@dataclass(frozen=True, slots=True)
class Steps:
    """The feature lists of one key: `values` of all steps of all examples, `counts`: steps of each
    example."""

    values: Values
    counts: Array

    def positions(self) -> tuple[Array, Array]:
        """For each step the number of its example, and its position in the example."""
        return Values(np.empty(int(self.counts.sum())), self.counts).positions()


class FeatureLists:
    """The feature lists of the examples of one call."""

    def __init__(self, parts: Sequence[Parts], names: Sequence[str], single: bool) -> None:
        self.parts = parts
        self.names = names
        self.single = single

    def read(self, key: str, dtype: DType, required: bool = False) -> Steps:
        rows: list[Sequence[bytes]] = []
        for i, found in enumerate(column_of(self.parts, key)):
            if found is None and required:
                raise InvalidArgumentError(
                    f"Name: {_name(self.names, i)}, Feature list '{key}' is required but could not "
                    "be found.  Did you mean to include it in "
                    "feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
                )
            try:
                rows.append(features_of(found) if found else ())
            except ValueError:
                raise _malformed(self.names, i) from None
        counts = np.fromiter(map(len, rows), np.int64, len(rows))
        owners = np.repeat(np.arange(len(rows)), counts)

        def fault(step: int, text: str) -> InvalidArgumentError:
            example = int(owners[step])
            index = step - int(counts[:example].sum())
            return InvalidArgumentError(
                f"Name: {_name(self.names, example)}, Feature list: {key}, Index: {index}.  {text}"
            )

        steps = list(chain.from_iterable(rows))
        return Steps(read_values(steps, dtype, fault, WRONG_TYPE), counts)

    def sparse(self, key: str, dtype: DType) -> tuple[Array, Array, Array]:
        """Indices, values and sizes."""
        steps = self.read(key, dtype)
        examples, places = steps.positions()
        rows, columns = steps.values.positions()
        axes = [examples[rows], places[rows], columns][self.single :]
        sizes = [len(steps.counts), int(steps.counts.max(initial=0)), steps.values.longest]
        return np.stack(axes, 1), steps.values.flat, np.array(sizes[self.single :], np.int64)

    def dense(
        self, key: str, dtype: DType, shape: Sequence[int], required: bool
    ) -> tuple[Array, Array]:
        """The values [examples, most steps, *shape], filled up with zeros, and the steps."""
        steps = self.read(key, dtype, required)
        size = int(np.prod(shape))
        if (steps.values.counts != size).any():
            sizes = ",".join(["?", *map(str, shape)])
            raise InvalidArgumentError(
                f"Feature list '{key}' has an unexpected number of values.  Total values size: "
                f"{len(steps.values.flat)} is not consistent with output shape: [{sizes}]"
            )
        examples, places = steps.positions()
        most = int(steps.counts.max(initial=0))
        found = np.zeros((len(steps.counts), most, size), dtype.numpy)
        if found.dtype.hasobject:
            found[:] = b""
        found[examples, places] = steps.values.flat.reshape(-1, size)
        found = found.reshape(len(steps.counts), most, *shape)
        if self.single:
            return found[0], np.asarray(steps.counts[0])
        return found, steps.counts

    def ragged(self, key: str, dtype: DType, split_dtype: DType) -> tuple[Array, Array, Array]:
        """Values, splits of examples into steps, splits of steps into values."""
        steps = self.read(key, dtype)
        outer = Values(steps.counts, steps.counts).splits(split_dtype)
        return (
            steps.values.flat,
            outer[:0] if self.single else outer,
            steps.values.splits(split_dtype),
        )


def _malformed(names: Sequence[str], i: int) -> InvalidArgumentError:
    return InvalidArgumentError(f"Invalid protocol message input, example id: {_name(names, i)}")


@dataclass(slots=True)
class Lists:
    """What is taken from feature lists: (key, dtype) of sparse ones, with the dtype of splits of
    ragged ones, with their shape and whether they may be missing of dense ones."""

    sparse: Sequence[tuple[str, DType]] = ()
    dense: Sequence[tuple[str, DType, Sequence[int], bool]] = ()
    ragged: Sequence[tuple[str, DType, DType]] = field(default_factory=list[Any])


def _parse(
    serialized: Any, names: Any, context: Wanted, lists: Lists, dense_lengths: bool = True
) -> list[Array]:
    """The outputs of an op, in its order."""
    single, named = np.ndim(serialized) == 0, texts(names)
    parts: list[tuple[Parts, Parts]] = []
    for i, item in enumerate(np.asarray(serialized, object).reshape(-1).tolist()):
        try:
            parts.append(sequence_parts(item))
        except ValueError:
            raise _malformed(named, i) from None
    found = parse(Context([c for c, _ in parts], named, single), context)
    rows = FeatureLists([f for _, f in parts], named, single)
    sparse = [rows.sparse(*one) for one in lists.sparse]
    dense = [rows.dense(*one) for one in lists.dense]
    ragged = [rows.ragged(*one) for one in lists.ragged]
    outputs = [
        *found.outputs(),
        *(row[k] for k in range(3) for row in sparse),
        *(row[k] for k in range(1 + dense_lengths) for row in dense),
        *(row[k] for k in range(3) for row in ragged),
    ]
    return [np.require(a, requirements="C") for a in outputs]


def _defaults(values: Sequence[Any], keys: Sequence[str], types: Any, shapes: Any) -> Any:
    arrays = [np.asarray(v, t.numpy) for v, t, _ in zip(values, types, keys)]
    return list(zip(keys, types, [tuple(s) for s in shapes], arrays))


# -- inference


def _dims(
    c: Inference, batch: Dims, context: tuple[int, Any, int], lists: tuple[int, Any, int]
) -> list[Dims]:
    """Dims of all outputs; of the context and of feature lists the number of sparse ones, the
    shapes of dense ones, the number of ragged ones."""
    sparse, shapes, ragged = context
    found = sparse_dims(c, sparse, 1 + len(batch))
    found += dense_dims(c, shapes, batch)
    splits: Dims = (batch[0] + 1,) if batch else (0,)
    found += [*[(c.fresh("n"),) for _ in range(ragged)], *[splits] * ragged]
    sparse, shapes, ragged = lists
    found += sparse_dims(c, sparse, 2 + len(batch))
    for shape in shapes:
        if shape is None or any(size is None for size in shape):
            raise c.fail("the shape of a dense feature list must be known")
        found.append((*batch, c.fresh("steps"), *shape))
    found += [batch] * len(shapes)
    found += [*[(c.fresh("n"),) for _ in range(ragged)], *[splits] * ragged]
    return found + [(c.fresh("splits"),) for _ in range(ragged)]


def _batch_dims(c: Inference) -> Dims:
    if c.rank(0) > 1:
        raise c.fail(f"Shape must be at most rank 1 but is rank {c.rank(0)}")
    return c.dims(0)


def _infer_keys(c: Inference) -> list[Dims]:
    a = c.attrs
    ragged = len(a["context_ragged_value_types"]), len(a["feature_list_ragged_value_types"])
    shapes = len(a["context_dense_shapes"]), len(a["feature_list_dense_shapes"])
    counts = [a["Ncontext_sparse"], shapes[0], ragged[0]]
    counts += [a["Nfeature_list_sparse"], shapes[1], ragged[1]]
    for i, count in enumerate(counts):
        check_keys(c, 2 + i, count, "keys")
    context = a["Ncontext_sparse"], a["context_dense_shapes"], ragged[0]
    lists = a["Nfeature_list_sparse"], a["feature_list_dense_shapes"], ragged[1]
    return _dims(c, _batch_dims(c), context, lists)


def _infer_attrs(c: Inference) -> list[Dims]:
    a = c.attrs
    keys = tuple(len(a[name]) for name in _KEYS)
    counts = (a["Ncontext_sparse"], len(a["context_dense_shapes"]), a["Nfeature_list_sparse"],
              len(a["feature_list_dense_shapes"]))  # fmt: skip
    if keys != counts:
        raise c.fail(f"as many keys as features are expected, found {keys} for {counts}")
    context = a["Ncontext_sparse"], a["context_dense_shapes"], 0
    lists = a["Nfeature_list_sparse"], a["feature_list_dense_shapes"], 0
    return _dims(c, _batch_dims(c), context, lists)


def _infer_single(c: Inference) -> list[Dims]:
    a = c.attrs
    c.need_rank(0, 0)
    shapes = a["feature_list_dense_shapes"]
    context = len(a["context_sparse_types"]), a["context_dense_shapes"], 0
    found = _dims(c, (), context, (len(a["feature_list_sparse_types"]), shapes, 0))
    return found[: len(found) - len(shapes)]  # no lengths


# -- records


def _parse_keys(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    Ncontext_sparse: int,
    Nfeature_list_sparse: int,
    context_dense_shapes: Sequence[Any],
    feature_list_dense_shapes: Sequence[Any],
) -> list[Array]:
    keys = [texts(k) for k in inputs[2:8]]
    sparse, dense, ragged = keys[:3]
    at = 3 * Ncontext_sparse
    context = Wanted(
        list(zip(sparse, types[len(sparse) :])),
        _defaults(inputs[9:], dense, types[at:], context_dense_shapes),
        list(zip(ragged, types[at + len(dense) :], types[at + len(dense) + len(ragged) :])),
    )
    types = types[at + len(dense) + 2 * len(ragged) :]
    sparse, dense, ragged = keys[3:]
    at = 3 * Nfeature_list_sparse
    required = [not empty for empty in np.asarray(inputs[8]).reshape(-1).tolist()]
    ends = at + 2 * len(dense)
    lists = Lists(
        list(zip(sparse, types[len(sparse) :])),
        list(zip(dense, types[at:], feature_list_dense_shapes, required)),
        list(zip(ragged, types[ends:], types[ends + len(ragged) :])),
    )
    return _parse(inputs[0], inputs[1], context, lists)


def _lists(
    sparse: Sequence[str], dense: Sequence[str], types: Any, shapes: Any, empty: Sequence[str]
) -> Lists:
    return Lists(
        list(zip(sparse, types[len(sparse) :])),
        [
            (key, dtype, shape, key not in empty)
            for key, dtype, shape in zip(dense, types[3 * len(sparse) :], shapes)
        ],
    )


def _parse_attrs(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    feature_list_dense_missing_assumed_empty: Sequence[str],
    context_sparse_keys: Sequence[str],
    context_dense_keys: Sequence[str],
    feature_list_sparse_keys: Sequence[str],
    feature_list_dense_keys: Sequence[str],
    context_dense_shapes: Sequence[Any],
    feature_list_dense_shapes: Sequence[Any],
) -> list[Array]:
    sparse, dense = context_sparse_keys, context_dense_keys
    at = 3 * len(sparse)
    context = Wanted(
        list(zip(sparse, types[len(sparse) :])),
        _defaults(inputs[2:], dense, types[at:], context_dense_shapes),
    )
    lists = _lists(
        feature_list_sparse_keys,
        feature_list_dense_keys,
        types[at + len(dense) :],
        feature_list_dense_shapes,
        feature_list_dense_missing_assumed_empty,
    )
    return _parse(inputs[0], inputs[1], context, lists)


def _parse_single(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    context_sparse_types: Sequence[Any],
    feature_list_sparse_types: Sequence[Any],
    context_dense_shapes: Sequence[Any],
    feature_list_dense_shapes: Sequence[Any],
) -> list[Array]:
    counts = [
        len(context_sparse_types),
        len(context_dense_shapes),
        len(feature_list_sparse_types),
        len(feature_list_dense_shapes),
    ]
    ends = np.cumsum([2, *counts]).tolist()
    sparse, dense, list_sparse, list_dense = (
        [text for key in inputs[start:end] for text in texts(key)] for start, end in pairwise(ends)
    )
    at = 3 * len(sparse)
    context = Wanted(
        list(zip(sparse, types[len(sparse) :])),
        _defaults(inputs[ends[-1] :], dense, types[at:], context_dense_shapes),
    )
    lists = _lists(
        list_sparse,
        list_dense,
        types[at + len(dense) :],
        feature_list_dense_shapes,
        texts(inputs[1]),
    )
    return _parse(inputs[0], inputs[-1], context, lists, dense_lengths=False)


_LISTS = ", ".join(f"{name}: list({_TYPES}) = []" for name in (
    "context_sparse_types", "Tcontext_dense", "feature_list_dense_types",
    "feature_list_sparse_types",
))  # fmt: skip
_SHAPES = "context_dense_shapes: list(shape) = [], feature_list_dense_shapes: list(shape) = []"
_CONTEXT = (
    "context_sparse_indices: Ncontext_sparse*i64, context_sparse_values: context_sparse_types,"
    " context_sparse_shapes: Ncontext_sparse*i64, context_dense_values: Tcontext_dense"
)
_SPARSE_LISTS = (
    "feature_list_sparse_indices: Nfeature_list_sparse*i64, feature_list_sparse_values:"
    " feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse*i64,"
    " feature_list_dense_values: feature_list_dense_types"
)
_COUNTS = ", ".join(f"{name}: int >= 0 = 0" for name in (
    "Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense",
))  # fmt: skip
_KEYS = ("context_sparse_keys", "context_dense_keys", "feature_list_sparse_keys",
         "feature_list_dense_keys")  # fmt: skip

host_op(
    "parse_sequence_example_v2",
    "ParseSequenceExampleV2(serialized: string, debug_name: string, context_sparse_keys: string,"
    " context_dense_keys: string, context_ragged_keys: string, feature_list_sparse_keys: string,"
    " feature_list_dense_keys: string, feature_list_ragged_keys: string,"
    " feature_list_dense_missing_assumed_empty: bool, context_dense_defaults: Tcontext_dense;"
    " Ncontext_sparse: int >= 0 = 0, Nfeature_list_sparse: int >= 0 = 0,"
    f" Nfeature_list_dense: int >= 0 = 0, {_LISTS}, context_ragged_value_types: list({_TYPES}) ="
    f" [], context_ragged_split_types: list({{i32, i64}}) = [], feature_list_ragged_value_types:"
    f" list({_TYPES}) = [], feature_list_ragged_split_types: list({{i32, i64}}) = [], {_SHAPES})"
    f" -> {_CONTEXT}, context_ragged_values: context_ragged_value_types,"
    f" context_ragged_row_splits: context_ragged_split_types, {_SPARSE_LISTS},"
    " feature_list_dense_lengths: Nfeature_list_dense*i64, feature_list_ragged_values:"
    " feature_list_ragged_value_types, feature_list_ragged_outer_splits:"
    " feature_list_ragged_split_types, feature_list_ragged_inner_splits:"
    " feature_list_ragged_split_types",
    _parse_keys,
    infer=_infer_keys,
    only_reads=False,
)
host_op(
    "parse_sequence_example",
    "ParseSequenceExample(serialized: string, debug_name: string, context_dense_defaults:"
    " Tcontext_dense; feature_list_dense_missing_assumed_empty: list(string),"
    f" {', '.join(f'{key}: list(string)' for key in _KEYS)}, {_COUNTS}, {_LISTS}, {_SHAPES}) ->"
    f" {_CONTEXT}, {_SPARSE_LISTS}, feature_list_dense_lengths: Nfeature_list_dense*i64",
    _parse_attrs,
    infer=_infer_attrs,
    only_reads=False,
)
host_op(
    "parse_single_sequence_example",
    "ParseSingleSequenceExample(serialized: string, feature_list_dense_missing_assumed_empty:"
    " string, context_sparse_keys: Ncontext_sparse*string, context_dense_keys:"
    " Ncontext_dense*string, feature_list_sparse_keys: Nfeature_list_sparse*string,"
    " feature_list_dense_keys: Nfeature_list_dense*string, context_dense_defaults: Tcontext_dense,"
    f" debug_name: string; {_COUNTS}, {_LISTS}, {_SHAPES}) -> {_CONTEXT}, {_SPARSE_LISTS}",
    _parse_single,
    infer=_infer_single,
    only_reads=False,
)
