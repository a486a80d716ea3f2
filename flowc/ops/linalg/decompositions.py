"""Decompositions of matrices into orthogonal ones: QR, singular values, self-adjoint eigenvalues.

In: stacks of matrices. Out: records with native kernels. Invariants: Q and R are those of LAPACK's
reflections; singular and eigenvalues are computed in f64 and c128. Vectors that are not wanted are
vectors of no elements.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Lowering, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels.linalg import orthogonal as kernels
from flowc.ops.linalg import matrices
from flowc.ops.linalg.matrices import Array, adjoint_of, stack_of, times, wide

# -- QR


def _infer_qr(c: Inference) -> list[Dims]:
    matrices.need_matrix(c, 0)
    *batch, m, n = c.dims(0)
    columns = m if c.attrs["full_matrices"] else minimum(m, n)
    return [(*batch, m, columns), (*batch, columns, n)]


def _lower_qr(node: Node) -> Lowering:
    x = node.inputs[0]
    m, n = x.dims[-2:]
    return Native(
        kernels.qr,
        arguments=(m, n, node.outputs[0].dims[-1]),
        parallel=stack_of(x),
        scratch=(m * n + 3 * (m + n) + 1) * max(x.type.dtype.size, 4),
    )


def _qr(x: Array, *, full_matrices: bool) -> list[Array]:
    found = np.linalg.qr(wide(x), "complete" if full_matrices else "reduced")
    return [a.astype(x.dtype) for a in found]


def _qr_gradient(b: GradientBuilder, node: Forward, dq: Any, dr: Any) -> Any:
    """Walter and Lehmann, 2018. Of square or tall matrices with the reduced Q, or square ones; of
    wide ones by the square matrix at their left."""
    q, r = node.outputs
    m, n = _known_sizes(b, node)
    if m >= n and (m == n or not node.attrs["full_matrices"]):
        return _tall_qr_gradient(b, q, r, dq, dr)
    if m > n:
        raise UnimplementedError(
            "the gradient of Qr is not known for full_matrices of tall matrices", node=node.name
        )
    x = node.inputs[0]
    rest, flow = _columns(b, x, m, n), _columns(b, dr, m, n)
    square = _tall_qr_gradient(
        b, q, _columns(b, r, 0, m), b.add(dq, times(b, rest, flow, adj_y=True)),
        _columns(b, dr, 0, m),
    )  # fmt: skip
    return b.concat(square, times(b, q, flow), np.int32(b.rank_of(x) - 1))


def _tall_qr_gradient(b: GradientBuilder, q: Any, r: Any, dq: Any, dr: Any) -> Any:
    inner = b.sub(times(b, r, dr, adj_y=True), times(b, dq, q, adj_x=True))
    strict = matrices.lower_part(b, inner)
    middle = matrices.diagonal(b, inner)
    # The diagonal counts half; of a complex one the imaginary part goes another way.
    half = b.mul(b.const(0.5, middle.dtype), matrices.real_part(b, middle))
    strict = matrices.with_diagonal(b, strict, half)
    both = b.add(strict, adjoint_of(b, strict))
    found = b.add(dq, times(b, q, both))
    return adjoint_of(b, b.matrix_triangular_solve(r, adjoint_of(b, found), lower=False))


def _known_sizes(b: GradientBuilder, node: Forward) -> tuple[int, int]:
    dims = b.dims_of(node.inputs[0])
    sizes = [d for d in (dims or ())[-2:] if isinstance(d, int)]
    if len(sizes) < 2:
        raise UnimplementedError(
            f"the gradient of {node.op.tf_name} needs known sizes", node=node.name
        )
    return sizes[0], sizes[1]


def _columns(b: GradientBuilder, x: Any, start: int, stop: int) -> Any:
    lead = b.rank_of(x) - 1
    begin, size = np.zeros(lead + 1, np.int32), np.full(lead + 1, -1, np.int32)
    begin[-1], size[-1] = start, stop - start
    return b.slice(x, begin, size)


define(
    "qr",
    f"Qr(input: T; full_matrices: bool = False, T: {matrices.FLOATS}) -> (q: T, r: T)",
    traits=matrices.RUN,
    infer=_infer_qr,
    lowering=_lower_qr,
    reference=_qr,
    gradient=_qr_gradient,
    examples=(
        "T[2,4,3]",
        "f64[3,5]",
        "f64[4,4]",
        "f32[2,5,3]; full_matrices=True",
        "f32[3,0]",
        "f32[0,3]; full_matrices=True",
    ),
)


# -- singular values


def _infer_svd(c: Inference) -> list[Dims]:
    matrices.need_matrix(c, 0)
    *batch, m, n = c.dims(0)
    if not c.attrs["compute_uv"]:
        return [(*batch, minimum(m, n)), (0,), (0,)]
    k = minimum(m, n)
    if c.attrs["full_matrices"]:
        return [(*batch, k), (*batch, m, m), (*batch, n, n)]
    return [(*batch, k), (*batch, m, k), (*batch, n, k)]


def _lower_svd(node: Node) -> Lowering:
    x = node.inputs[0]
    if x.type.dtype in matrices.WIDER:
        return Decompose(matrices.computed_wide(list(matrices.WIDER), _wide(node), "svd"))
    m, n = x.dims[-2:]
    _, u, v = node.outputs
    both = m * n + m * m + n * n + 4 * (m + n) + 1
    return Native(
        kernels.svd,
        arguments=(m, n, u.dims[-1], v.dims[-1], int(node.attrs["compute_uv"])),
        parallel=stack_of(x),
        scratch=(2 * both) * 16,
        constants=kernels.CONSTANTS,
    )


def _wide(node: Node) -> DType:
    return matrices.WIDER[node.inputs[0].type.dtype]


def phases_to_positive(vectors: Array) -> Array:
    """What to multiply columns with, so that their largest elements are real and positive."""
    size = np.abs(vectors)
    if not size.size:
        return np.ones_like(vectors[..., :1, :])
    best = np.argmax(size > size.max(-2, keepdims=True) * (1 - 1e-9), -2, keepdims=True)
    own = np.take_along_axis(vectors, best, -2)
    return np.conj(own) / np.abs(own)


def _svd(x: Array, *, compute_uv: bool, full_matrices: bool) -> list[Array]:
    u, s, vh = np.linalg.svd(wide(x), full_matrices=full_matrices)
    v = matrices.adjoint_array(vh)
    k = s.shape[-1]
    phase = phases_to_positive(v if x.shape[-2] >= x.shape[-1] else u)
    u[..., :k] *= phase
    v[..., :k] *= phase
    nothing = np.zeros(0)
    found = [s, u, v] if compute_uv else [s, nothing, nothing]
    return [a.astype(x.dtype) for a in found]


def _svd_gradient(b: GradientBuilder, node: Forward, ds: Any, du: Any, dv: Any) -> Any:
    """Giles, 2008; Wan and Zhang, 2019, for complex matrices. `full_matrices` only of square ones
    or ones with one more row or column, as the rest of the vectors is not determined."""
    x = node.inputs[0]
    ds = matrices.real_part(b, ds)
    if not node.attrs["compute_uv"]:
        s, u, v = b.svd(x, compute_uv=True)
        return times(b, u, b.mul(matrices.as_columns(b, ds), adjoint_of(b, v)))
    m, n = _known_sizes(b, node)
    if node.attrs["full_matrices"] and abs(m - n) > 1:
        raise UnimplementedError(
            "the gradient of Svd with full_matrices needs matrices that are nearly square",
            node=node.name,
        )
    s, u, v = node.outputs
    k = min(m, n)
    u, v, du, dv = (_columns(b, w, 0, k) for w in (u, v, du, dv))
    squares = b.mul(s, s)
    gaps = b.sub(matrices.as_rows(b, squares), matrices.as_columns(b, squares))
    inverse_gaps = b.div_no_nan(b.ones_like(gaps), gaps)
    inverse = b.div_no_nan(b.ones_like(s), s)
    rows, columns = matrices.as_rows(b, s), matrices.as_columns(b, s)

    def skew(w: Any, dw: Any) -> Any:
        inner = times(b, w, dw, adj_x=True)
        return b.mul(inverse_gaps, b.sub(inner, adjoint_of(b, inner)))

    core = b.add(b.mul(skew(u, du), rows), b.mul(columns, skew(v, dv)))
    core = matrices.with_diagonal(b, core, b.add(matrices.diagonal(b, core), ds))
    if x.dtype.is_complex:
        own = matrices.diagonal(b, times(b, u, du, adj_x=True))
        turn = b.sub(own, b.conj(own))
        turn = b.mul(b.mul(b.const(0.5, x.dtype), inverse), turn)
        core = matrices.with_diagonal(b, core, b.add(matrices.diagonal(b, core), turn))
    found = times(b, times(b, u, core), v, adj_y=True)
    if m > k:
        outer = b.mul(du, matrices.as_rows(b, inverse))
        outer = b.sub(outer, times(b, u, times(b, u, outer, adj_x=True)))
        found = b.add(found, times(b, outer, v, adj_y=True))
    if n > k:
        outer = b.mul(dv, matrices.as_rows(b, inverse))
        outer = b.sub(outer, times(b, v, times(b, v, outer, adj_x=True)))
        found = b.add(found, times(b, u, outer, adj_y=True))
    return found


define(
    "svd",
    f"Svd(input: T; compute_uv: bool = True, full_matrices: bool = False, T: {matrices.FLOATS})"
    " -> (s: T, u: T, v: T)",
    traits=matrices.RUN,
    infer=_infer_svd,
    lowering=_lower_svd,
    reference=_svd,
    gradient=_svd_gradient,
    examples=("T[2,4,3]; compute_uv=False", "f32[3,5]; compute_uv=False", "f64[4,4]"),
    aliases=("BatchSvd",),
)


# -- self-adjoint matrices


def _infer_eig(c: Inference) -> list[Dims]:
    dims = matrices.square_dims(c)
    return [dims[:-1], dims if c.attrs["compute_v"] else (0,)]


FAILED = "Self-adjoint eigen decomposition was not successful. The input might not be valid."


def _lower_self_adjoint(node: Node) -> Lowering:
    x = node.inputs[0]
    if x.type.dtype in matrices.WIDER:
        narrow = list(matrices.WIDER)
        return Decompose(matrices.computed_wide(narrow, _wide(node), "self_adjoint_eig"))
    n = x.dims[-1]
    return Native(
        kernels.self_adjoint_eig,
        arguments=(n, int(node.attrs["compute_v"])),
        parallel=stack_of(x),
        scratch=(2 * n * n + 8 * n + 1) * 16,
        errors=(FAILED,),
        constants=kernels.CONSTANTS,
    )


def _self_adjoint(x: Array, *, compute_v: bool) -> list[Array]:
    lower = np.tril(wide(x))
    values, vectors = np.linalg.eigh(lower + matrices.adjoint_array(np.tril(lower, -1)))
    found = vectors * phases_to_positive(vectors)
    return [values.astype(x.dtype), (found if compute_v else np.zeros(0)).astype(x.dtype)]


def _self_adjoint_gradient(b: GradientBuilder, node: Forward, de: Any, dv: Any) -> Any:
    """The gradient of SelfAdjointEigV2. Only the lower triangle is read, so it gets the gradients
    of both triangles."""
    x = node.inputs[0]
    de = matrices.real_part(b, de)
    if node.attrs["compute_v"]:
        e, v = node.outputs
        gaps = b.sub(matrices.as_rows(b, e), matrices.as_columns(b, e))
        inner = b.mul(b.div_no_nan(b.ones_like(gaps), gaps), times(b, v, dv, adj_x=True))
        inner = matrices.with_diagonal(b, inner, de)
        found = times(b, v, times(b, inner, v, adj_y=True))
    else:
        _, v = b.self_adjoint_eig(x)
        found = times(b, v, b.mul(matrices.as_columns(b, de), adjoint_of(b, v)))
    both = matrices.lower_part(b, b.add(found, adjoint_of(b, found)))
    half = b.mul(b.const(0.5, x.dtype), matrices.diagonal(b, both))
    return matrices.with_diagonal(b, both, half)


define(
    "self_adjoint_eig",
    f"SelfAdjointEigV2(input: T; compute_v: bool = True, T: {matrices.FLOATS}) -> (e: T, v: T)",
    traits=matrices.RUN,
    infer=_infer_eig,
    lowering=_lower_self_adjoint,
    reference=_self_adjoint,
    gradient=_self_adjoint_gradient,
    examples=("T[2,4,4]", "T[3,3]; compute_v=False", "f64[21,21]", "f32[0,2,2]", "f64[1,1]"),
    aliases=("BatchSelfAdjointEigV2",),
)


def _build_stacked(b: Builder, node: Node) -> Value:
    e, v = b.self_adjoint_eig(node.inputs[0])
    axis = np.int32(node.inputs[0].type.rank - 2)
    return b.concat(b.expand_dims(e, np.int32(-2)), v, axis)


def _infer_stacked(c: Inference) -> Dims:
    *batch, n, _ = matrices.square_dims(c)
    return (*batch, n + 1, n)


def _stacked(x: Array) -> Array:
    e, v = _self_adjoint(x, compute_v=True)
    return np.concatenate([e[..., None, :], v], -2)


define(
    "self_adjoint_eig_v1",
    "SelfAdjointEig(input: T; T: {f64, f32, f16}) -> output: T",
    traits=matrices.RUN,
    infer=_infer_stacked,
    lowering=Decompose(_build_stacked),
    reference=_stacked,
    examples=("T[2,3,3]",),
    aliases=("BatchSelfAdjointEig",),
)
