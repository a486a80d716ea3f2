"""Ops that graphs of TensorFlow's bridge to XLA hold, made of the ops that they stand for.

In: what their OpDefs say; sizes are constants. Out: records. Invariant: the numbers are those of
XLA's operations; hints about placement and precision change nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import as_dim
from flowc.ir.lowering import Decompose
from flowc.ir.op import Inference, define, op_named
from flowc.ir.types import Dims
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


define(
    "xla_einsum",
    "XlaEinsum(a: T, b: T; equation: string, T: {c64, bf16, f32}) -> product: T",
    infer=_infer_product,
    lowering=Decompose(
        lambda b, node: b.einsum(*node.inputs, equation=node.attrs["equation"])
    ),
    reference=lambda x, y, *, equation: np.einsum(equation, matrices.wide(x), matrices.wide(y))
    .astype(x.dtype),
    examples=('T[2,3] T[3,4]; equation="ij,jk->ik"',),
)  # fmt: skip


# -- slices whose start the run knows; it is moved to where the slice fits


def _infer_slice(c: Inference) -> Dims:
    sizes = c.need_sizes(2)
    if len(sizes) != c.rank(0) or c.dims(1) != (len(sizes),):
        raise c.fail("start_indices and size_indices must have one element for each dimension")
    for size, dim in zip(sizes, c.dims(0)):
        if isinstance(size, int) and isinstance(dim, int) and size > dim:
            raise c.fail(f"a slice of {size} elements of a dimension of {dim}")
    return sizes


def _build_slice(b: Builder, node: Node) -> Value:
    x, start, size = node.inputs
    kind = start.type.dtype
    room = tuple(as_dim(d - s) for d, s in zip(x.dims, node.output.dims))
    begin = b.maximum(b.minimum(start, b.sizes(room, kind)), b.const(0, kind))
    return b.slice(x, begin, size)


def _slice(x: Array, start: Array, size: Array) -> Array:
    begin = [min(max(int(a), 0), d - int(s)) for a, s, d in zip(start, size, x.shape)]
    return x[tuple(slice(a, a + int(s)) for a, s in zip(begin, size))]


define(
    "xla_dynamic_slice",
    "XlaDynamicSlice(input: T, start_indices: Tindices, size_indices: Tindices; T: type, Tindices:"
    " INDEX) -> output: T",
    infer=_infer_slice,
    lowering=Decompose(_build_slice),
    reference=_slice,
    examples=("f32[5,6] i32[2]~index7 i32[2]=[2,3]", "i32[4] i64[1]~index4 i64[1]=[2]"),
)


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
