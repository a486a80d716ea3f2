"""Sparse tensors in one tensor: as variants, which datasets hold, and as strings.

In: indices, values and sizes. Out: a vector of three variants or strings, or a row of three for
each row of a sparse tensor, and the other way round. Invariant: what a variant holds is not
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostValue, held
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Op, define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.datasets.dataset import Array, kept
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import value_of
from flowc.ops.strings.string_values import check_count, strings_of

PARTS = 3


def sparse_variant(indices: Array, values: Array, sizes: Array) -> Array:
    """A vector of the three parts."""
    found = np.empty(PARTS, object)
    for k, part in enumerate((indices, values, sizes)):
        found[k] = HostValue.of(kept(part))
    return found


def _sparse_texts(indices: Array, values: Array, sizes: Array) -> Array:
    """A vector of the three parts as messages."""
    from flowc.encoding.tensor_message import packed_bytes  # late: few graphs need it

    return strings_of([packed_bytes(part) for part in (indices, values, sizes)], (PARTS,))


def _form(out_type: str) -> Callable[[Array, Array, Array], Array]:
    return _sparse_texts if out_type == dtypes.string.name else sparse_variant


def _components(inputs: Sequence[Any]) -> tuple[Array, Array, Array]:
    indices, values, sizes = found = [held(part) for part in inputs]
    kinds = (("indices", 2, "matrix"), ("values", 1, "vector"), ("shape", 1, "vector"))
    for part, (name, rank, words) in zip(found, kinds):
        if part.ndim != rank:
            raise InvalidArgumentError(
                f"Input {name} should be a {words} but received shape {shown_dims(part.shape)}"
            )
    return indices, values, sizes


def _serialize(inputs: Sequence[Any], types: Sequence[DType], *, out_type: str) -> list[Array]:
    return [_form(out_type)(*_components(inputs))]


def _check_places(indices: Array, sizes: Array) -> None:
    """That the places of elements lie inside and are in order."""
    if np.any(sizes < 0):
        raise InvalidArgumentError(
            f"Expected shape dimensions to be non-negative, got {sizes[sizes < 0][0]}"
        )
    outside = np.any((indices < 0) | (indices >= sizes), axis=1)
    steps = np.diff(indices, axis=0)
    first = np.take_along_axis(steps, np.argmax(steps != 0, axis=1)[:, None], axis=1)[:, 0]
    wrong = np.flatnonzero(outside | np.append(False, first <= 0)[: len(indices)])
    if not len(wrong):
        return
    k = wrong[0]
    place = f"indices[{k}] = [{','.join(map(str, indices[k]))}]"
    if outside[k]:
        shown = ",".join(map(str, sizes))
        raise InvalidArgumentError(f"{place} is out of bounds: need 0 <= index < [{shown}]")
    fault = "out of order" if first[k - 1] else "repeated"
    raise InvalidArgumentError(
        f"{place} is {fault}. Many sparse ops require sorted indices.\n"
        "    Use `tf.sparse.reorder` to create a correctly ordered copy."
    )


def _serialize_rows(inputs: Sequence[Any], types: Sequence[DType], *, out_type: str) -> list[Array]:
    indices, values, sizes = _components(inputs)
    if len(sizes) < 2:
        raise InvalidArgumentError(
            f"Rank of input SparseTensor should be > 1, but saw rank: {len(sizes)}"
        )
    if len(indices) != len(values) or indices.shape[1] != len(sizes):
        raise InvalidArgumentError(
            f"indices {shown_dims(indices.shape)}, values {shown_dims(values.shape)} and shape "
            f"{shown_dims(sizes.shape)} are of no sparse tensor"
        )
    _check_places(indices, sizes)
    count, form = int(sizes[0]), _form(out_type)
    check_count(count, "rows of a sparse tensor")
    starts = np.searchsorted(indices[:, 0], np.arange(count + 1))
    found = np.empty((count, PARTS), object)
    for k in range(count):
        part = slice(starts[k], starts[k + 1])
        found[k] = form(np.ascontiguousarray(indices[part, 1:]), values[part], sizes[1:])
    return [found]


def _part(item: Any) -> Array:
    """What a variant or a string holds."""
    if isinstance(item, HostValue):
        return item.value
    from flowc.encoding.tensor_message import array_of

    try:
        return array_of(item)
    except ValueError:
        raise InvalidArgumentError("Could not parse serialized proto") from None


def _checked_parts(k: int, row: Array, dtype: DType) -> list[Array]:
    """The three parts that a row holds, the k-th: of the dtype, and of shapes that fit."""
    indices, values, sizes = found = [_part(item) for item in row]
    kinds = (
        (2, "to represent an index matrix but received shape"),
        (1, "to represent a values vector but received shape"),
        (1, "to be a shape vector but its shape is"),
    )
    for part, (rank, words) in enumerate(kinds):
        if found[part].ndim != rank:
            raise InvalidArgumentError(
                f"Expected serialized_sparse[{k}, {min(part, 1)}] {words} "
                f"{shown_dims(found[part].shape)}"
            )
        if part != 1 and found[part].dtype != np.int64:
            raise InvalidArgumentError(
                f"Expected serialized_sparse[{k}, {part}] to hold int64, but it holds "
                f"{_dtype_of(found[part])}"
            )
    if values.dtype != dtype.numpy and _dtype_of(values) != dtype_shown(dtype):
        raise InvalidArgumentError(
            f"Requested SparseTensor of type {dtype_shown(dtype)} but SparseTensor[{k}].values"
            f".dtype() == {_dtype_of(values)}"
        )
    if len(indices) != len(values):
        raise InvalidArgumentError(
            f"Expected row counts of SparseTensor[{k}].indices and SparseTensor[{k}].values to "
            f"match but they do not: {len(indices)} vs. {len(values)}"
        )
    if indices.shape[1] != len(sizes):
        raise InvalidArgumentError(
            f"Expected column counts of SparseTensor[{k}].indices to match size of SparseTensor"
            f"[{k}].shape but they do not: {indices.shape[1]} vs. {len(sizes)}"
        )
    return found


def _dtype_of(array: Array) -> str:
    found = dtypes.string if array.dtype.hasobject else dtypes.as_dtype(array.dtype)
    return dtype_shown(found)


def _deserialize(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    """Serialized sparse tensors as one, which has in front the dimensions that count them."""
    rows = held(inputs[0])
    outer = rows.shape[:-1]
    if rows.shape[-1:] != (PARTS,):
        raise InvalidArgumentError(
            f"Serialized sparse should have 3 as the last dimension {shown_dims(rows.shape)}"
        )
    if not rows.size:
        raise InvalidArgumentError(
            "Serialized sparse should have at least 1 serialized tensor, but has a zero dimension "
            f"{shown_dims(rows.shape)}"
        )
    parts = [_checked_parts(k, row, types[1]) for k, row in enumerate(rows.reshape(-1, PARTS))]
    for k in range(1, len(parts)):
        before, rank = len(parts[k - 1][2]), len(parts[k][2])
        if rank != before:
            raise InvalidArgumentError(
                f"Inconsistent shape across SparseTensors: rank prior to SparseTensor[{k}] was: "
                f"{before} but rank of SparseTensor[{k}] is: {rank}"
            )
    if not outer:
        return [np.array(part, order="C") for part in parts[0]]
    places = np.stack([p.reshape(-1) for p in np.indices(outer, np.int64)], -1)
    indices = [
        np.concatenate([np.broadcast_to(at, (len(i), len(outer))), i], -1)
        for at, (i, _, _) in zip(places, parts)
    ]
    sizes = np.max([s for _, _, s in parts], 0)
    return [
        np.ascontiguousarray(np.concatenate(indices)),
        np.concatenate([values for _, values, _ in parts]),
        np.array([*outer, *sizes], np.int64),
    ]


def _infer_vector(c: Inference) -> Dims:
    return (PARTS,)


def _infer_rows(c: Inference) -> Dims:
    return (c.fresh("rows", None), PARTS)


def _infer_parts(c: Inference) -> list[Dims]:
    count = c.fresh("nonzero", None)
    stated: int | None = c.attrs.get("rank")
    rank: Dim = c.fresh("rank", None) if stated is None or stated < 0 else stated
    return [(count, rank), (count,), (rank,)]


def _infer_one_or_many(c: Inference) -> list[Dims]:
    _check_last(c)
    return _infer_parts(c)


def _infer_many(c: Inference) -> list[Dims]:
    c.need_rank(0, 2)
    _check_last(c)
    return _infer_parts(c)


def _check_last(c: Inference) -> None:
    dims = c.dims(0)
    if not dims or (isinstance(dims[-1], int) and dims[-1] != PARTS):
        raise c.fail(
            f"Serialized sparse should have 3 as the last dimension {shown_dims(dims)}",
            built=f"Dimension must be {PARTS} but is {dims[-1] if dims else 'none'}",
        )


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, step: Op) -> Sequence[Bound]:
    values: list[Value] = [value_of(x, bound) for bound in inputs]
    given = {name: attrs[name] for name in ("dtype", "out_type") if name in attrs}
    if "dtype" in given:
        given["rank"] = _stated_rank(x)
    return x.b.emit(step, values, given).outputs


def _stated_rank(x: Extractor) -> int:
    """The rank of the sparse tensor that a node gives, where the graph tells it, or -1."""
    stated = list(x.output_shapes(0))
    found = stated[0][1] if stated and stated[0] is not None and len(stated[0]) == 2 else None
    return -1 if found is None else found


def _define(op_type: str, arguments: str, step: str, function: Any, infer: Any) -> None:
    settings = ("out_type",) if "out_type" in step else ()
    host = Host(function, op_type, settings, only_reads=True)
    made = define(f"sparse_step:{op_type}", f"_{op_type}{step}", infer=infer, lowering=host)
    define(
        f"sparse:{op_type}",
        f"{op_type}{arguments}",
        infer=infer,
        lowering=Extracted(partial(_emit, step=made), host),
        traits=frozenset({"may_block"}),
    )


_FORMS = "{string, variant} = string"
_GIVEN = (
    "(sparse_indices: i64, sparse_values: T, sparse_shape: i64; T: type,"
    f" out_type: {_FORMS}) -> serialized_sparse: "
)
_FOUND = "dtype: type) -> sparse_indices: i64, sparse_values: dtype, sparse_shape: i64"
_HELD = "(serialized_sparse: string; "
_RANKED = _FOUND.replace(")", ", rank: int = -1)")
_EITHER = "(serialized_sparse: Tserialized; "

_define("SerializeSparse", _GIVEN + "out_type", _GIVEN + "string", _serialize, _infer_vector)
_define("SerializeManySparse", _GIVEN + "out_type", _GIVEN + "string", _serialize_rows, _infer_rows)
_define(
    "DeserializeSparse",
    _EITHER + _FOUND.replace(")", f", Tserialized: {_FORMS})"),
    _HELD + _RANKED,
    _deserialize,
    _infer_one_or_many,
)
_define("DeserializeManySparse", _HELD + _FOUND, _HELD + _RANKED, _deserialize, _infer_many)
