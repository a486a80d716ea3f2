"""ParseExample in both versions and ParseSingleExample: serialized `Example` messages as tensors.

In: strings, the keys of features, defaults of dense ones. Out: host steps: tensors of all examples
for each key. Invariant: TensorFlow's values, defaults and errors.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.encoding.example_parts import Parts, example_parts, lone_values
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostRun
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.records.example_scan import scanned_features
from flowc.ops.records.features import (
    KINDS,
    Array,
    Column,
    Parsed,
    Shape,
    Values,
    Wanted,
    fixed,
    is_there,
    padded,
    read_values,
    shown,
)

WRONG_SPARSE = "Expected type: {wanted}, Actual type: {found}"


def column_of(parts: Sequence[Parts], key: str) -> Column:
    """What each example has under a key, None where it has not."""
    try:
        return [part.get(key) for part in parts]
    except UnicodeEncodeError:  # no key of a message is
        return [None] * len(parts)


class ExampleBatch:
    """The examples of one call. `single`: of one example, which has no axis for it."""

    def __init__(self, parts: Sequence[Parts], names: Sequence[str], single: bool) -> None:
        self.parts = parts
        self.names = names
        self.single = single

    def column(self, key: str) -> Column:
        return column_of(self.parts, key)

    def where(self, i: int) -> str:
        name = self.names[i] if i < len(self.names) else "<unknown>"
        return "" if self.single else f"Name: {name}, "

    def fault(self, key: str, i: int, text: str) -> InvalidArgumentError:
        index = "" if self.single else f", Index: {i}"
        return InvalidArgumentError(f"{self.where(i)}Key: {key}{index}.  {text}")

    def read(self, key: str, dtype: DType, wrong_type: str) -> Values:
        def fault(i: int, text: str) -> InvalidArgumentError:
            return self.fault(key, i, text)

        return read_values(self.column(key), dtype, fault, wrong_type)

    @property
    def wrong_dense(self) -> str:
        """How a message about a dense feature of another dtype goes on."""
        return "Data type: {found} but expected type: {wanted}"

    def dense(self, key: str, dtype: DType, shape: Shape, default: Array) -> Array:
        """A tensor of a dense feature: sizes that are open are those of the longest example."""

        def fault(i: int, text: str) -> InvalidArgumentError:
            return self.fault(key, i, text)

        found = self._lone(key, dtype, shape) if self.single else None
        if found is not None:
            return found
        values = self.read(key, dtype, self.wrong_dense)
        if shape and shape[0] is None:
            rest = [size or 0 for size in shape[1:]]
            return padded(values, rest, default, fault)
        sizes = [size or 0 for size in shape]
        missing: list[int] = []
        if not values.counts.all():
            there = is_there(self.column(key))
            missing = [i for i, found in enumerate(there) if not found]
        if missing and default.size != int(np.prod(sizes)):
            raise InvalidArgumentError(
                f"{self.where(missing[0])}Feature: {key} (data type: {shown(dtype)}) is required "
                "but could not be found."
            )
        return fixed(values, sizes, missing, default, fault)

    def _lone(self, key: str, dtype: DType, shape: Shape) -> Array | None:
        """A dense feature of a single example that is just as it should be."""
        feature = self.column(key)[0]
        if not feature or dtype not in KINDS or None in shape:
            return None
        found = lone_values(feature, KINDS[dtype], math.prod(size or 0 for size in shape))
        return None if found is None else found.reshape(1, *(size or 0 for size in shape))


def parse(batch: ExampleBatch, wanted: Wanted) -> Parsed:
    """The features of all examples."""
    found = Parsed()
    for key, dtype in wanted.sparse:
        values = batch.read(key, dtype, WRONG_SPARSE)
        rows, places = values.positions()
        axes = [places] if batch.single else [rows, places]
        sizes = [values.longest] if batch.single else [len(values.counts), values.longest]
        found.indices.append(np.stack(axes, 1))
        found.values.append(values.flat)
        found.shapes.append(np.array(sizes, np.int64))
    for key, dtype, shape, default in wanted.dense:
        array = batch.dense(key, dtype, shape, default)
        found.dense.append(array.reshape(array.shape[1:]) if batch.single else array)
    for key, dtype, split_dtype in wanted.ragged:
        values = batch.read(key, dtype, WRONG_SPARSE)
        found.ragged_values.append(values.flat)
        splits = values.splits(split_dtype)
        found.ragged_splits.append(splits[:0] if batch.single else splits)
    for arrays in (found.values, found.dense, found.ragged_values):
        arrays[:] = [np.require(a, requirements="C") for a in arrays]
    return found


def parsed(serialized: Any, names: Any, wanted: Wanted, run: HostRun) -> list[Array]:
    """The features of a tensor of strings, as outputs. Raises `InvalidArgumentError`."""
    single = np.ndim(serialized) == 0
    items = np.asarray(serialized, object).reshape(-1).tolist()
    found = None if single else scanned_features(items, wanted, run)
    if found is not None:
        return found.outputs()
    parts: list[Mapping[str, bytes]] = []
    for item in items:
        try:
            parts.append(example_parts(item))
        except ValueError:
            shown_item = item[:50].decode("utf-8", "replace")
            raise InvalidArgumentError(
                f"Could not parse example input, value: '{shown_item}'"
            ) from None
    return parse(ExampleBatch(parts, texts(names), single), wanted).outputs()


def texts(strings: Any) -> list[str]:
    found = np.asarray(strings, object).reshape(-1).tolist()
    return [s.decode("utf-8", "surrogateescape") if isinstance(s, bytes) else s for s in found]


# -- inference

_TYPES = "{f32, i64, string}"


def sparse_dims(c: Inference, count: int, rank: int, types: Any = None) -> list[Dims]:
    """Dims of indices, values and shapes of sparse tensors. Their sizes are made in the order of
    the outputs."""
    if types is not None and len(types) != count:
        raise c.fail(f"{count} sparse keys and {len(types)} sparse types")
    sizes = [c.fresh("n") for _ in range(count)]
    indices: list[Dims] = [(size, rank) for size in sizes]
    values: list[Dims] = [(size,) for size in sizes]
    return [*indices, *values, *[(rank,)] * count]


def dense_dims(c: Inference, shapes: Sequence[Any], batch: Dims) -> list[Dims]:
    found: list[Dims] = []
    for shape in shapes:
        if shape is None or any(size is None for size in shape[1:]):
            raise c.fail("only the first size of a dense feature may be open")
        sizes = [c.fresh("length") if size is None else size for size in shape]
        found.append((*batch, *sizes))
    return found


def check_keys(c: Inference, keys: int, wanted: int, what: str) -> None:
    c.need_rank(keys, 1, f"Shape must be rank 1 but is rank {c.rank(keys)}: {what}")
    c.equal(c.dims(keys)[0], wanted, f"{wanted} {what} are expected, found {c.dims(keys)[0]}")


def _infer_examples(c: Inference) -> list[Dims]:
    attrs, batch = c.attrs, c.dims(0)
    if len(batch) > 1:
        raise c.fail(f"Shape must be at most rank 1 but is rank {len(batch)}")
    check_keys(c, 2, attrs["num_sparse"], "sparse keys")
    check_keys(c, 3, len(attrs["dense_shapes"]), "dense keys")
    check_keys(c, 4, len(attrs["ragged_value_types"]), "ragged keys")
    ragged = len(attrs["ragged_value_types"])
    if ragged != len(attrs["ragged_split_types"]) or len(c.inputs) - 5 != len(
        attrs["dense_shapes"]
    ):
        raise c.fail(
            "as many dtypes of splits as of ragged values, and defaults as shapes, are expected"
        )
    found = sparse_dims(c, attrs["num_sparse"], 1 + len(batch), attrs["sparse_types"])
    found += dense_dims(c, attrs["dense_shapes"], batch)
    found += [(c.fresh("n"),) for _ in range(ragged)]
    return found + [(batch[0] + 1,) if batch else (0,)] * ragged


def _infer_batch(c: Inference) -> list[Dims]:
    shapes = c.attrs["dense_shapes"]
    c.need_rank(0, 1)
    sparse = len(c.inputs) - 2 - 2 * len(shapes)
    for i in range(2, 2 + sparse + len(shapes)):
        c.need_rank(i, 0, f"Shape must be rank 0 but is rank {c.rank(i)}: a key is one string")
    return sparse_dims(c, sparse, 2, c.attrs["sparse_types"]) + dense_dims(c, shapes, c.dims(0))


def _infer_single(c: Inference) -> list[Dims]:
    c.need_rank(0, 0)
    found = sparse_dims(c, c.attrs["num_sparse"], 1, c.attrs["sparse_types"])
    if len(c.attrs["sparse_keys"]) != c.attrs["num_sparse"]:
        raise c.fail("as many sparse keys as num_sparse says are expected")
    if not len(c.attrs["dense_keys"]) == len(c.attrs["dense_shapes"]) == len(c.inputs) - 1:
        raise c.fail("as many dense keys, shapes and defaults are expected")
    return found + dense_dims(c, c.attrs["dense_shapes"], ())


# -- records


def _dense(
    keys: Sequence[str], types: Sequence[DType], shapes: Sequence[Any], defaults: Sequence[Any]
) -> list[tuple[str, DType, Shape, Array]]:
    arrays = [np.asarray(d, t.numpy) for d, t in zip(defaults, types)]
    return list(zip(keys, types, [tuple(s) for s in shapes], arrays))


def _parse_examples(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    run: HostRun,
    num_sparse: int,
    dense_shapes: Sequence[Any],
) -> list[Array]:
    serialized, names, *keys = inputs[:5]
    sparse, dense, ragged = (texts(k) for k in keys)
    values = types[num_sparse:]
    ragged_types = types[3 * num_sparse + len(dense) :]
    wanted = Wanted(
        list(zip(sparse, values)),
        _dense(dense, types[3 * num_sparse :], dense_shapes, inputs[5:]),
        list(zip(ragged, ragged_types, ragged_types[len(ragged) :])),
    )
    return parsed(serialized, names, wanted, run)


def _parse_batch(
    inputs: Sequence[Any], types: Sequence[DType], *, run: HostRun, dense_shapes: Sequence[Any]
) -> list[Array]:
    dense = len(dense_shapes)
    sparse = (len(types) - dense) // 3
    keys = [text for key in inputs[2 : 2 + sparse + dense] for text in texts(key)]
    wanted = Wanted(
        list(zip(keys[:sparse], types[sparse:])),
        _dense(keys[sparse:], types[3 * sparse :], dense_shapes, inputs[2 + len(keys) :]),
    )
    return parsed(inputs[0], inputs[1], wanted, run)


def _parse_single(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    run: HostRun,
    num_sparse: int,
    sparse_keys: Sequence[str],
    dense_keys: Sequence[str],
    dense_shapes: Sequence[Any],
) -> list[Array]:
    wanted = Wanted(
        list(zip(sparse_keys, types[num_sparse:])),
        _dense(dense_keys, types[3 * num_sparse :], dense_shapes, inputs[1:]),
    )
    return parsed(inputs[0], (), wanted, run)


host_op(
    "parse_example_v2",
    "ParseExampleV2(serialized: string, names: string, sparse_keys: string, dense_keys: string,"
    f" ragged_keys: string, dense_defaults: Tdense; Tdense: list({_TYPES}), num_sparse: int >= 0,"
    f" sparse_types: list({_TYPES}), ragged_value_types: list({_TYPES}),"
    " ragged_split_types: list({i32, i64}), dense_shapes: list(shape)) -> sparse_indices:"
    " num_sparse*i64, sparse_values: sparse_types, sparse_shapes: num_sparse*i64, dense_values:"
    " Tdense, ragged_values: ragged_value_types, ragged_row_splits: ragged_split_types",
    _parse_examples,
    infer=_infer_examples,
)
host_op(
    "parse_example",
    "ParseExample(serialized: string, names: string, sparse_keys: Nsparse*string, dense_keys:"
    " Ndense*string, dense_defaults: Tdense; Nsparse: int >= 0, Ndense: int >= 0, sparse_types:"
    f" list({_TYPES}), Tdense: list({_TYPES}), dense_shapes: list(shape)) -> sparse_indices:"
    " Nsparse*i64, sparse_values: sparse_types, sparse_shapes: Nsparse*i64, dense_values: Tdense",
    _parse_batch,
    infer=_infer_batch,
)
host_op(
    "parse_single_example",
    "ParseSingleExample(serialized: string, dense_defaults: Tdense; num_sparse: int >= 0,"
    " sparse_keys: list(string), dense_keys: list(string), sparse_types:"
    f" list({_TYPES}), Tdense: list({_TYPES}), dense_shapes: list(shape)) -> sparse_indices:"
    " num_sparse*i64, sparse_values: sparse_types, sparse_shapes: num_sparse*i64, dense_values:"
    " Tdense",
    _parse_single,
    infer=_infer_single,
)
