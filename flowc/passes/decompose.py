"""Expands ops that are written in terms of others: the first half of lowering.

In: any Computation. Out: one whose nodes are elementwise, views, reductions, products,
convolutions, native kernels and structure, each of which `lower` writes as one core op. f16
and bf16 around products and native kernels are widened to f32, complex products become real ones.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim
from flowc.ir.lowering import Convolution, Decompose, MatMul, Native
from flowc.ir.op import op_named
from flowc.ir.pattern import Match, Pattern, Rewrite, apply_rewrites
from flowc.options import Options

_NARROW = (dtypes.f16, dtypes.bf16)


def decompose(c: Computation, options: Options) -> Computation:
    """What an op expands to may expand again."""
    return apply_rewrites(c, RULES, ordered=True)


def _expanded(m: Match) -> Value | Sequence[Value]:
    assert isinstance(m.node.lowering, Decompose)
    return m.node.lowering.build(m.b, m.node)


def _is_narrow(m: Match) -> bool:
    lowering = m.node.lowering
    held = (*m.node.inputs, *m.node.outputs)
    moves = isinstance(lowering, Native) and lowering.moves
    return not moves and any(v.type.dtype in _NARROW for v in held)


def _widened(m: Match) -> list[Value]:
    """The op on f32, its results rounded once."""
    b, node = m.b, m.node
    inputs = [b.cast(v, DstT=dtypes.f32) if v.type.dtype in _NARROW else v for v in node.inputs]
    attrs = {n: dtypes.f32 if v in _NARROW else v for n, v in node.attrs.items()}
    wide = b.emit(node.op, inputs, attrs)
    return [
        b.cast(w, DstT=v.type.dtype) if w.type.dtype is not v.type.dtype else w
        for v, w in zip(node.outputs, wide.outputs)
    ]


def _is_general(m: Match) -> bool:
    """Whether the kernel for transposed convolutions does not take one: groups, and weights of the
    run."""
    lowering = m.node.lowering
    assert isinstance(lowering, Convolution)
    return lowering.transposed and (lowering.groups != 1 or m.node.inputs[1].constant is None)


def _plain_convolution(m: Match) -> Value:
    """A transposed convolution as a plain one of the input with zeros put between its pixels."""
    b, node = m.b, m.node
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


def _is_complex(m: Match) -> bool:
    return m.node.output.type.dtype.is_complex


def _real_products(m: Match) -> Value:
    """(a + bi)(c + di) as four real products."""
    b, node = m.b, m.node
    x, y = node.inputs
    xr, xi = b.real(x, Tout=x.type.dtype.real_dtype), b.imag(x, Tout=x.type.dtype.real_dtype)
    yr, yi = b.real(y, Tout=y.type.dtype.real_dtype), b.imag(y, Tout=y.type.dtype.real_dtype)

    def times(left: Value, right: Value) -> Value:
        return b.emit(node.op, (left, right), node.attrs).output

    real = b.sub(times(xr, yr), times(xi, yi))
    imag = b.add(times(xr, yi), times(xi, yr))
    return b.complex(real, imag, Tout=node.output.type.dtype)


def _whole_batches(m: Match) -> Value | None:
    """Operands whose leading dims broadcast in part are repeated in full."""
    leading = m.node.output.dims[:-2]
    inputs: list[Value] = []
    for v in m.node.inputs:
        own = v.dims[:-2]
        partial = own != leading and any(d != 1 for d in own)
        inputs.append(m.b.broadcast_to(v, (*leading, *v.dims[-2:])) if partial else v)
    if tuple(inputs) == m.node.inputs:
        return None
    return m.b.emit(m.node.op, inputs, m.node.attrs).output


KERNEL = Pattern(lowerings=(Native, MatMul, Convolution))
CONVOLUTION = Pattern(lowerings=(Convolution,))
PRODUCT = Pattern(lowerings=(MatMul,))

RULES = (
    Rewrite("expand_composed", Pattern(lowerings=(Decompose,)), _expanded),
    Rewrite("widen_halves", KERNEL, _widened, _is_narrow),
    Rewrite("plain_convolution", CONVOLUTION, _plain_convolution, _is_general),
    Rewrite("split_complex_product", PRODUCT, _real_products, _is_complex),
    Rewrite("repeat_batches", PRODUCT, _whole_batches),
)
