"""Sparse matrices: what TensorFlow's CSRSparseMatrix ops hold in variants.

In: dense and sparse tensors of rank 2, or of rank 3 for a batch. Out: the same again, products and
sums. Invariant: a `SparseMatrix` has its elements row by row, so that it is a sparse tensor in
order, and every op is written with those of sparse and dense tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import product
from flowc.ir.extraction import Bound, Extractor, SparseMatrix
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.sparse.matrix_gradients import MATRIX_GRADIENTS
from flowc.ops.state.variables import value_of

_NUMBER = "{f32, f64, c64, c128}"
_REAL = "{f32, f64}"
_ZERO, _ONE = np.int32(0), np.int32(1)


# -- parts of a matrix


def _matrix(x: Extractor, bound: Bound, dtype: DType | None = None) -> SparseMatrix:
    if not isinstance(bound, SparseMatrix):
        raise InvalidArgumentError("the input is no sparse matrix", node=x.name)
    found = bound.elements[1].type.dtype
    if dtype is not None and found is not dtype:
        raise InvalidArgumentError(
            f"dtype of the sparse matrix's values is {found}, expected {dtype}", node=x.name
        )
    return bound


def _made(x: Extractor, places: Value, values: Value, shape: Value) -> SparseMatrix:
    """A sparse matrix of tensors, which may come from an untrusted model: indices are checked where
    they are used."""
    if (len(places.dims), len(values.dims), len(shape.dims)) != (2, 1, 1):
        raise InvalidArgumentError(
            "a sparse matrix is made of indices that are a matrix, values and a shape that are "
            f"vectors: found {places.type}, {values.type} and {shape.type}",
            node=x.name,
        )
    (rank,) = shape.dims
    if rank not in (2, 3):
        raise InvalidArgumentError(f"sparse tensor must have rank 2 or 3, not {rank}", node=x.name)
    kept, own = places.dims
    if own != rank or (isinstance(kept, int) and kept != values.dims[0] and values.type.is_static):
        raise InvalidArgumentError(
            f"indices {places.type} do not fit {values.dims[0]} values of rank {rank}", node=x.name
        )
    x.b.require_equal(kept, values.dims[0])
    return SparseMatrix((places, values, shape))


def _dims(x: Extractor, matrix: SparseMatrix) -> Dims:
    shape = matrix.elements[2]
    return x.b.emit(op_named("fill"), (shape, x.b.const(np.zeros((), bool))), {}).output.dims


def _axis(x: Extractor, places: Value, axis: int) -> Value:
    """Where elements are along an axis: i64[kept]."""
    return x.b.gather(places, np.int32(axis), _ONE)


def _dense(x: Extractor, matrix: SparseMatrix) -> Value:
    places, values, shape = matrix.elements
    zero = x.b.const(np.zeros((), values.type.dtype.numpy), values.type.dtype)
    return x.b.sparse_to_dense(places, shape, values, zero)


def _at_places(x: Extractor, places: Value, dense: Value) -> SparseMatrix:
    return _made(x, places, x.b.gather_nd(dense, places), x.b.sizes(dense.dims, dtypes.i64))


def _transposed(x: Extractor, matrix: SparseMatrix, conjugate: bool) -> SparseMatrix:
    """The transposed matrix, whose elements are in order again."""
    places, values, shape = matrix.elements
    rank = places.dims[-1]
    assert isinstance(rank, int)
    swap = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)
    shape = x.b.gather(shape, swap, _ZERO)
    places, values = x.b.sparse_reorder(x.b.gather(places, swap, _ONE), values, shape)
    return SparseMatrix((places, _conjugated(x, values, conjugate), shape))


def _conjugated(x: Extractor, value: Value, conjugate: bool) -> Value:
    return x.b.conj(value) if conjugate and value.type.dtype.is_complex else value


def _transposed_dense(x: Extractor, value: Value, conjugate: bool) -> Value:
    rank = len(value.dims)
    swap = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)
    return _conjugated(x, x.b.transpose(value, swap), conjugate)


# -- made of tensors, and read


def _of_dense(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    dense, places = (value_of(x, bound) for bound in inputs)
    return [_at_places(x, places, dense)]


def _of_sparse(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    places, values, shape = (value_of(x, bound) for bound in inputs)
    return [_made(x, places, values, shape)]


def _zeros(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [_empty(x, value_of(x, inputs[0]), attrs["type"])]


def _empty(x: Extractor, shape: Value, dtype: DType) -> SparseMatrix:
    rank = shape.dims[0] if len(shape.dims) == 1 else None
    if not isinstance(rank, int) or rank not in (2, 3):
        raise InvalidArgumentError(
            f"a sparse matrix has 2 or 3 dims, found a shape of {shape.type}", node=x.name
        )
    places = x.b.const(np.zeros((0, rank), np.int64))
    return _made(x, places, x.b.const(np.zeros(0, dtype.numpy), dtype), shape)


def _to_dense(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [_dense(x, _matrix(x, inputs[0], attrs["type"]))]


def _to_sparse(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return _matrix(x, inputs[0], attrs["type"]).elements


def _components(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """The CSR components of one matrix of the batch: where its rows begin, the columns and the
    values."""
    matrix = _matrix(x, inputs[0], attrs["type"])
    places, values, _ = matrix.elements
    dims = _dims(x, matrix)
    index = value_of(x, inputs[1])
    count = x.b.scalar_size(dims[0] if len(dims) == 3 else 1, dtypes.i32)
    known = x.b.logical_and(x.b.greater_equal(index, np.int32(0)), x.b.less(index, count))
    x.b.check(known, message="there is no matrix of this index in the batch")
    x.effect(x.b.nodes[-1])
    if len(dims) == 3:
        own = x.b.equal(_axis(x, places, 0), x.b.cast(index, DstT=dtypes.i64))
        kept = x.b.reshape(x.b.where(own), (-1,))
        places, values = (x.b.gather(v, kept, _ZERO) for v in (places, values))
    rows, columns = (_axis(x, places, axis) for axis in (-2 + len(dims), -1 + len(dims)))
    count = x.b.scalar_size(dims[-2] + 1, dtypes.i64)
    begins = x.b.range(np.int64(0), count, np.int64(1))
    found = x.b.lower_bound(x.b.expand_dims(rows, _ZERO), x.b.expand_dims(begins, _ZERO))
    return [x.b.reshape(found, begins.dims), x.b.cast(columns, DstT=dtypes.i32), values]


def _count(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    matrix = _matrix(x, inputs[0])
    places, values, _ = matrix.elements
    dims = _dims(x, matrix)
    if len(dims) == 2:
        return [x.b.scalar_size(values.dims[0])]
    ones = x.b.broadcast_to(x.b.const(np.int32(1)), x.b.sizes(values.dims))
    return [x.b.unsorted_segment_sum(ones, _axis(x, places, 0), x.b.scalar_size(dims[0]))]


# -- computed


def _transpose(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return [_transposed(x, _matrix(x, inputs[0], attrs["type"]), attrs["conjugate"])]


def _add(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    factors = [value_of(x, bound) for bound in inputs[2:]]
    dtype = factors[0].type.dtype
    scaled: list[SparseMatrix] = []
    for bound, factor in zip(inputs[:2], factors):
        places, values, shape = _matrix(x, bound, dtype).elements
        scaled.append(SparseMatrix((places, x.b.mul(values, factor), shape)))
    return [_sum(x, *scaled)]


def _sum(x: Extractor, first: SparseMatrix, second: SparseMatrix) -> SparseMatrix:
    dtype = first.elements[1].type.dtype
    real = {dtypes.c64: np.float32, dtypes.c128: np.float64}.get(dtype, dtype.numpy)
    kept = x.b.const(np.zeros((), real))
    return _made(x, *x.b.sparse_add(*first.elements, *second.elements, kept))


def sum_of_matrices(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """AddN of sparse matrices, which gradients of one that is used twice take."""
    dtype = _matrix(x, inputs[0]).elements[1].type.dtype
    return [reduce(partial(_sum, x), [_matrix(x, bound, dtype) for bound in inputs])]


def zeros_like_matrix(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """ZerosLike: of the same sizes, without elements."""
    _, values, shape = _matrix(x, inputs[0]).elements
    return [_empty(x, shape, values.type.dtype)]


def conjugate_matrix(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """Conj, which TensorFlow's gradients have of every matrix; real ones stay as they are."""
    places, values, shape = _matrix(x, inputs[0]).elements
    return [SparseMatrix((places, _conjugated(x, values, conjugate=True), shape))]


def _scale(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """By one number, or by one for each matrix of the batch."""
    places, values, shape = _matrix(x, inputs[0]).elements
    factor = value_of(x, inputs[1])
    if factor.dims:
        numbers = x.b.reshape(factor, (-1,))
        if factor.dims[1:] != (1, 1):
            raise InvalidArgumentError(
                f"b must be a scalar or a [batch, 1, 1] tensor, not {factor.type}", node=x.name
            )
        factor = x.b.gather(numbers, _axis(x, places, 0), _ZERO)
    return [SparseMatrix((places, x.b.mul(values, factor), shape))]


def _times_dense(x: Extractor, matrix: SparseMatrix, right: Value) -> Value:
    """The product with a dense matrix, or of batches: then they are blocks of larger matrices."""
    places, values, shape = matrix.elements
    dims = _dims(x, matrix)
    if len(dims) == 2:
        return x.b.sparse_tensor_dense_mat_mul(places, values, shape, right)
    batch, rows, inner = dims
    columns = right.dims[-1]
    block = _axis(x, places, 0)
    flat: list[Value] = []
    for axis, size in ((1, rows), (2, inner)):
        start = x.b.mul(block, x.b.scalar_size(size, dtypes.i64))
        flat.append(x.b.add(start, _axis(x, places, axis)))
    whole = x.b.sizes((batch * rows, batch * inner), dtypes.i64)
    stacked = x.b.reshape(right, (right.dims[0] * right.dims[1], columns))
    found = x.b.sparse_tensor_dense_mat_mul(x.b.pack(*flat, axis=1), values, whole, stacked)
    return x.b.reshape(found, (batch, rows, columns))


def _given(x: Extractor, matrix: SparseMatrix, attrs: Attrs, side: str) -> SparseMatrix:
    """An operand as its attrs say."""
    adjoint = attrs[f"adjoint_{side}"]
    if adjoint and attrs[f"transpose_{side}"]:
        raise InvalidArgumentError(
            f"Only one of adjoint_{side} and transpose_{side} may be true", node=x.name
        )
    return _transposed(x, matrix, adjoint) if adjoint or attrs[f"transpose_{side}"] else matrix


def _check_inner(x: Extractor, left: Dims, right: Dims) -> None:
    if len(left) != len(right):
        raise InvalidArgumentError(
            f"a and b must have the same rank, not {len(left)} and {len(right)}", node=x.name
        )
    for one, other in zip((*left[:-2], left[-1]), (*right[:-2], right[-2])):
        if isinstance(one, int) and isinstance(other, int) and one != other:
            raise InvalidArgumentError(
                f"Inner dimensions of matrix product do not agree: {list(left)} and {list(right)}",
                node=x.name,
            )
        x.b.require_equal(one, other)


def _product(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    right = value_of(x, inputs[1])
    matrix = _given(x, _matrix(x, inputs[0], right.type.dtype), attrs, "a")
    if attrs["adjoint_b"] or attrs["transpose_b"]:
        right = _transposed_dense(x, right, attrs["adjoint_b"])
    _check_inner(x, _dims(x, matrix), right.dims)
    found = _times_dense(x, matrix, right)
    if attrs["transpose_output"]:
        found = _transposed_dense(x, found, conjugate=False)
    return [_conjugated(x, found, attrs["conjugate_output"])]


def _sparse_product(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """An element is kept where any two that are kept meet, whatever their products add up to."""
    left, right = (
        _given(x, _matrix(x, bound, attrs["type"]), attrs, side)
        for bound, side in zip(inputs, ("a", "b"))
    )
    _check_inner(x, _dims(x, left), _dims(x, right))
    met = _times_dense(x, _marked(x, left), _dense(x, _marked(x, right)))
    return [_at_places(x, x.b.where(met), _times_dense(x, left, _dense(x, right)))]


def _marked(x: Extractor, matrix: SparseMatrix) -> SparseMatrix:
    places, values, shape = matrix.elements
    ones = x.b.broadcast_to(x.b.const(np.float32(1)), x.b.sizes(values.dims))
    return SparseMatrix((places, ones, shape))


def _softmax(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    places, values, shape = _matrix(x, inputs[0], attrs["type"]).elements
    return [SparseMatrix((places, x.b.sparse_softmax(places, values, shape), shape))]


def _softmax_change(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """(dy - the sum of dy y over the row) y, at the places of y."""
    matrix, change = (_matrix(x, bound, attrs["type"]) for bound in inputs)
    places, values, shape = matrix.elements
    dims = _dims(x, matrix)
    dy = x.b.gather_nd(_dense(x, change), places)
    row = _axis(x, places, len(dims) - 2)
    if len(dims) == 3:
        start = x.b.mul(_axis(x, places, 0), x.b.scalar_size(dims[1], dtypes.i64))
        row = x.b.add(start, row)
    products = x.b.mul(dy, values)
    sums = x.b.unsorted_segment_sum(products, row, x.b.scalar_size(product(dims[:-1])))
    change_of = x.b.mul(x.b.sub(dy, x.b.gather(sums, row, _ZERO)), values)
    return [SparseMatrix((places, change_of, shape))]


# -- records


def _infer_matrix(c: Inference) -> Dims:
    return ()


def _known_when_extracted(c: Inference) -> list[Dims]:
    raise NeedsContent("sparse matrices have shapes when a graph is extracted", node=c.node_name)


_SIDES = "transpose_a: bool = False, transpose_b: bool = False, adjoint_a: bool = False,"
_Emit = Callable[[Extractor, Sequence[Bound], Attrs], Sequence[Bound]]
_RECORDS: tuple[tuple[str, _Emit, str], ...] = (
    (
        "csr_of_dense",
        _of_dense,
        f"DenseToCSRSparseMatrix(dense_input: T, indices: i64; T: {_NUMBER})"
        " -> sparse_output: variant",
    ),
    (
        "csr_of_sparse",
        _of_sparse,
        "SparseTensorToCSRSparseMatrix(indices: i64, values: T, dense_shape: i64;"
        f" T: {_NUMBER}) -> sparse_matrix: variant",
    ),
    (
        "csr_zeros",
        _zeros,
        f"SparseMatrixZeros(dense_shape: i64; type: {_NUMBER}) -> sparse_matrix: variant",
    ),
    (
        "csr_to_dense",
        _to_dense,
        f"CSRSparseMatrixToDense(sparse_input: variant; type: {_NUMBER}) -> dense_output: type",
    ),
    (
        "csr_to_sparse",
        _to_sparse,
        f"CSRSparseMatrixToSparseTensor(sparse_matrix: variant; type: {_NUMBER})"
        " -> indices: i64, values: type, dense_shape: i64",
    ),
    (
        "csr_components",
        _components,
        f"CSRSparseMatrixComponents(csr_sparse_matrix: variant, index: i32; type: {_NUMBER})"
        " -> row_ptrs: i32, col_inds: i32, values: type",
    ),
    ("csr_nnz", _count, "SparseMatrixNNZ(sparse_matrix: variant) -> nnz: i32"),
    (
        "csr_transpose",
        _transpose,
        f"SparseMatrixTranspose(input: variant; conjugate: bool = False, type: {_NUMBER})"
        " -> output: variant",
    ),
    (
        "csr_add",
        _add,
        f"SparseMatrixAdd(a: variant, b: variant, alpha: T, beta: T; T: {_NUMBER}) -> c: variant",
    ),
    ("csr_mul", _scale, "SparseMatrixMul(a: variant, b: T; T: type) -> output: variant"),
    (
        "csr_mat_mul",
        _product,
        f"SparseMatrixMatMul(a: variant, b: T; T: type, {_SIDES} adjoint_b: bool = False,"
        " transpose_output: bool = False, conjugate_output: bool = False) -> output: T",
    ),
    (
        "csr_sparse_mat_mul",
        _sparse_product,
        f"SparseMatrixSparseMatMul(a: variant, b: variant; type: {_NUMBER}, {_SIDES}"
        " adjoint_b: bool = False) -> c: variant",
    ),
    (
        "csr_softmax",
        _softmax,
        f"SparseMatrixSoftmax(logits: variant; type: {_REAL}) -> softmax: variant",
    ),
    (
        "csr_softmax_grad",
        _softmax_change,
        f"SparseMatrixSoftmaxGrad(softmax: variant, grad_softmax: variant; type: {_REAL})"
        " -> gradient: variant",
    ),
)
for _name, _emit, _signature in _RECORDS:
    _infer: Any = _infer_matrix if _signature.endswith("variant") else _known_when_extracted
    define(
        _name,
        _signature,
        infer=_infer,
        lowering=Extracted(_emit),
        gradient=MATRIX_GRADIENTS.get(_name),
    )
