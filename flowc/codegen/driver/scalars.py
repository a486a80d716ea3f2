"""Scalar arithmetic that the driver computes itself: counters, conditions, powers of factors.

In: a cluster all of whose values have one element, as the statements of a nest without loops. Out:
LLVM values in the driver, where a kernel would cost a call and a compilation. Only what needs no
library and cannot fault is taken: integers, bools, and sums, differences, products and comparisons
of f32 and f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.kernels.cluster import ClusterLowering
from flowc.codegen.kernels.nest import Apply, Expression, If, Let, Literal, Load, Name, Statement
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Elementwise
from flowc_runtime.native.writer import I1, I8

_FLOATS = {dtypes.f32: ir.FloatType(), dtypes.f64: ir.DoubleType()}
_SIGNS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
# What an op is in LLVM: a method of its builder, by the kind of the operands.
_METHODS: Mapping[str, Mapping[str, str]] = {
    "float": {"add": "fadd", "sub": "fsub", "mul": "fmul", "neg": "fneg"},
    "int": {
        "add": "add", "sub": "sub", "mul": "mul", "neg": "neg", "bitwise_and": "and_",
        "bitwise_or": "or_", "bitwise_xor": "xor", "bitwise_not": "not_",
    },
    "bool": {"logical_and": "and_", "logical_or": "or_", "logical_not": "not_"},
}  # fmt: skip
_EXTREMA = {"max": ">", "min": "<", "max_select": ">", "min_select": "<"}
_QUOTIENTS = ("floordiv", "floormod", "truncdiv", "truncmod")


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
    """Writes statements of a nest as LLVM IR. All that it lacks raises `NotDirect`. `inputs`: what
    the buffers that are read hold."""

    def __init__(self, b: Any, inputs: Mapping[str, _Scalar]) -> None:
        self.b = b
        self.inputs = inputs
        self.names: dict[str, _Scalar] = {}

    def block(self, body: Sequence[Statement]) -> None:
        for statement in body:
            match statement:
                case Let(name, value):
                    self.names[name] = self.scalar(value)
                case If(condition=condition) if self.scalar(condition).known is False:
                    pass
                case _:
                    raise NotDirect

    def scalar(self, x: Expression) -> _Scalar:
        match x:
            case Name(name):
                return self.names[name]
            case Literal(text, dtype):
                return _constant(text == "True" if dtype is dtypes.bool_ else text, dtype)
            case Load(buffer=buffer, condition=None):
                return self.inputs[buffer]
            case Apply(op, operands, dtype):
                return self._applied(op, [self.scalar(o) for o in operands], dtype)
            case _:
                raise NotDirect

    def _applied(self, op: str, x: list[_Scalar], dtype: DType) -> _Scalar:
        register_type(dtype)
        if op == "select":
            return self._select(*x)
        if op in _SIGNS:
            return self._compared(op, x)
        if op == "cast":
            return self._cast(x[0], dtype)
        if op == "logical_not" and x[0].known is not None:
            return _constant(not x[0].known, dtype)
        values, kind = [s.value for s in x], x[0].dtype.kind.removeprefix("u")
        if kind == "int" and op in _EXTREMA:
            compare = self._integer_compare(x[0].dtype)
            return _Scalar(self.b.select(compare(_EXTREMA[op], *values), *values), dtype)
        if kind == "int" and op in _QUOTIENTS:
            return _Scalar(self._quotient(op, *x), dtype)
        method = _METHODS.get(kind, {}).get(op)
        if method is None:
            raise NotDirect
        return _Scalar(getattr(self.b, method)(*values), dtype)

    def _integer_compare(self, dtype: DType) -> Callable[..., ir.Value]:
        return self.b.icmp_signed if dtype.kind == "int" else self.b.icmp_unsigned

    def _compared(self, op: str, x: list[_Scalar]) -> _Scalar:
        if all(s.known is not None for s in x) and op in ("eq", "ne"):
            return _constant((x[0].known == x[1].known) == (op == "eq"), dtypes.bool_)
        if x[0].dtype in _FLOATS:
            compare = self.b.fcmp_unordered if op == "ne" else self.b.fcmp_ordered
        else:
            compare = self._integer_compare(x[0].dtype)
        return _Scalar(compare(_SIGNS[op], *(s.value for s in x)), dtypes.bool_)

    def _quotient(self, op: str, top: _Scalar, bottom: _Scalar) -> ir.Value:
        """By a positive constant, which neither faults nor overflows."""
        b, signed = self.b, top.dtype.kind == "int"
        if bottom.known is None or bottom.known <= 0:
            raise NotDirect
        divide, rest_of = (b.sdiv, b.srem) if signed else (b.udiv, b.urem)
        quotient, rest = divide(top.value, bottom.value), rest_of(top.value, bottom.value)
        if signed and op.startswith("floor"):
            kind = cast(Any, top.value).type
            below = b.icmp_signed("<", rest, ir.Constant(kind, 0))
            quotient = b.select(below, b.sub(quotient, ir.Constant(kind, 1)), quotient)
            rest = b.select(below, b.add(rest, bottom.value), rest)
        return quotient if op.endswith("div") else rest

    def _cast(self, x: _Scalar, dtype: DType) -> _Scalar:
        """Between integers; floats have ranges to look at."""
        kind = register_type(dtype)
        if x.dtype in _FLOATS or dtype in _FLOATS:
            raise NotDirect
        wide, narrow = cast(Any, kind).width, cast(Any, x.value).type.width
        if wide < narrow:
            return _Scalar(self.b.trunc(x.value, kind), dtype)
        if wide == narrow:
            return _Scalar(x.value, dtype, x.known)
        extend = self.b.sext if x.dtype.kind == "int" else self.b.zext
        return _Scalar(extend(x.value, kind), dtype)

    def _select(self, condition: _Scalar, x: _Scalar, y: _Scalar) -> _Scalar:
        if condition.known is not None:
            return x if condition.known else y
        return _Scalar(self.b.select(condition.value, x.value, y.value), x.dtype)


def _constant(number: Any, dtype: DType) -> _Scalar:
    if dtype in _FLOATS:
        number = float(number)
        if not math.isfinite(number):
            raise NotDirect
    elif dtype.is_integer:
        # As a signed number of its width, which is what NumPy's conversion wraps to.
        number = int(number)
    return _Scalar(ir.Constant(register_type(dtype), number), dtype, number)


def emit_direct(b: Any, node: Node, load: Callable[[Value], ir.Value]) -> list[ir.Value]:
    """The outputs of a cluster in memory's form (bools as bytes). `load` gives its inputs so.

    Raises `NotDirect` when the cluster needs a kernel.
    """
    body: Computation = node.attrs["body"]
    inner = [n for n in body.nodes if n.op.name not in ("parameter", "const")]
    if node.attrs["kind"] != "loop" or not all(isinstance(n.lowering, Elementwise) for n in inner):
        raise NotDirect
    if any(v.type.size != 1 for n in body.nodes for v in n.outputs):
        raise NotDirect
    for value in node.inputs:
        register_type(value.type.dtype)
    c = ClusterLowering(body, node.inputs)
    results = [c.element(v, (0,) * v.type.rank) for v in body.results]
    inputs = {
        c.names[p.output]: _loaded(b, load(v), v.type.dtype)
        for p, v in zip(body.parameters, node.inputs)
    }
    direct = _DirectScalars(b, inputs)
    direct.block(c.nest.body)
    return [_stored(b, direct.scalar(x)) for x in results]


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
    """Whether the driver can compute a cluster itself: it is tried out where it gives scalars."""
    if any(v.type.size != 1 for v in node.outputs):
        return False
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), []), "trial")
    b = ir.IRBuilder(function.append_basic_block())
    try:
        emit_direct(b, node, lambda v: ir.Constant(memory_type(v.type.dtype), ir.Undefined))
    except NotDirect:
        return False
    return True
