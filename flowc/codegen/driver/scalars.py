"""Scalar arithmetic that the driver computes itself: the counters and conditions of loops.

In: a cluster all of whose values have one element. Out: LLVM values in the driver, where a kernel
would cost a call and a compilation. Only what needs no library and cannot fault is taken: integers,
bools, and sums, differences, products and comparisons of f32 and f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.driver.sizes import I1, I8
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Elementwise
from flowc.ir.scalar import PRIMITIVES

_FLOATS = {dtypes.f32: ir.FloatType(), dtypes.f64: ir.DoubleType()}
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_BITS = {"bitwise_and": "and_", "bitwise_or": "or_", "bitwise_xor": "xor"}
_LOGIC = {"logical_and": "and_", "logical_or": "or_"}


class NotDirect(Exception):
    """A kernel must compute it."""


@dataclass(frozen=True, slots=True)
class _Scalar:
    """`known`: its number, when it is a constant."""

    value: ir.Value
    dtype: DType
    known: Any = None


def register_type(dtype: DType) -> ir.Type:
    """What holds an element outside of memory."""
    if dtype is dtypes.bool_:
        return I1
    if dtype.is_integer:
        return ir.IntType(8 * dtype.size)
    if dtype in _FLOATS:
        return _FLOATS[dtype]
    raise NotDirect


class _DirectScalars:
    """The ScalarBuilder that writes LLVM IR. All that it lacks raises `NotDirect`."""

    def __init__(self, b: Any) -> None:
        self.b = b

    def __getattr__(self, name: str) -> Callable[..., _Scalar]:
        if name not in PRIMITIVES:
            raise NotDirect
        return lambda *operands: self._primitive(name, operands)

    def _primitive(self, name: str, operands: tuple[Any, ...]) -> _Scalar:
        dtype = next(x.dtype for x in operands if isinstance(x, _Scalar))
        x = [o if isinstance(o, _Scalar) else self.const(o, dtype) for o in operands]
        if name in _SIGNS:
            return self._compared(name, x)
        values = [s.value for s in x]
        if dtype is dtypes.bool_:
            return _Scalar(self._logic(name, values), dtype)
        if dtype.is_integer:
            return _Scalar(self._integer(name, x, values), dtype)
        methods = {"add": self.b.fadd, "sub": self.b.fsub, "mul": self.b.fmul, "neg": self.b.fneg}
        if name not in methods:
            raise NotDirect
        return _Scalar(methods[name](*values), dtype)

    def _compared(self, name: str, x: list[_Scalar]) -> _Scalar:
        if all(s.known is not None for s in x) and name in ("eq", "ne"):
            return self.const((x[0].known == x[1].known) == (name == "eq"), dtypes.bool_)
        values, sign = [s.value for s in x], _SIGNS[name]
        if x[0].dtype in _FLOATS:
            compare = self.b.fcmp_unordered if name == "ne" else self.b.fcmp_ordered
        else:
            signed = x[0].dtype.kind == "int"
            compare = self.b.icmp_signed if signed else self.b.icmp_unsigned
        return _Scalar(compare(sign, *values), dtypes.bool_)

    def _logic(self, name: str, values: list[ir.Value]) -> ir.Value:
        if name == "logical_not":
            return self.b.xor(values[0], ir.Constant(I1, 1))
        if name not in _LOGIC:
            raise NotDirect
        return getattr(self.b, _LOGIC[name])(*values)

    def _integer(self, name: str, x: list[_Scalar], values: list[ir.Value]) -> ir.Value:
        b, signed = self.b, x[0].dtype.kind == "int"
        if name in ("add", "sub", "mul", "neg"):
            return getattr(b, name)(*values)
        if name in _BITS:
            return getattr(b, _BITS[name])(*values)
        if name == "bitwise_not":
            return b.not_(*values)
        if name in ("max", "min", "max_select", "min_select"):
            compare = b.icmp_signed if signed else b.icmp_unsigned
            return b.select(compare(">" if name[1] == "a" else "<", *values), *values)
        if name in ("floordiv", "floormod", "truncdiv", "truncmod"):
            return self._quotient(name, x, signed)
        raise NotDirect

    def _quotient(self, name: str, x: list[_Scalar], signed: bool) -> ir.Value:
        """By a positive constant, which neither faults nor overflows."""
        b, (top, bottom) = self.b, x
        if bottom.known is None or bottom.known <= 0:
            raise NotDirect
        divide, rest_of = (b.sdiv, b.srem) if signed else (b.udiv, b.urem)
        quotient, rest = divide(top.value, bottom.value), rest_of(top.value, bottom.value)
        if signed and name.startswith("floor"):
            kind = cast(Any, top.value).type
            below = b.icmp_signed("<", rest, ir.Constant(kind, 0))
            quotient = b.select(below, b.sub(quotient, ir.Constant(kind, 1)), quotient)
            rest = b.select(below, b.add(rest, bottom.value), rest)
        return quotient if name.endswith("div") else rest

    def const(self, value: Any, dtype: DType) -> _Scalar:
        number = value.item() if hasattr(value, "item") else value
        if dtype in _FLOATS:
            number = float(dtype.numpy.type(number))
            if not math.isfinite(number):
                raise NotDirect
        elif dtype.is_integer:
            # As a signed number of its width, which is what NumPy's conversion wraps to.
            number = int(number)
        return _Scalar(ir.Constant(register_type(dtype), number), dtype, number)

    def cast(self, x: _Scalar, dtype: DType) -> _Scalar:
        """Between integers and bools; floats have ranges to look at."""
        kind = register_type(dtype)
        if x.dtype in _FLOATS or dtype in _FLOATS:
            if x.dtype is dtype:
                return x
            raise NotDirect
        if dtype is dtypes.bool_ and x.dtype is not dtypes.bool_:
            zero = ir.Constant(cast(Any, x.value).type, 0)
            return _Scalar(self.b.icmp_unsigned("!=", x.value, zero), dtype)
        wide, narrow = cast(Any, kind).width, cast(Any, x.value).type.width
        if wide < narrow:
            return _Scalar(self.b.trunc(x.value, kind), dtype)
        if wide == narrow:
            return _Scalar(x.value, dtype, x.known)
        extend = self.b.sext if x.dtype.kind == "int" else self.b.zext
        return _Scalar(extend(x.value, kind), dtype)

    def select(self, condition: _Scalar, x: Any, y: Any) -> _Scalar:
        dtype = next(s.dtype for s in (x, y) if isinstance(s, _Scalar))
        a, c = (s if isinstance(s, _Scalar) else self.const(s, dtype) for s in (x, y))
        if condition.known is not None:
            return a if condition.known else c
        return _Scalar(self.b.select(condition.value, a.value, c.value), dtype)

    def check(self, condition: _Scalar, message: str) -> None:
        if not condition.known:
            raise NotDirect


def emit_direct(b: Any, node: Node, load: Callable[[Value], ir.Value]) -> list[ir.Value]:
    """The outputs of a cluster in memory's form (bools as bytes). `load` gives its inputs so.

    Raises `NotDirect` when the cluster needs a kernel.
    """
    if node.attrs["kind"] != "loop":
        raise NotDirect
    body: Computation = node.attrs["body"]
    k = _DirectScalars(b)
    known: dict[Value, _Scalar] = {}
    for parameter, value in zip(body.parameters, node.inputs):
        register_type(value.type.dtype)
        if value.type.size != 1:
            raise NotDirect
        known[parameter.output] = _loaded(b, load(value), value.type.dtype)
    for inner in body.nodes:
        if inner.op.name == "parameter":
            continue
        if any(v.type.size != 1 for v in inner.outputs):
            raise NotDirect
        if inner.op.name == "const":
            dtype = inner.output.type.dtype
            known[inner.output] = k.const(inner.attrs["value"].reshape(-1)[0], dtype)
            continue
        lowering = inner.lowering
        if not isinstance(lowering, Elementwise):
            raise NotDirect
        found = lowering.expr(k, *(known[v] for v in inner.inputs))
        if found.dtype is not inner.output.type.dtype:
            raise NotDirect
        known[inner.output] = found
    return [_stored(b, known[v]) for v in body.results]


def _loaded(b: Any, value: ir.Value, dtype: DType) -> _Scalar:
    if dtype is dtypes.bool_:
        value = b.icmp_unsigned("!=", value, ir.Constant(I8, 0))
    return _Scalar(value, dtype)


def _stored(b: Any, scalar: _Scalar) -> ir.Value:
    return b.zext(scalar.value, I8) if scalar.dtype is dtypes.bool_ else scalar.value


def memory_type(dtype: DType) -> ir.Type:
    """An element in memory."""
    return I8 if dtype is dtypes.bool_ else register_type(dtype)


def is_direct(node: Node) -> bool:
    """Whether the driver can compute a cluster itself: it is tried out."""
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "trial")
    b = ir.IRBuilder(function.append_basic_block())
    try:
        emit_direct(b, node, lambda v: ir.Constant(memory_type(v.type.dtype), ir.Undefined))
    except NotDirect:
        return False
    return True
