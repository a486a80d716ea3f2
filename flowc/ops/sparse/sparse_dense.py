"""Sparse tensors with dense ones: products, sums, what stands at the places of the sparse one.

In: places [n, rank], values [n], sizes [rank], and a dense tensor. Out: tensors, of what is written
in other ops. Invariant: a place outside of the dense tensor ends the run.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.sparse.sparse_places import NUMERIC, check_sparse


def _infer_product(c: Inference) -> Dims:
    check_sparse(c, 0, 1, 2)
    c.need_rank(3, 2)
    sizes = c.need_sizes(2)
    if len(sizes) != 2:
        raise c.fail("Tensor 'a_shape' must have 2 elements")
    rows, inner = reversed(sizes) if c.attrs["adjoint_a"] else sizes
    given, columns = reversed(c.dims(3)) if c.attrs["adjoint_b"] else c.dims(3)
    fault = f"Cannot multiply A and B because inner dimension does not match: {inner} vs. {given}."
    c.equal(inner, given, fault)
    return rows, columns


def _check_places(places: Any, shape: tuple[int, ...]) -> None:
    wrong = np.flatnonzero(((places < 0) | (places >= np.array(shape))).any(axis=1))
    if wrong.size:
        raise InvalidArgumentError(
            f"indices[{wrong[0]}] = {places[wrong[0]].tolist()} is out of bounds of {list(shape)}"
        )


def _product(
    a_indices: Any, a_values: Any, a_shape: Any, b: Any, *, adjoint_a: bool, adjoint_b: bool
) -> Any:
    """The product, of the elements that are stored alone: a zero that is not makes no NaN of an
    infinity in b."""
    _check_places(a_indices, tuple(a_shape))
    rows, columns = a_indices.T[::-1] if adjoint_a else a_indices.T
    values, dense = (a_values.conj() if adjoint_a else a_values), (b.conj().T if adjoint_b else b)
    halves = dtypes.as_dtype(a_values.dtype) in (dtypes.f16, dtypes.bf16)
    wide = np.dtype(np.float32) if halves else a_values.dtype
    found = np.zeros((a_shape[1 if adjoint_a else 0], dense.shape[1]), wide)
    np.add.at(found, rows, values.astype(wide)[:, None] * dense.astype(wide)[columns])
    return found.astype(a_values.dtype)


def _build_product(b: Builder, node: Node) -> Value:
    indices, values, _, dense = node.inputs
    if node.attrs["adjoint_b"]:
        dense = b.transpose(dense, (1, 0))
        dense = b.conj(dense) if dense.type.dtype.is_complex else dense
    if node.attrs["adjoint_a"] and values.type.dtype.is_complex:
        values = b.conj(values)
    row, column = (1, 0) if node.attrs["adjoint_a"] else (0, 1)
    rows, columns = (
        b.checked_places(
            b.gather(indices, np.int32(axis), np.int32(1)),
            b.scalar_size(size, dtypes.i64),
            kind=kind,
        )
        for axis, size, kind in (
            (row, node.output.dims[0], f"m of column {row}"),
            (column, dense.dims[0], f"k of column {column}"),
        )
    )
    parts = b.mul(b.reshape(values, (indices.dims[0], 1)), b.gather(dense, columns, np.int32(0)))
    return b.unsorted_segment_sum(parts, rows, b.scalar_size(node.output.dims[0], dtypes.i64))


def _product_gradient(b: Any, node: Node, dy: Any) -> Any:
    indices, values, sizes, dense = node.inputs
    adjoint_a, adjoint_b = node.attrs["adjoint_a"], node.attrs["adjoint_b"]
    to_dense = b.sparse_tensor_dense_mat_mul(
        indices, values, sizes, dy, adjoint_a=not adjoint_a, adjoint_b=False
    )
    swap = np.array([1, 0], np.int32)
    if adjoint_b:
        to_dense = b.transpose(to_dense, swap)
        dense = b.transpose(dense, swap)
    row, column = (1, 0) if adjoint_a else (0, 1)
    rows, columns = (b.gather(indices, np.int32(axis), np.int32(1)) for axis in (row, column))
    axis = np.int32(0)
    parts = b.mul(b.gather(dy, rows, axis), b.gather(dense, columns, axis))
    return None, b.sum(parts, np.array([1], np.int32)), None, to_dense


define(
    "sparse_tensor_dense_mat_mul",
    "SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: i64, b: T; T: NUMBER,"
    " Tindices: {i32, i64} = i64, adjoint_a: bool = False, adjoint_b: bool = False) -> product: T",
    infer=_infer_product,
    lowering=Decompose(_build_product),
    gradient=_product_gradient,
    examples=(
        "i64[3,2]=[0,0,1,1,2,0] f32[3] i64[2]=[3,2] f32[2,4]",
        "i64[3,2]=[0,0,1,1,2,0] f32[3] i64[2]=[3,2] f32[3,4]; adjoint_a=True",
        "i64[3,2]=[0,0,1,1,2,0] f64[3] i64[2]=[3,2] f64[4,2]; adjoint_b=True",
    ),
    reference=_product,
)


def _infer_add(c: Inference) -> Dims:
    check_sparse(c, 0, 1, 2)
    c.match_dims(tuple(c.need_sizes(2)), c.dims(3), "the shapes of both operands must be equal")
    return c.dims(3)


def _add(a_indices: Any, a_values: Any, a_shape: Any, b: Any) -> Any:
    _check_places(a_indices, b.shape)
    found = b.copy()
    np.add.at(found, tuple(a_indices.T), a_values)
    return found


define(
    "sparse_tensor_dense_add",
    "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T; T:"
    f" {NUMERIC}, Tindices: {{i32, i64}}) -> output: T",
    infer=_infer_add,
    reference=_add,
    lowering=Decompose(
        lambda b, node: b.tensor_scatter_add(node.inputs[3], node.inputs[0], node.inputs[1])
    ),
    examples=("i64[3,2]=[0,0,1,1,2,0] f32[3] i64[2]=[3,2] f32[3,2]",),
    gradient=lambda b, node, dy: (None, b.gather_nd(dy, node.inputs[0]), None, dy),
)
