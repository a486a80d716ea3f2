"""Matrices given by their bands: tridiagonal systems and products, banded triangular systems.

In: diagonals [..., bands, n] and right sides [..., n, k]. Out: records with native kernels.
Invariant: elements of a band that stand outside its matrix are not read.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.errors import UnimplementedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.linalg import bands as kernels
from flowc.ops.linalg import matrices
from flowc.ops.linalg.matrices import Array, by_matrix, stack_of, wide

WIDE_TYPES = "{f64, f32, c64, c128}"


# -- tridiagonal systems


def _infer_tridiagonal(c: Inference) -> Dims:
    if c.attrs["perturb_singular"] and not c.attrs["partial_pivoting"]:
        raise c.fail("Setting perturb_singular requires also setting partial_pivoting.")
    matrices.need_matrix(c, 0)
    matrices.need_matrix(c, 1)
    if c.rank(0) != c.rank(1):
        raise c.fail("All input tensors must have the same rank.")
    *batch, bands, n = c.dims(0)
    *others, rows, columns = c.dims(1)
    fault = "All input tensors must have the same outer dimensions."
    outer = tuple(c.equal(x, y, fault) for x, y in zip(batch, others))
    c.equal(
        bands, 3, f"Expected diagonals to be provided as a matrix with 3 rows, got {bands} rows."
    )
    c.equal(
        n,
        rows,
        f"Expected the same number of left-hand sides and right-hand sides, got {n} and {rows}.",
    )
    return (*outer, n, columns)


def _tridiagonal_matrix(bands: Array) -> Array:
    upper, main, lower = bands
    return np.diag(main) + np.diag(upper[:-1], 1) + np.diag(lower[1:], -1)


def _solve_tridiagonal(bands: Array, rhs: Array, **_: Any) -> Array:
    def solved(own: Array, right: Array) -> Array:
        return np.linalg.solve(_tridiagonal_matrix(own), right) if own.size else right

    return by_matrix(solved, bands, rhs).astype(rhs.dtype)


def _tridiagonal_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The transposed system; each diagonal gets what stands on it in -z x^H."""
    bands, x = node.inputs[0], node.output
    z = b.with_attrs_of(node, "tridiagonal_solve", _transposed(b, bands), dy)
    x = b.conj(x) if x.dtype.is_complex else x
    last = np.int32(-1)
    upper = b.sum(b.mul(z, _shifted(b, x, -1)), last)
    main = b.sum(b.mul(z, x), last)
    lower = b.sum(b.mul(z, _shifted(b, x, 1)), last)
    return b.neg(b.pack(upper, main, lower, axis=-2)), z


def _shifted(b: GradientBuilder, x: Any, by: int) -> Any:
    """Rows [..., n, k] moved down by 1, or up by -1; zeros come in."""
    rank = b.rank_of(x)
    pads, begin = np.zeros((rank, 2), np.int32), np.zeros(rank, np.int32)
    pads[-2] = (1, 0) if by > 0 else (0, 1)
    begin[-2] = 0 if by > 0 else 1
    return b.slice(b.pad(x, pads), begin, b.shape_of(x))


def _transposed(b: GradientBuilder, bands: Any) -> Any:
    """The diagonals of the conjugate transpose."""
    bands = b.conj(bands) if bands.dtype.is_complex else bands
    rank = b.rank_of(bands)
    rows: list[Any] = []
    for i in range(3):
        begin, size = np.zeros(rank, np.int32), np.full(rank, -1, np.int32)
        begin[-2], size[-2] = i, 1
        rows.append(b.slice(bands, begin, size))
    order = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)

    def moved(row: Any, by: int) -> Any:
        return b.transpose(_shifted(b, b.transpose(row, order), by), order)

    return b.concat(moved(rows[2], -1), rows[1], moved(rows[0], 1), np.int32(rank - 2))


def _lower_tridiagonal(node: Node) -> Lowering:
    bands, right = node.inputs
    dtype = bands.type.dtype
    n, columns = right.dims[-2:]
    return Native(
        kernels.solve_tridiagonal,
        arguments=(
            n,
            columns,
            int(node.attrs["partial_pivoting"]),
            int(node.attrs["perturb_singular"]),
        ),
        parallel=stack_of(right),
        scratch=(5 * n + 5) * dtype.size,
        constants={"EPSILON": float(np.finfo(dtype.real_dtype.numpy).eps)},
    )


define(
    "tridiagonal_solve",
    "TridiagonalSolve(diagonals: T, rhs: T; partial_pivoting: bool = True,"
    f" perturb_singular: bool = False, T: {WIDE_TYPES}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_tridiagonal,
    lowering=_lower_tridiagonal,
    reference=_solve_tridiagonal,
    gradient=_tridiagonal_gradient,
    examples=(
        "T[2,3,5] T[2,5,2]",
        "f64[3,4]=[[1,1,1,9],[4,5,6,7],[9,1,2,1]] f64[4,3]; partial_pivoting=False",
        "f32[3,1]~positive f32[1,2]",
        "f64[3,3]=[[1,2,0],[3,4,5],[0,1,1]] f64[3,2]; perturb_singular=True",
        "f64[3,9]~positive f64[9,1]",
        "f32[3,0] f32[0,2]",
    ),
)


# -- tridiagonal products


def _infer_product(c: Inference) -> Dims:
    for i in range(4):
        matrices.need_matrix(c, i)
        if c.rank(i) != c.rank(0):
            raise c.fail("All input tensors must have the same rank.")
    *_, m, n = c.dims(3)
    for i, name in enumerate(("superdiagonal", "main diagonal", "subdiagonal")):
        one, length = c.dims(i)[-2:]
        c.equal(one, 1, f"{name} must be a single row")
        c.equal(length, m, f"Invalid {name} shape.")
    fault = "All input tensors must have the same outer dimensions."
    batch = c.dims(0)[:-2]
    for i in range(1, 4):
        batch = tuple(c.equal(x, y, fault) for x, y in zip(batch, c.dims(i)[:-2]))
    return (*batch, m, n)


def _build_product(b: Builder, node: Node) -> Value:
    """The product of a tridiagonal matrix and `x`. Row i of the result is lower[i] x[i-1] + main[i]
    x[i] + upper[i] x[i+1]; lower[0] and the last element of upper are not read."""
    upper, main, lower, x = node.inputs
    rank = x.type.rank

    def column(bands: Value) -> Value:
        return b.reshape(bands, (*bands.dims[:-2], bands.dims[-1], 1))

    def shifted(rows: Value, by: int) -> Value:
        begin, pads = np.zeros(rank, np.int32), np.zeros((rank, 2), np.int32)
        pads[-2] = (1, 0) if by > 0 else (0, 1)
        begin[-2] = 0 if by > 0 else 1
        return b.slice(b.pad(rows, pads), begin, rows.dims)

    above = b.mul(shifted(shifted(column(lower), -1), 1), shifted(x, 1))
    below = b.mul(shifted(shifted(column(upper), 1), -1), shifted(x, -1))
    return b.add(b.add(above, b.mul(column(main), x)), below)


def _product(upper: Array, main: Array, lower: Array, x: Array) -> Array:
    bands = np.concatenate([upper, main, lower], -2)
    both = by_matrix(lambda own, right: _tridiagonal_matrix(own) @ right, bands, x)
    return both.astype(x.dtype)


def _product_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    upper, main, lower, x = node.inputs
    rank = b.rank_of(x)
    own = b.conj(x) if x.dtype.is_complex else x
    order = np.array([*range(rank - 2), rank - 1, rank - 2], np.int32)

    def band(other: Any) -> Any:
        return matrices.as_rows(b, b.sum(b.mul(other, dy), np.int32(-1)))

    def across(bands: Any) -> Any:
        transposed = b.transpose(bands, order)
        return b.conj(transposed) if transposed.dtype.is_complex else transposed

    to_x = b.add(
        b.add(_shifted(b, b.mul(across(upper), dy), 1), b.mul(across(main), dy)),
        _shifted(b, b.mul(across(lower), dy), -1),
    )
    return band(_shifted(b, own, -1)), band(own), band(_shifted(b, own, 1)), to_x


define(
    "tridiagonal_mat_mul",
    "TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T; T: {f64, f32, c64, c128})"
    " -> output: T",
    infer=_infer_product,
    lowering=Decompose(_build_product),
    reference=_product,
    gradient=_product_gradient,
    examples=("T[2,1,4] T[2,1,4] T[2,1,4] T[2,4,3]", "f64[1,1] f64[1,1] f64[1,1] f64[1,2]"),
)


# -- banded triangular systems

NO_BANDS = "Number of bands must be positive"


def _infer_banded(c: Inference) -> Dims:
    matrices.need_matrix(c, 0)
    matrices.need_matrix(c, 1)
    matrix, right = c.dims(0), c.dims(1)
    if isinstance(matrix[-2], int) and matrix[-2] <= 0:
        raise c.fail(NO_BANDS)
    c.equal(matrix[-1], right[-2], matrices.INCOMPATIBLE)
    return (*c.broadcast_dims(matrix[:-2], right[:-2]), *right[-2:])


def _lower_banded(node: Node) -> Lowering:
    matrix, right = node.inputs
    batch = node.output.dims[:-2]
    if (matrix.dims[:-2], right.dims[:-2]) != (batch, batch):
        return Decompose(_build_broadcast)
    return Native(
        kernels.solve_banded,
        arguments=(
            matrix.dims[-2],
            *right.dims[-2:],
            int(node.attrs["lower"]),
            int(node.attrs["adjoint"]),
        ),
        parallel=stack_of(right),
        errors=("Input matrix is not invertible.", NO_BANDS),
    )


def _build_broadcast(b: Builder, node: Node) -> Value:
    batch = node.output.dims[:-2]
    wanted = [b.broadcast_to(v, (*batch, *v.dims[-2:])) for v in node.inputs]
    return b.banded_triangular_solve(*wanted, **node.attrs)


def _banded_matrix(bands: Array, lower: bool) -> Array:
    k, n = bands.shape
    full = np.zeros((n, n), bands.dtype)
    for i in range(k):
        away = i if lower else k - 1 - i
        for j in range(n):
            row, column = (j, j - away) if lower else (j, j + away)
            if 0 <= column < n:
                full[row, column] = bands[i, j]
    return full


def _solve_banded(bands: Array, rhs: Array, *, lower: bool, adjoint: bool) -> Array:
    def solved(own: Array, right: Array) -> Array:
        full = _banded_matrix(own, lower)
        return np.linalg.solve(np.conj(full.T) if adjoint else full, right)

    batch = np.broadcast_shapes(bands.shape[:-2], rhs.shape[:-2])
    own = np.broadcast_to(wide(bands), (*batch, *bands.shape[-2:]))
    right = np.broadcast_to(wide(rhs), (*batch, *rhs.shape[-2:]))
    return by_matrix(solved, own, right).astype(rhs.dtype)


def _banded_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """Band i gets the products of elements that stand as far from each other as it says."""
    bands, right = node.inputs
    lower, adjoint = node.attrs["lower"], node.attrs["adjoint"]
    dims = b.dims_of(bands)
    count = None if dims is None else dims[-2]
    if not isinstance(count, int):
        raise UnimplementedError(
            "the gradient of BandedTriangularSolve needs a known number of bands", node=node.name
        )
    z = b.banded_triangular_solve(bands, dy, lower=lower, adjoint=not adjoint)
    rows, columns = (node.output, z) if adjoint else (z, node.output)
    columns = b.conj(columns) if columns.dtype.is_complex else columns
    found: list[Any] = []
    for i in range(count):
        away = i if lower else count - 1 - i
        moved = columns
        for _ in range(away):
            moved = _shifted(b, moved, 1 if lower else -1)
        found.append(b.neg(b.sum(b.mul(rows, moved), np.int32(-1))))
    return b.sum_to_shape_of(b.pack(*found, axis=-2), bands), b.sum_to_shape_of(z, right)


define(
    "banded_triangular_solve",
    "BandedTriangularSolve(matrix: T, rhs: T; lower: bool = True, adjoint: bool = False,"
    f" T: {matrices.FLOATS}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_banded,
    lowering=_lower_banded,
    reference=_solve_banded,
    gradient=_banded_gradient,
    examples=(
        "T[2,2,4]~positive T[2,4,3]",
        "f64[3,4]~positive f64[4,2]; lower=False",
        "f64[3,4]~positive f64[4,2]; adjoint=True",
        "f64[2,5]~positive f64[5,2]; lower=False, adjoint=True",
        "f64[2,1,3,4]~positive f64[3,4,1]",
    ),
)


# -- products of vectors


def _infer_cross(c: Inference) -> Dims:
    if c.rank(0) < 1:
        raise c.fail("Input must be at least 1D")
    shapes = f"{shown_dims(c.dims(0))} vs. {shown_dims(c.dims(1))}"
    c.match_dims(c.dims(0), c.dims(1), f"Both inputs must be of same shape: {shapes}")
    c.equal(c.dims(0)[-1], 3, "Cross-products are only defined for 3-element vectors.")
    return c.dims(0)


def _build_cross(b: Builder, node: Node) -> Value:
    x, y = node.inputs
    axis = np.int32(x.type.rank - 1)

    def rolled(v: Value, by: int) -> Value:
        return b.gather(v, b.const(np.array([by % 3, (by + 1) % 3, (by + 2) % 3], np.int32)), axis)

    return b.sub(b.mul(rolled(x, 1), rolled(y, 2)), b.mul(rolled(x, 2), rolled(y, 1)))


def _cross(x: Array, y: Array) -> Array:
    def rolled(v: Array, by: int) -> Array:
        return np.roll(v, -by, -1)

    with np.errstate(all="ignore"):
        both = rolled(x, 1) * rolled(y, 2) - rolled(x, 2) * rolled(y, 1)
    return both.astype(x.dtype)


def _cross_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    x, y = node.inputs
    return b.cross(y, dy), b.cross(dy, x)


define(
    "cross",
    "Cross(a: T, b: T; T: REAL) -> product: T",
    infer=_infer_cross,
    lowering=Decompose(_build_cross),
    reference=_cross,
    gradient=_cross_gradient,
    examples=("T[2,3]~small T[2,3]~small", "f64[3] f64[3]", "f32[0,3] f32[0,3]"),
)
