"""XLA's ops that TensorFlow has, too, by another name: marks, Einsum, decompositions.

In: what their OpDefs say; sizes are constants. Out: records. Invariant: the numbers are those of
XLA's operations; hints about placement and precision change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.ir.builder import Builder
from flowc.ir.computation import Node
from flowc.ir.dims import minimum
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.linalg import matrices

Array = np.ndarray[Any, Any]

# -- what passes its input on

for _name, _signature in (
    (
        "xla_sharding",
        'XlaSharding(input: T; T: type, sharding: string = "", unspecified_dims: list(int) = [])'
        " -> output: T",
    ),
    ("xla_cluster_output", "XlaClusterOutput(input: T; T: type) -> outputs: T"),
):
    define(
        _name,
        _signature,
        infer=lambda c: c.dims(0),
        lowering=Decompose(lambda b, node: b.identity(node.inputs[0])),
        reference=lambda x: x,
        gradient=lambda b, node, dy: dy,
        examples=("f32[2,3]", "i32[]"),
    )


# -- products


def _product_op() -> Any:
    return op_named("einsum")


def _infer_product(c: Inference) -> Dims:
    own = Inference(_product_op(), c.inputs, {**c.attrs, "N": 2})
    found = _product_op().infer(own)
    assert isinstance(found, tuple)
    return found


def _product_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    gradient = _product_op().gradient
    assert gradient is not None
    return gradient(b, node, dy)


define(
    "xla_einsum",
    "XlaEinsum(a: T, b: T; equation: string, T: {c64, bf16, f32}) -> product: T",
    infer=_infer_product,
    lowering=Decompose(
        lambda b, node: b.einsum(*node.inputs, equation=node.attrs["equation"])
    ),
    reference=lambda x, y, *, equation: np.einsum(equation, matrices.wide(x), matrices.wide(y))
    .astype(x.dtype),
    gradient=_product_gradient,
    examples=('T[2,3] T[3,4]; equation="ij,jk->ik"',),
)  # fmt: skip


# -- decompositions


def _infer_eig(c: Inference) -> list[Dims]:
    dims = matrices.square_dims(c)
    return [dims[:-1], dims]


def _build_eig(b: Builder, node: Node) -> Any:
    (x,) = node.inputs
    own = x if node.attrs["lower"] else matrices.adjoint(b, x, x.type.rank)
    return b.self_adjoint_eig(own)


def _eig(x: Array, *, lower: bool) -> Any:
    function = op_named("self_adjoint_eig").reference
    assert function is not None
    return function(x if lower else matrices.adjoint_array(x), compute_v=True)


define(
    "xla_self_adjoint_eig",
    "XlaSelfAdjointEig(a: T; lower: bool, max_iter: int, epsilon: float, T: {f32, f64, c64, c128})"
    " -> (w: T, v: T)",
    traits=matrices.RUN,
    infer=_infer_eig,
    lowering=Decompose(_build_eig),
    reference=_eig,
    examples=("f32[2,3,3]; lower=True, max_iter=100, epsilon=1e-6",
              "f64[3,3]; lower=False, max_iter=100, epsilon=1e-6"),
)  # fmt: skip


def _infer_svd(c: Inference) -> list[Dims]:
    if c.rank(0) < 2:
        raise c.fail("expected a matrix or several")
    *batch, m, n = c.dims(0)
    return [(*batch, minimum(m, n)), (*batch, m, m), (*batch, n, n)]


def _svd(x: Array) -> Any:
    function = op_named("svd").reference
    assert function is not None
    return function(x, compute_uv=True, full_matrices=True)


define(
    "xla_svd",
    "XlaSvd(a: T; max_iter: int, epsilon: float, precision_config: string, T: {f32, f64})"
    " -> (s: T, u: T, v: T)",
    traits=matrices.RUN,
    infer=_infer_svd,
    lowering=Decompose(lambda b, node: b.svd(node.inputs[0], full_matrices=True)),
    reference=_svd,
    examples=(
        'T[2,3,3]; max_iter=100, epsilon=1e-14, precision_config=""',
        'f64[4,4]; max_iter=100, epsilon=1e-14, precision_config=""',
    ),
)
