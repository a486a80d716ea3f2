"""Sparse tensors as variants: as datasets hold them.

In: indices, values and sizes. Out: a vector of three variants, or a row of three for each row of a
sparse tensor, and the other way round. Invariant: what a variant holds is not changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.host_run import HostValue, held
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Inference, Op, define
from flowc.ir.types import Dims, shown_dims
from flowc.ops.datasets.dataset import Array, kept
from flowc.ops.lists.list_values import dtype_shown
from flowc.ops.state.variables import value_of
from flowc.ops.strings.string_values import check_count

PARTS = 3


def sparse_variant(indices: Array, values: Array, sizes: Array) -> Array:
    """A vector of the three parts."""
    found = np.empty(PARTS, object)
    for k, part in enumerate((indices, values, sizes)):
        found[k] = HostValue.of(kept(part))
    return found


def _serialize(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    return [sparse_variant(*(held(part) for part in inputs))]


def _serialize_rows(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    indices, values, sizes = (held(part) for part in inputs)
    if len(sizes) < 2:
        raise InvalidArgumentError("Rank of input SparseTensor should be > 1, but saw rank: 1")
    count = int(sizes[0])
    if count < 0:
        raise InvalidArgumentError(f"a sparse tensor of {count} rows")
    check_count(count, "rows of a sparse tensor")
    starts = np.searchsorted(indices[:, 0], np.arange(count + 1))
    found = np.empty((count, PARTS), object)
    for k in range(count):
        part = slice(starts[k], starts[k + 1])
        found[k] = sparse_variant(np.ascontiguousarray(indices[part, 1:]), values[part], sizes[1:])
    return [found]


def _checked_parts(k: int, row: Array, dtype: DType) -> list[Array]:
    """The three parts that a row holds, the k-th: of the dtype, and of shapes that fit."""
    if not all(isinstance(item, HostValue) for item in row):
        raise InvalidArgumentError("Could not parse serialized proto")
    indices, values, sizes = found = [item.value for item in row]
    kinds = ((2, "an index matrix"), (1, "a values vector"), (1, "a shape vector"))
    for part, (rank, words) in enumerate(kinds):
        if found[part].ndim != rank:
            raise InvalidArgumentError(
                f"Expected serialized_sparse[{k}, {part}] to represent {words} but received shape "
                f"{shown_dims(found[part].shape)}"
            )
    if values.dtype != dtype.numpy:
        raise InvalidArgumentError(
            f"Requested SparseTensor of type {dtype_shown(dtype)} but SparseTensor[{k}].values"
            f".dtype() == {dtype_shown(dtypes.as_dtype(values.dtype))}"
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


def _deserialize(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    """Of several rows one sparse tensor with as many dimensions before."""
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
    rank: Dim = c.fresh("rank", None)
    return [(count, rank), (count,), (rank,)]


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, step: Op) -> Sequence[Bound]:
    if attrs.get("out_type", dtypes.variant) is not dtypes.variant:
        raise UnsupportedError(f"'{x.name}' writes a sparse tensor as text, which flowc does not")
    values: list[Value] = [value_of(x, bound) for bound in inputs]
    given = {name: attrs[name] for name in ("dtype",) if name in attrs}
    return x.b.emit(step, values, given).outputs


_PARTS = "sparse_indices: i64, sparse_values: T, sparse_shape: i64"
for _op_type, _arguments, _function, _infer, _step_arguments in (
    (
        "SerializeSparse",
        f"({_PARTS}; T: type, out_type: {{string, variant}} = string)"
        " -> serialized_sparse: out_type",
        _serialize,
        _infer_vector,
        f"({_PARTS}; T: type) -> serialized: string",
    ),
    (
        "SerializeManySparse",
        f"({_PARTS}; T: type, out_type: {{string, variant}} = string)"
        " -> serialized_sparse: out_type",
        _serialize_rows,
        _infer_rows,
        f"({_PARTS}; T: type) -> serialized: string",
    ),
    (
        "DeserializeSparse",
        "(serialized_sparse: Tserialized; dtype: type, Tserialized: {string, variant} = string)"
        " -> sparse_indices: i64, sparse_values: dtype, sparse_shape: i64",
        _deserialize,
        _infer_parts,
        "(serialized: string; dtype: type)"
        " -> sparse_indices: i64, sparse_values: dtype, sparse_shape: i64",
    ),
):
    _host = Host(_function, _op_type, only_reads=True)
    _step = define(
        f"sparse_step:{_op_type}",
        f"_{_op_type}{_step_arguments}",
        infer=_infer,
        lowering=_host,
    )
    define(
        f"sparse:{_op_type}",
        f"{_op_type}{_arguments}",
        infer=_infer,
        lowering=Extracted(partial(_emit, step=_step), _host),
        traits=frozenset({"may_block"}),
    )
