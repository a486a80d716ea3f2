"""Expands ops that are written in terms of others: the first half of lowering.

In: any Computation. Out: one whose nodes are elementwise, views, reductions, products,
convolutions, native kernels and structure, each of which `lower` writes as one core op. f16
and bf16 around products and native kernels are widened to f32, complex products become real ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc import dtypes
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution, Decompose, MatMul, Native
from flowc.ir.op import op_named
from flowc.ir.rewrite import rewrite_nodes
from flowc.options import Options

_NARROW = (dtypes.f16, dtypes.bf16)
ROUND_LIMIT = 32


def decompose(c: Computation, options: Options) -> Computation:
    """Sweeps until no rule fires: what an op expands to may expand again."""
    for _ in range(ROUND_LIMIT):
        changed = rewrite_nodes(c, _expand)
        if changed is c:
            return c
        c = changed
    raise InternalError(f"ops still expand after {ROUND_LIMIT} rounds")


def _expand(b: Builder, node: Node) -> Value | Sequence[Value] | None:
    match node.lowering:
        case Decompose(build):
            return build(b, node)
        case Native(moves=True):
            return None
        case Native() | MatMul() | Convolution() if _is_narrow(node):
            return _widened(b, node)
        case Convolution(transposed=True, groups=groups) if (
            groups != 1 or node.inputs[1].constant is None
        ):
            return _plain_convolution(b, node)
        case MatMul() if node.output.type.dtype.is_complex:
            return _complex_product(b, node)
        case MatMul():
            return _whole_batches(b, node)
        case _:
            return None


def _is_narrow(node: Node) -> bool:
    return any(v.type.dtype in _NARROW for v in (*node.inputs, *node.outputs))


def _widened(b: Builder, node: Node) -> list[Value]:
    """The op on f32, its results rounded once."""
    inputs = [b.cast(v, DstT=dtypes.f32) if v.type.dtype in _NARROW else v for v in node.inputs]
    attrs = {n: dtypes.f32 if v in _NARROW else v for n, v in node.attrs.items()}
    wide = b.emit(node.op, inputs, attrs)
    return [
        b.cast(w, DstT=v.type.dtype) if w.type.dtype is not v.type.dtype else w
        for v, w in zip(node.outputs, wide.outputs)
    ]


def _plain_convolution(b: Builder, node: Node) -> Value:
    """A transposed convolution as a plain one of the input with zeros put between its pixels.

    What the kernel for transposed convolutions does not take: groups, and weights of the run.
    """
    lowering = node.lowering
    assert isinstance(lowering, Convolution)
    x, weights = node.inputs
    *window, per_group, outputs = weights.dims
    groups, rank = lowering.groups, len(lowering.strides)
    spread = b.insert_zeros(x, strides=lowering.strides) if set(lowering.strides) != {1} else x
    flipped = b.reverse(weights, np.arange(rank, dtype=np.int32))
    split = b.reshape(flipped, (*window, per_group, groups, outputs // groups))
    order = np.array([*range(rank), rank + 2, rank + 1, rank], np.int32)
    turned = b.reshape(b.transpose(split, order), (*window, outputs // groups, groups * per_group))
    pads: list[tuple[Dim, Dim]] = []
    for axis in range(rank):
        reach = lowering.dilations[axis] * (window[axis] - 1)
        before = reach - lowering.pad[axis][0]
        after = node.output.dims[1 + axis] - spread.dims[1 + axis] - before + reach
        pads.append((before, after))
    attrs = {
        "strides": (1,) * rank,
        "dilations": lowering.dilations,
        "pad": tuple(pads),
        "groups": groups,
        "result": node.output.dims,
        "dtype": node.output.type.dtype,
        "label": node.op.name,
    }
    return b.emit(op_named("convolution"), (spread, turned), attrs).output


def _complex_product(b: Builder, node: Node) -> Value:
    """(a + bi)(c + di) as four real products."""
    x, y = node.inputs
    xr, xi = b.real(x, Tout=x.type.dtype.real_dtype), b.imag(x, Tout=x.type.dtype.real_dtype)
    yr, yi = b.real(y, Tout=y.type.dtype.real_dtype), b.imag(y, Tout=y.type.dtype.real_dtype)

    def times(left: Value, right: Value) -> Value:
        return b.emit(node.op, (left, right), node.attrs).output

    real = b.sub(times(xr, yr), times(xi, yi))
    imag = b.add(times(xr, yi), times(xi, yr))
    return b.complex(real, imag, Tout=node.output.type.dtype)


def _whole_batches(b: Builder, node: Node) -> Value | None:
    """Operands whose leading dims broadcast in part are repeated in full."""
    leading = node.output.dims[:-2]
    inputs: list[Value] = []
    for v in node.inputs:
        own = v.dims[:-2]
        partial = own != leading and any(d != 1 for d in own)
        inputs.append(b.broadcast_to(v, (*leading, *v.dims[-2:])) if partial else v)
    if tuple(inputs) == node.inputs:
        return None
    return b.emit(node.op, inputs, node.attrs).output
