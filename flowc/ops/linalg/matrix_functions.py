"""Eigenvalues of any matrix, and functions of matrices: square roots, logarithms, exponentials.

In: stacks of square matrices. Out: records, native in c128. Invariant: where no eigenvalues are
found the run fails; a function that is not defined for a matrix gives NaN.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.linalg import exponential as exponentials
from flowc.ops.kernels.linalg import schur as kernels
from flowc.ops.linalg import matrices
from flowc.ops.linalg.decompositions import phases_to_positive
from flowc.ops.linalg.matrices import Array, by_matrix, stack_of, times, wide

# -- eigenvalues


def _infer_eig(c: Inference) -> list[Dims]:
    dims = matrices.square_dims(c)
    kind, found = c.inputs[0].dtype, c.attrs.get("Tout")
    if found is not None and found.real_dtype is not kind.real_dtype:
        raise c.fail(f"Invalid output dtype {found} of a matrix of {kind}")
    return [dims[:-1], dims if c.attrs["compute_v"] else (0,)]


def _eigen(x: Array) -> tuple[Any, Any]:
    values, vectors = np.linalg.eig(x)
    return values, vectors


def _eig(x: Array, *, compute_v: bool, Tout: DType) -> list[Array]:
    values, vectors = _eigen(wide(x))
    order = np.lexsort((values.imag, values.real), axis=-1)
    values = np.take_along_axis(values, order, -1)
    vectors = np.take_along_axis(vectors, order[..., None, :], -1)
    found = vectors * phases_to_positive(vectors) if compute_v else np.zeros(0)
    return [values.astype(Tout.numpy), found.astype(Tout.numpy)]


def _complex_eig(x: Array, *, compute_v: bool) -> list[Array]:
    return _eig(x, compute_v=compute_v, Tout=dtypes.c128)


complex_eig = define(
    "complex_eig",
    "_ComplexEig(input: c128; compute_v: bool = True) -> (e: c128, v: c128)",
    traits=matrices.RUN,
    infer=_infer_eig,
    lowering=lambda node: Native(
        kernels.eig,
        arguments=(node.inputs[0].dims[-1], int(node.attrs["compute_v"])),
        parallel=stack_of(node.inputs[0]),
        scratch=_work(node, 2),
        errors=("Eigen decomposition was not successful. The input might not be valid.",),
        constants=kernels.CONSTANTS,
    ),
    reference=_complex_eig,
    examples=("c128[2,3,3]", "c128[17,17]", "c128[2,0,0]", "c128[4,4]; compute_v=False"),
)


def _work(node: Node, squares: int) -> Any:
    n = node.inputs[0].dims[-1]
    return (squares * n * n + 4 * n + 1) * 16


def _build_eig(b: Builder, node: Node) -> list[Value]:
    x = b.cast(node.inputs[0], DstT=dtypes.c128)
    found = b.complex_eig(x, compute_v=node.attrs["compute_v"])
    return [b.cast(v, DstT=node.attrs["Tout"]) for v in found]


def _eig_gradient(b: GradientBuilder, node: Forward, de: Any, dv: Any) -> Any:
    """Boeddeker and others, 2019. Of a real matrix: the real part."""
    x = node.inputs[0]
    e, v = node.outputs if node.attrs["compute_v"] else b.eig(x, Tout=node.attrs["Tout"])
    core = b.mul(matrices.as_columns(b, de), b.matrix_diag_v1(b.ones_like(de)))
    if node.attrs["compute_v"]:
        gaps = b.sub(matrices.as_rows(b, e), matrices.as_columns(b, e))
        inverse = b.conj(b.div_no_nan(b.ones_like(gaps), gaps))
        inner = times(b, v, dv, adj_x=True)
        own = times(b, v, v, adj_x=True)
        scale = matrices.real_part(b, matrices.diagonal(b, inner))
        removed = b.sub(inner, b.mul(own, matrices.as_rows(b, scale)))
        core = b.add(core, b.mul(inverse, removed))
    found = b.matrix_solve(v, times(b, core, v, adj_y=True), adjoint=True)
    if x.dtype.is_complex:
        return b.cast(found, DstT=x.dtype) if found.dtype is not x.dtype else found
    real = b.real(found, Tout=found.dtype.real_dtype)
    return b.cast(real, DstT=x.dtype) if real.dtype is not x.dtype else real


define(
    "eig",
    "Eig(input: T; compute_v: bool = True, T: {f32, f64, c64, c128}, Tout: COMPLEX) -> (e: Tout,"
    " v: Tout)",
    traits=matrices.RUN,
    infer=_infer_eig,
    lowering=Decompose(_build_eig),
    reference=_eig,
    gradient=_eig_gradient,
    examples=(
        "f32[2,2,2]=[[[1,2],[3,4]],[[2,0.5],[1,-3]]]; Tout=c64",
        "f64[3,3]=[[1,2,0],[0.5,4,1],[0,2,-3]]; Tout=c128",
        "c64[4,4]; Tout=c64, compute_v=False",
        "c128[5,5]; Tout=c128",
    ),
)


# -- functions


def _principal_root(x: Array) -> Array:
    """By eigenvalues, which examples have all different."""
    values, vectors = _eigen(x.astype(np.complex128))
    found = vectors @ np.diag(np.sqrt(values)) @ np.linalg.inv(vectors)
    if x.dtype.kind == "c":
        return found
    lost = bool(np.any((values.real < 0) & (np.abs(values.imag) <= -1e-13 * values.real)))
    return np.full(x.shape, np.nan) if lost else found.real


def _principal_logarithm(x: Array) -> Array:
    values, vectors = _eigen(x)
    return vectors @ np.diag(np.log(values)) @ np.linalg.inv(vectors)


def _logarithm_by_quadrature(x: Array, points: Array, weights: Array) -> Array:
    """By inverse scaling and squaring: roots are taken until x is near one, where a Gauss rule of
    few points is exact to rounding."""
    factor, one = 1.0, np.eye(len(x))
    while np.abs(x - one).max() * len(x) >= 0.25:
        x, factor = _principal_root(x), factor * 2
    own = x - one
    terms = (w * own @ np.linalg.inv(one + u * own) for u, w in zip(points, weights))
    return factor * np.sum(list(terms), 0)


complex_square_root = define(
    "complex_square_root",
    "_ComplexSquareRoot(input: c128; real: bool) -> output: c128",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=lambda node: Native(
        kernels.square_root,
        arguments=(node.inputs[0].dims[-1], int(node.attrs["real"])),
        parallel=stack_of(node.inputs[0]),
        scratch=_work(node, 2),
        constants=kernels.CONSTANTS,
    ),
    reference=lambda x, *, real: by_matrix(_principal_root, x).astype(x.dtype),
    examples=("c128[2,3,3]~regular; real=False",),
)


def _build_square_root(b: Builder, node: Node) -> Value:
    (x,) = node.inputs
    dtype = x.type.dtype
    real = not dtype.is_complex
    wide_x = x if dtype is dtypes.c128 else b.cast(x, DstT=dtypes.c128)
    found = b.complex_square_root(wide_x, real=real)
    if real:
        found = b.real(found, Tout=dtypes.f64)
    return found if found.type.dtype is dtype else b.cast(found, DstT=dtype)


def _square_root_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The Sylvester equation S^T X + X S^T = dy (not conjugated, as in TensorFlow), by the
    eigenvectors of S^T = V E V^-1."""
    root = node.output
    kind = root.dtype if root.dtype.is_complex else _COMPLEX_OF[root.dtype]
    rank = b.rank_of(root)
    across = b.transpose(root, np.array([*range(rank - 2), rank - 1, rank - 2], np.int32))
    e, v = b.eig(across, Tout=kind)
    flow = b.cast(dy, DstT=kind) if dy.dtype is not kind else dy
    inner = times(b, b.matrix_solve(v, flow), v)
    sums = b.add(matrices.as_columns(b, e), matrices.as_rows(b, e))
    inner = b.real_div(inner, sums)
    left = times(b, v, inner)
    found = matrices.adjoint_of(b, b.matrix_solve(v, matrices.adjoint_of(b, left), adjoint=True))
    if root.dtype.is_complex:
        return found
    real = b.real(found, Tout=kind.real_dtype)
    return b.cast(real, DstT=root.dtype) if real.dtype is not root.dtype else real


_COMPLEX_OF = {dtypes.f16: dtypes.c64, dtypes.f32: dtypes.c64, dtypes.f64: dtypes.c128}

define(
    "matrix_square_root",
    f"MatrixSquareRoot(input: T; T: {matrices.FLOATS}) -> output: T",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=Decompose(_build_square_root),
    reference=lambda x: by_matrix(_principal_root, x).astype(x.dtype),
    gradient=_square_root_gradient,
    examples=("T[2,3,3]~regular", "f64[6,6]~definite"),
)


complex_logarithm = define(
    "complex_logarithm",
    "_ComplexLogarithm(input: c128, points: f64, weights: f64) -> output: c128",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=lambda node: Native(
        kernels.logarithm,
        arguments=(node.inputs[0].dims[-1], node.inputs[1].dims[0]),
        parallel=stack_of(node.inputs[0]),
        scratch=_work(node, 3),
        constants=kernels.CONSTANTS,
    ),
    reference=lambda x, points, weights: by_matrix(
        lambda a: _logarithm_by_quadrature(a, points, weights), x
    ),
    examples=(
        "c128[2,2]=[[1.1,0.05],[0.02,0.95]]"
        " f64[2]=[0.2113248654051871,0.7886751345948129] f64[2]=[0.5,0.5]",
    ),
)


def _build_logarithm(b: Builder, node: Node) -> Value:
    (x,) = node.inputs
    points, weights = np.polynomial.legendre.leggauss(kernels.NODES)
    wide_x = x if x.type.dtype is dtypes.c128 else b.cast(x, DstT=dtypes.c128)
    found = b.complex_logarithm(wide_x, b.const((points + 1) / 2), b.const(weights / 2))
    return found if x.type.dtype is dtypes.c128 else b.cast(found, DstT=x.type.dtype)


define(
    "matrix_logarithm",
    "MatrixLogarithm(input: T; T: COMPLEX) -> output: T",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=Decompose(_build_logarithm),
    reference=lambda x: by_matrix(_principal_logarithm, x).astype(x.dtype),
    examples=("T[2,3,3]~regular", "c128[2,2]=[[1,2],[3,4]]", "c128[6,6]~definite"),
)


def _exponential(x: Array) -> Array:
    """By a Taylor series of a small enough matrix."""
    power = max(0, int(np.ceil(np.log2(max(np.abs(x).sum(0).max(initial=0), 1e-300)))) + 4)
    small = x / 2.0**power
    found = term = np.eye(len(x), dtype=x.dtype)
    for k in range(1, 20):
        term = term @ small / k
        found = found + term
    for _ in range(power):
        found = found @ found
    return found


def _lower_exponential(node: Node) -> Lowering:
    x = node.inputs[0]
    if x.type.dtype in matrices.WIDER:
        kind = matrices.WIDER[x.type.dtype]
        return Decompose(matrices.computed_wide(list(matrices.WIDER), kind, "matrix_exponential"))
    return Native(
        exponentials.exponential,
        arguments=(x.dims[-1],),
        parallel=stack_of(x),
        scratch=_work(node, 2),
        constants=exponentials.CONSTANTS,
    )


define(
    "matrix_exponential",
    f"MatrixExponential(input: T; T: {matrices.FLOATS}) -> output: T",
    traits=matrices.RUN,
    infer=matrices.square_dims,
    lowering=_lower_exponential,
    reference=lambda x: by_matrix(_exponential, x).astype(x.dtype),
    examples=("T[2,3,3]~unit", "f64[5,5]~unit", "f32[2,0,0]"),
)
