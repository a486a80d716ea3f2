"""Writes TensorFlow's ops as core ops, which say in their attrs all that code generation needs.

In: a Computation whose ops lower to scalars, views, reductions, products, convolutions, native
kernels and calls of the host (`decompose` leaves no others). Out: one of core ops and structure.
What a record's function says of one element is recorded as a ScalarBody. Inputs that only told a
lowering something (axes, permutations, known bounds) are in it now, and go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.core_ops import is_core
from flowc.ir.lowering import (
    Convolution,
    Elementwise,
    Host,
    MatMul,
    Native,
    Reduction,
    View,
)
from flowc.ir.op import op_named
from flowc.ir.rewrite import prune_nodes, rewrite_nodes
from flowc.ir.scalar import held_dtype
from flowc.ir.scalar_body import ScalarBody, record_map, record_view
from flowc.ir.text.printing import attrs_left_out
from flowc.options import Options

Parts = tuple[str, Sequence[Value], Mapping[str, Any]]  # a core op, its inputs and attrs


def lower(c: Computation, options: Options) -> Computation:
    bodies = _Bodies()
    lowered = rewrite_nodes(c, lambda b, node: _lower(b, node, bodies))
    return c if lowered is c else prune_nodes(lowered)


class _Bodies:
    """Records scalar bodies: that of a record's function once for inputs of the same dtypes."""

    def __init__(self) -> None:
        self.maps: dict[Any, ScalarBody] = {}

    def map(self, expr: Callable[..., Any], inputs: Iterable[DType]) -> ScalarBody:
        key = (expr, tuple(inputs))
        if key not in self.maps:
            self.maps[key] = record_map(*key)
        return self.maps[key]


def _lower(b: Builder, node: Node, bodies: _Bodies) -> Sequence[Value] | None:
    if is_core(node.op):
        return None
    name, inputs, attrs = _parts(node, bodies)
    op = op_named(name)
    told = attrs_left_out(op, node.types, node.sizes)
    full = {**told, "effects": node.has_effects, "label": node.op.name, **attrs}
    made = Node(op, tuple(inputs), full, node.types, node.after, node.origin, node.sizes)
    return b.append(made).outputs


def _parts(node: Node, bodies: _Bodies) -> Parts:
    match node.lowering:
        case Elementwise(expr):
            body = bodies.map(expr, _dtypes(node))
            kept = body.read
            return "map", _taken(node, kept), {"body": body.with_inputs(kept)}
        case View(read, reshape):
            body = record_view(read, _dtypes(node), node.output.dims)
            kept = (0,) if reshape else body.read  # the bytes of a reshape are those of its input
            attrs = {"body": body.with_inputs(kept), "reshape": reshape}
            return "view", _taken(node, kept), attrs
        case Reduction() as reduction:
            return _reduce(node, reduction, bodies)
        case MatMul() as product:
            return "dot", node.inputs, _fields(product)
        case Convolution() as convolution:
            return "convolution", node.inputs, _fields(convolution)
        case Native() as native:
            return "native", node.inputs, _native_attrs(native)
        case Host(_, _, settings):
            attrs = {"settings": tuple((name, node.attrs[name]) for name in settings)}
            return "host", node.inputs, {"op": node.op.name, "label": "", **attrs}
        case other:
            raise InternalError(f"no core op for {type(other).__name__}: {node!r}", node=node.name)


def _dtypes(node: Node) -> list[Any]:
    return [v.type.dtype for v in node.inputs]


def _fields(lowering: Reduction | MatMul | Convolution | Native) -> dict[str, Any]:
    """What a lowering says: the attrs of its core op have the names of its fields."""
    return {f.name: getattr(lowering, f.name) for f in fields(lowering)}


def _taken(node: Node, kept: Sequence[int]) -> list[Value]:
    return [node.inputs[i] for i in kept]


def _reduce(node: Node, reduction: Reduction, bodies: _Bodies) -> Parts:
    prepare, kept = None, (0,)
    dtype = node.inputs[0].type.dtype
    if reduction.prepare is not None:
        prepare = bodies.map(reduction.prepare, _dtypes(node))
        kept = tuple(sorted({0, *prepare.read}))
        prepare, dtype = prepare.with_inputs(kept), prepare.dtype
    finish: Callable[..., Any] | None = reduction.finish
    if finish is not None:
        finish = bodies.map(finish, [held_dtype(reduction.accumulator or dtype)] * 2)
    axes = tuple(sorted(reduction.axes))
    attrs = _fields(reduction) | {"axes": axes, "prepare": prepare, "finish": finish}
    return "reduce", _taken(node, kept), attrs


def _native_attrs(native: Native) -> dict[str, Any]:
    kernel: Any = native.kernel
    return _fields(native) | {
        "kernel": f"{kernel.__module__}:{kernel.__qualname__}",
        "arguments": tuple(native.arguments),
        "errors": tuple(native.errors),
        "constants": tuple(sorted(native.constants.items())),
        "functions": tuple(native.functions),
    }
