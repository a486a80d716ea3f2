"""Ragged tensors that variants hold: as loops, lists and datasets pass them on.

In: splits and values. Out: a variant of a ragged tensor, or one for each of its rows, and the other
way round. Invariant: what fits no ragged tensor ends the run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType, as_dtype
from flowc.errors import InvalidArgumentError
from flowc.ir.host_run import HostValue, held
from flowc.ir.inference import Inference
from flowc.ir.op import Attrs
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.lists.host_variants import (
    Shape,
    define_variant_step,
    held_in,
    kind_of,
    variant_of,
)
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.strings.printing import summarized
from flowc.ops.strings.string_values import check_count

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class RaggedVariant:
    """The splits of each level, the outermost first, and the values."""

    splits: tuple[Array, ...]
    values: Array

    kind = "RaggedTensorVariant"

    def zeros(self) -> RaggedVariant:
        return RaggedVariant(self.splits, np.zeros_like(self.values))

    def plus(self, other: RaggedVariant) -> RaggedVariant:
        same = len(self.splits) == len(other.splits) and all(
            np.array_equal(a, b) for a, b in zip(self.splits, other.splits)
        )
        if not same or self.values.shape != other.values.shape:
            raise InvalidArgumentError("ragged tensors whose rows differ in length have no sum")
        return RaggedVariant(self.splits, np.asarray(self.values + other.values))


# -- to variants


def _check_begin(splits: Array) -> None:
    if not len(splits):
        raise _misfit("ragged splits must have at least one splits, but is empty")
    if splits[0] != 0:
        raise _misfit(f"first element of ragged splits  must be 0 but is {splits[0]}")


def _misfit(fault: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"Invalid ragged splits: {fault}")


def _check_splits(splits: Array, count: int) -> None:
    _check_begin(splits)
    falls = np.flatnonzero(np.diff(splits) < 0)
    if len(falls):
        k = falls[0]
        fault = (
            "ragged splits must be monotonically increasing, but "
            f"ragged_splits[{k + 1}]={splits[k + 1]} is smaller than row_splits[{k}]={splits[k]}"
        )
    elif splits[-1] != count:
        fault = (
            f"last element of ragged splits must be the number of ragged values({count}) but is "
            f"{splits[-1]}"
        )
    else:
        return
    raise _misfit(fault)


def _to_variant(inputs: Sequence[Any], _: Sequence[DType], *, batched_input: bool) -> list[Array]:
    *levels, values = (held(x).copy() for x in inputs)
    if batched_input and not values.ndim:
        raise InvalidArgumentError("Can't unbatch rank-0 tensor.")
    for splits, inner in zip(levels, [*levels[1:], values]):
        _check_splits(splits, len(inner) - (inner is not values))
    if not batched_input:
        return [variant_of(RaggedVariant(tuple(levels), values))]
    if not levels:
        levels = [np.arange(len(values) + 1)]
        rows = [RaggedVariant((), row) for row in values]
    else:
        rows = [_row(levels, values, i) for i in range(len(levels[0]) - 1)]
    found = np.empty(len(rows), object)
    for i, row in enumerate(rows):
        found[i] = HostValue.of(row)
    return [found]


def _row(levels: Sequence[Array], values: Array, row: int) -> RaggedVariant:
    """A row of the outermost level."""
    start, end = int(levels[0][row]), int(levels[0][row + 1])
    own: list[Array] = []
    for splits in levels[1:]:
        part = splits[start : end + 1]
        own.append(part - part[0])
        start, end = int(part[0]), int(part[-1])
    return RaggedVariant(tuple(own), values[start:end])


def _infer_to_variant(c: Inference) -> Dims:
    last = len(c.inputs) - 1
    for i in range(last):
        c.need_rank(i, 1)
    if not c.rank(last):
        raise c.fail("Shape must be at least rank 1 but is rank 0")
    if not c.attrs["batched_input"]:
        return ()
    return (c.dims(0)[0] - 1,) if last else (c.dims(0)[0],)


def _to_variant_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    *splits, values = node.inputs
    rows = splits[0] if splits else np.int64(0)
    given = {"Tvalues": values.dtype}
    found = b.ragged_tensor_to_variant_gradient(dy, rows, b.shape_of(values), **given)
    return (*(None for _ in splits), found)


# -- from variants


def _from_variant(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    input_ragged_rank: int,
    output_ragged_rank: int,
) -> list[Array]:
    encoded = held(inputs[0])
    inner = input_ragged_rank
    if inner == -1:
        inner = output_ragged_rank - encoded.ndim
        if inner < 0:
            raise InvalidArgumentError(
                "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be"
                f" >= 0, found output_ragged_rank: {output_ragged_rank}, encoded_variant.dims(): "
                f"{encoded.ndim}, inferred input_ragged_rank: {inner}"
            )
    if inner + encoded.ndim != output_ragged_rank:
        raise InvalidArgumentError(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
            f"output_ragged_rank: {output_ragged_rank}, input_ragged_rank: {inner}, "
            f"encoded_variant.dims(): {encoded.ndim}, "
        )
    parts = [
        _checked(item, k, inner, types[-1], types[0] if inner else None)
        for k, item in enumerate(encoded.reshape(-1))
    ]
    if not encoded.ndim:
        found = [*parts[0].splits, parts[0].values]
    else:
        found = _stacked(parts, encoded.shape, inner, types[-1])
    if output_ragged_rank:
        found[:-1] = [np.asarray(splits, types[0].numpy) for splits in found[:-1]]
    return [np.require(array, requirements="C") for array in found]


def _checked(item: Any, place: int, rank: int, dtype: DType, splits: DType | None) -> RaggedVariant:
    found = held_in(item, RaggedVariant)
    if found is None:
        raise InvalidArgumentError(
            f"Input Variant element at index {place} doesn't hold a RaggedTensorVariant: "
            f"{kind_of(item)}"
        )
    if len(found.splits) != rank:
        raise InvalidArgumentError(
            f"Encoded input RaggedTensorVariant has ragged_rank={len(found.splits)}.  Expected "
            f"ragged_rank={rank}."
        )
    parts = [(found.values, dtype, "values")]
    if splits is not None:
        parts.append((found.splits[0], splits, "row_splits"))
    for array, wanted, what in parts:
        if array.dtype != wanted.numpy:
            raise InvalidArgumentError(
                f"Expected {what} Tensor dtype: {dtype_shown(wanted)}, found: "
                f"{dtype_shown(as_dtype(array.dtype))}"
            )
    return found


def _stacked(
    parts: Sequence[RaggedVariant], shape: tuple[int, ...], inner: int, dtype: DType
) -> list[Array]:
    """Many ragged tensors as one, whose outer levels are the dims of the variants."""
    found: list[Array] = []
    count = 1
    for size, rows in itertools.pairwise(shape):
        count *= size
        found.append(np.arange(count + 1) * rows)
    for k, part in enumerate(parts):
        if not part.values.ndim:
            raise InvalidArgumentError(
                "Ragged values must have rank >= 1; encoded scalar element at index "
                f"{k} has values Tensor: Tensor<type: {dtype_shown(dtype)} shape: [] values: "
                f"{summarized(part.values, -1)}>"
            )
    lengths = [len(part.splits[0]) - 1 if inner else len(part.values) for part in parts]
    found.append(np.cumsum([0, *lengths]))
    for level in range(inner):
        joined, end = [np.zeros(1, np.int64)], 0
        for part in parts:
            joined.append(part.splits[level][1:] + end)
            end += part.splits[level][-1]
        found.append(np.concatenate(joined))
    if not parts:
        return [*found, np.zeros(0, dtype.numpy)]
    first = parts[0].values
    for k, part in enumerate(parts):
        if part.values.shape[1:] != first.shape[1:]:
            raise InvalidArgumentError(
                "All flat_values must have compatible shapes.  Shape at index 0: "
                f"{shown_dims(first.shape[1:])}.  Shape at index {k}: "
                f"{shown_dims(part.values.shape[1:])}.  If you are using tf.map_fn, then you may "
                "need to specify an explicit fn_output_signature with appropriate ragged_rank, "
                "and/or convert output tensors to RaggedTensors."
            )
    return [*found, np.concatenate([part.values for part in parts])]


def _check_from_variant(c: Inference) -> list[Dims]:
    inner, outer = c.attrs["input_ragged_rank"], c.attrs["output_ragged_rank"]
    if inner >= 0 and c.rank(0) != outer - inner:
        raise c.fail(f"Shape must be rank {outer - inner} but is rank {c.rank(0)}")
    return []


def _shapes_from_variant(attrs: Attrs) -> list[Shape | None]:
    return [*([(None,)] * attrs["output_ragged_rank"]), None]


def _from_variant_gradient(b: GradientBuilder, node: Forward, *dys: Any) -> Any:
    encoded = node.inputs[0]
    *splits, _ = node.outputs
    rank = b.rank_of(encoded)
    if rank < 2:
        return b.ragged_tensor_to_variant(*splits, dys[-1], batched_input=rank > 0)
    rows = b.ragged_tensor_to_variant(*splits[rank - 1 :], dys[-1], batched_input=True)
    return b.reshape(rows, b.shape_of(encoded))


# -- the gradient of values that became variants


def _values_gradient(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    encoded, row_splits, sizes = (held(x) for x in inputs)
    if row_splits.ndim:
        _check_begin(row_splits)
    if (sizes < 0).any():
        raise InvalidArgumentError(f"Expected dense_values_shape >= 0, got {sizes.tolist()}")
    count = math.prod(sizes.tolist())
    check_count(count, "values")
    parts: list[Array] = [np.zeros(0, types[0].numpy)]
    for k, item in enumerate(encoded.reshape(-1)):
        part = held_in(item, RaggedVariant)
        if part is None or part.values.dtype != types[0].numpy:
            raise InvalidArgumentError(
                f"the gradient of row {k} is no ragged tensor of {dtype_shown(types[0])}: "
                f"{kind_of(item)}"
            )
        parts.append(part.values.reshape(-1))
    flat = np.concatenate(parts)
    if len(flat) > count:
        raise InvalidArgumentError(
            f"there are gradients of {len(flat)} values, and {count} values of shape "
            f"{shown_dims(sizes.tolist())}"
        )
    found = np.zeros(count, types[0].numpy)
    found[: len(flat)] = flat
    return [found.reshape(sizes)]


def _infer_values_gradient(c: Inference) -> Dims:
    return tuple(c.need_sizes(2))


# -- records

_SPLITS = "Tvalues: type, Tsplits: {i32, i64} = i64"
define_variant_step(
    "ragged_tensor_to_variant",
    "RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues;"
    f" RAGGED_RANK: int >= 0, {_SPLITS}, batched_input: bool) -> encoded_ragged: variant",
    _to_variant,
    _infer_to_variant,
    ("batched_input",),
    gradient=_to_variant_gradient,
    may_block=True,
)
define_variant_step(
    "ragged_tensor_from_variant",
    "RaggedTensorFromVariant(encoded_ragged: variant; input_ragged_rank: int >= -1,"
    f" output_ragged_rank: int >= 0, {_SPLITS}) -> output_nested_splits:"
    " output_ragged_rank*Tsplits, output_dense_values: Tvalues",
    _from_variant,
    _check_from_variant,
    ("input_ragged_rank", "output_ragged_rank"),
    open_shapes=_shapes_from_variant,
    gradient=_from_variant_gradient,
    may_block=True,
)
define_variant_step(
    "ragged_tensor_to_variant_gradient",
    "RaggedTensorToVariantGradient(encoded_ragged_grad: variant, row_splits: Tsplits,"
    f" dense_values_shape: i32; {_SPLITS}) -> dense_values_grad: Tvalues",
    _values_gradient,
    _infer_values_gradient,
)
