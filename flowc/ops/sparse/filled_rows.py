"""Rows of sparse and ragged tensors that have nothing get one value.

In: places, values and sizes, which the run knows, and the value. Out: host steps: the same with
such rows filled, which rows they are, and where each value went.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.sparse.sparse_places import Array, check_sparse, results
from flowc.ops.strings.string_values import check_count


def _fill_rows(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    indices, values, sizes, default = inputs
    if not len(sizes):
        raise InvalidArgumentError("Dense shape cannot be empty.")
    check_count(int(sizes[0]), "rows")
    rows, own = int(sizes[0]), indices[:, 0]
    wrong = np.flatnonzero((own < 0) | (own >= rows))
    if len(wrong):
        raise InvalidArgumentError(f"indices({wrong[0]}, 0) is invalid: {own[wrong[0]]} >= {rows}")
    counts = np.bincount(own, minlength=rows)
    empty = counts == 0
    added = np.zeros((int(empty.sum()), indices.shape[1]), np.int64)
    added[:, 0] = np.flatnonzero(empty)
    everything = np.concatenate([indices, added])
    order = np.argsort(everything[:, 0], kind="stable")
    filler = np.empty(len(added), values.dtype)
    filler[:] = default
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    found = np.concatenate([values, filler])[order]
    return results(everything[order], found, empty, place[: len(indices)])


def _infer_fill_rows(c: Inference) -> list[Dims]:
    check_sparse(c, 0, 1, 2)
    c.need_rank(3, 0)
    sizes = c.content(2)
    rows = c.fresh("rows") if sizes is None or c.dims(2)[0] == 0 else sizes[0]
    if isinstance(rows, np.integer):
        rows = int(rows)
    count = c.fresh("n")
    return [(count, c.dims(0)[1]), (count,), (rows,), (c.dims(0)[0],)]


def _fill_rows_gradient(b: Any, node: Any, _: Any, dy: Any, *rest: Any) -> Any:
    to_values, to_default = b.sparse_fill_empty_rows_grad(node.outputs[3], dy)
    return None, to_values, None, to_default


host_op(
    "sparse_fill_empty_rows",
    "SparseFillEmptyRows(indices: i64, values: T, dense_shape: i64, default_value: T; T: type) ->"
    " output_indices: i64, output_values: T, empty_row_indicator: bool, reverse_index_map: i64",
    _fill_rows,
    infer=_infer_fill_rows,
    gradient=_fill_rows_gradient,
)


def _fill_rows_grad(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    places, dy = inputs
    outside = np.flatnonzero((places < 0) | (places >= len(dy)))
    if len(outside):
        raise InvalidArgumentError(
            f"Elements in reverse index must be in [0, {len(dy)}) but got {places[outside[0]]}"
        )
    visited = np.zeros(len(dy), bool)
    visited[places] = True
    return results(dy[places], np.asarray(dy[~visited].sum(), dy.dtype))


host_op(
    "sparse_fill_empty_rows_grad",
    "SparseFillEmptyRowsGrad(reverse_index_map: i64, grad_values: T; T: type) -> d_values: T,"
    " d_default_value: T",
    _fill_rows_grad,
    infer=lambda c: [c.dims(0), ()],
    aliases=("RaggedFillEmptyRowsGrad",),
)


def _fill_ragged_rows(inputs: Sequence[Any], dtypes: Sequence[DType]) -> list[Array]:
    """Fills rows that have no value, of values that are given with the numbers of their rows."""
    rows, values, count, default = inputs
    if np.ndim(values) != 1 or np.shape(rows) != np.shape(values):
        raise InvalidArgumentError(
            f"values must be a vector, and there must be a row for each: found {np.shape(values)}"
            f" and {np.shape(rows)}"
        )
    wanted = [*dtypes]
    found = _fill_rows([rows[:, None], values, np.array([count]), default], wanted)
    return [np.ascontiguousarray(found[0][:, 0]), *found[1:]]


def _infer_fill_ragged(c: Inference) -> list[Dims]:
    for i, what in enumerate(("value_rowids", "values")):
        c.need_rank(i, 1, f"{what} must be a vector, saw: {c.inputs[i]}")
    c.need_rank(3, 0, f"default_value must be a scalar, saw: {c.inputs[3]}")
    rows, given = c.dims(0)[0], c.dims(1)[0]
    c.equal(
        given,
        rows,
        f"The length of `values` ({given}) must match the first dimension of `value_rowids` "
        f"({rows}).",
    )
    count = c.fresh("n")
    return [(count,), (count,), (c.need_size(2),), c.dims(0)]


host_op(
    "ragged_fill_empty_rows",
    "RaggedFillEmptyRows(value_rowids: i64, values: T, nrows: i64, default_value: T; T: type) ->"
    " output_value_rowids: i64, output_values: T, empty_row_indicator: bool,"
    " reverse_index_map: i64",
    _fill_ragged_rows,
    infer=_infer_fill_ragged,
    gradient=_fill_rows_gradient,
)
