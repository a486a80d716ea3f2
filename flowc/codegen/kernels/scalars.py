"""Scalar expressions and loads as Python source: the kernel side of `flowc.ir.scalar`.

In: calls of the primitives by lowerings. Out: lines of a kernel's source. Invariant: one line is
written for one distinct primitive in a scope; locals are single assignments, so lines may move.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.codegen.kernels.kernel import Fault
from flowc.codegen.kernels.source_writer import LOCAL, SourceWriter
from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.dims import Dim, is_nonnegative, symbol
from flowc.ir.scalar import PRIMITIVES

_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_INTEGER_CALLS = {
    "floordiv": "floordiv",
    "floormod": "floormod",
    "truncdiv": "truncatediv",
    "truncmod": "truncatemod",
    "shift_left": "left_shift",
    "shift_right": "right_shift",
    "popcount": "population_count",
    "pow": "pow",
}
_BITWISE = {"bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^"}
_HALVES = (dtypes.f16, dtypes.bf16)


Condition = tuple[Dim, Dim, Dim]  # (value, low, high): whether low <= value < high


@dataclass(frozen=True, slots=True)
class Scalar:
    """A local (or literal) of the kernel with its dtype; f16 and bf16 are held as f32."""

    text: str
    dtype: DType


class KernelScalars:
    """The ScalarBuilder that writes Python source. `loader(operand, index)` gives elements of the
    current node's inputs; cluster.py sets it for the node that is being lowered. `conditions` are
    the ranges that lines ask for. `guard`: under which condition what is computed will be used, and
    may fail the run."""

    def __init__(self, writer: SourceWriter) -> None:
        self.writer = writer
        self.operand_types: tuple[DType, ...] = ()
        self.conditions: list[Condition] = []
        self.guard: str | None = None
        self.loader: Callable[[int, tuple[Dim, ...]], Scalar] | None = None
        self.guarded_loader: Callable[[str, int, tuple[Dim, ...], Scalar], Scalar] | None = None

    def __getattr__(self, name: str) -> Callable[..., Scalar]:
        if name not in PRIMITIVES:
            raise AttributeError(name)
        primitive = PRIMITIVES[name]

        def call(*operands: Any) -> Scalar:
            assert len(operands) == primitive.operands, f"{name}: {len(operands)} operands"
            return self._primitive(name, self._typed(operands), primitive.result)

        return call

    def _primitive(self, name: str, scalars: tuple[Scalar, ...], result: str) -> Scalar:
        return self.writer.remember((name, scalars), lambda: self._emit(name, scalars, result))

    def _typed(self, operands: tuple[Any, ...]) -> tuple[Scalar, ...]:
        dtype = next((x.dtype for x in operands if isinstance(x, Scalar)), None)
        if dtype is None:
            raise InternalError(f"no operand of {operands} has a dtype")
        typed = tuple(x if isinstance(x, Scalar) else self.const(x, dtype) for x in operands)
        if any(x.dtype is not dtype for x in typed):
            raise InternalError(f"operands have different dtypes: {typed}")
        return typed

    def _emit(self, name: str, x: tuple[Scalar, ...], result: str) -> Scalar:
        dtype = x[0].dtype
        if result == "bool":
            return Scalar(self.writer.local(self._boolean(name, x)), dtypes.bool_)
        out = dtype.real_dtype if result == "real" else dtype
        if dtype.is_floating:
            text = self._float(name, x)
        elif dtype.is_complex:
            text = self._complex(name, x)
        elif dtype is dtypes.bool_:
            raise InternalError(f"{name} does not take bool")
        else:
            text = self._integer(name, x)
        return self._rounded(text, out)

    def _rounded(self, text: str, dtype: DType) -> Scalar:
        """Assigns a local; f16 and bf16 results are rounded to their precision."""
        local = self.writer.local(text)
        if dtype in _HALVES:
            bits = self.writer.call(f"f32_to_{dtype}", local)
            local = self.writer.local(self.writer.call(f"{dtype}_to_f32", bits))
        return Scalar(local, dtype)

    def _boolean(self, name: str, x: tuple[Scalar, ...]) -> str:
        t = [s.text for s in x]
        if name in _COMPARISONS:
            return f"{t[0]} {_COMPARISONS[name]} {t[1]}"
        match name:
            case "logical_and":
                return f"{t[0]} & {t[1]}"
            case "logical_or":
                return f"{t[0]} | {t[1]}"
            case "logical_not":
                return f"{t[0]} == False"
            case "is_nan":
                return f"{t[0]} != {t[0]}"
        kind = held_as(x[0].dtype)
        magnitude = f"abs_{kind}({t[0]})"
        sign = "==" if name == "is_inf" else "<"
        return f"{magnitude} {sign} {kind}(inf)"

    def _float(self, name: str, x: tuple[Scalar, ...]) -> str:
        t = [s.text for s in x]
        kind = held_as(x[0].dtype)
        if name in _OPERATORS:
            return f"{t[0]} {_OPERATORS[name]} {t[1]}"
        match name:
            case "neg":
                return f"-{t[0]}"
            case "abs" | "fma":
                return f"{name}_{kind}({', '.join(t)})"
            case "sign":
                zero = f"{kind}(0)"
                nonzero = f"({kind}(1) if {t[0]} > {zero} else {kind}(-1))"
                return f"{t[0]} if ({t[0]} == {zero}) | ({t[0]} != {t[0]}) else {nonzero}"
            case "max" | "min":
                sign = ">" if name == "max" else "<"
                return f"{t[0]} if ({t[0]} {sign} {t[1]}) | ({t[0]} != {t[0]}) else {t[1]}"
            case "max_select":
                return f"{t[0]} if {t[0]} > {t[1]} else {t[1]}"
            case "min_select":
                return f"{t[0]} if {t[0]} < {t[1]} else {t[1]}"
            case "truncmod":
                name = "truncatemod"
        return self.writer.call(f"{name}_{kind}", *t)

    def _complex(self, name: str, x: tuple[Scalar, ...]) -> str:
        t = [s.text for s in x]
        match name:
            case "add" | "sub":
                return f"{t[0]} {_OPERATORS[name]} {t[1]}"
            case "mul":
                return self._complex_product(x[0], x[1]).text
            case "neg":
                return f"-{t[0]}"
            case "real":
                return f"{t[0]}.real"
            case "imag":
                return f"{t[0]}.imag"
            case "div":
                return self._complex_division(x[0], x[1]).text
        raise InternalError(f"{name} has no complex form: write it from real and imag")

    def _complex_product(self, x: Scalar, y: Scalar) -> Scalar:
        """By parts: Numba's own product is Python that needs typing of the math module."""
        a, b, c, d = self.real(x), self.imag(x), self.real(y), self.imag(y)
        real = self.sub(self.mul(a, c), self.mul(b, d))
        return self.complex(real, self.add(self.mul(a, d), self.mul(b, c)))

    def _complex_division(self, x: Scalar, y: Scalar) -> Scalar:
        """By the conjugate, as Eigen divides complex numbers."""
        a, b, c, d = self.real(x), self.imag(x), self.real(y), self.imag(y)
        norm = self.add(self.mul(c, c), self.mul(d, d))
        real = self.div(self.add(self.mul(a, c), self.mul(b, d)), norm)
        imag = self.div(self.sub(self.mul(b, c), self.mul(a, d)), norm)
        return self.complex(real, imag)

    def _integer(self, name: str, x: tuple[Scalar, ...]) -> str:
        t = [s.text for s in x]
        kind = str(x[0].dtype)
        if name in ("add", "sub", "mul"):
            return f"{kind}({t[0]} {_OPERATORS[name]} {t[1]})"
        if name in _BITWISE:
            return f"{kind}({t[0]} {_BITWISE[name]} {t[1]})"
        if name in _INTEGER_CALLS:
            return self.writer.call(f"{_INTEGER_CALLS[name]}_{kind}", *t)
        signed = x[0].dtype.kind == "int"
        match name:
            case "neg":
                return f"{kind}({kind}(0) - {t[0]})"
            case "abs":
                return f"{kind}(-{t[0]}) if {t[0]} < {kind}(0) else {t[0]}" if signed else t[0]
            case "sign":
                above = f"{kind}(1) if {t[0]} > {kind}(0) else {kind}(0)"
                return f"{kind}(-1) if {t[0]} < {kind}(0) else ({above})" if signed else above
            case "max" | "max_select":
                return f"{t[0]} if {t[0]} > {t[1]} else {t[1]}"
            case "min" | "min_select":
                return f"{t[0]} if {t[0]} < {t[1]} else {t[1]}"
            case "bitwise_not":
                return f"{kind}(~{t[0]})"
        raise InternalError(f"{name} has no form for {kind}")

    # -- conditions, of which some are known

    def logical_and(self, x: Any, y: Any) -> Scalar:
        a, b = self._typed((x, y))
        for one, other in ((a, b), (b, a)):
            if one.text in ("True", "False"):
                return other if one.text == "True" else one
        return self._primitive("logical_and", (a, b), "bool")

    def logical_or(self, x: Any, y: Any) -> Scalar:
        a, b = self._typed((x, y))
        for one, other in ((a, b), (b, a)):
            if one.text in ("True", "False"):
                return one if one.text == "True" else other
        return self._primitive("logical_or", (a, b), "bool")

    def in_range(self, value: Dim, low: Dim, high: Dim) -> Scalar:
        above, below = is_nonnegative(value - low), is_nonnegative(high - 1 - value)
        if above and below:
            return Scalar("True", dtypes.bool_)
        if is_nonnegative(low - 1 - value) or is_nonnegative(value - high):
            return Scalar("False", dtypes.bool_)
        self.conditions.append((value, low, high))
        tests = []
        if not above:
            tests.append(f"({self.writer.index(value)} >= {self.writer.index(low)})")
        if not below:
            tests.append(f"({self.writer.index(value)} < {self.writer.index(high)})")
        key = ("in_range", value, low, high)
        return self.writer.remember(
            key, lambda: Scalar(self.writer.local(" & ".join(tests)), dtypes.bool_)
        )

    # -- what is not in the table

    def const(self, value: Any, dtype: DType) -> Scalar:
        if isinstance(value, Scalar):
            return value
        if dtype is dtypes.bool_:
            return Scalar(str(bool(value)), dtype)
        if dtype.is_complex:
            part = held_as(dtype.real_dtype)
            z = complex(value)
            text = f"{dtype}(complex({_float_text(z.real, part)}, {_float_text(z.imag, part)}))"
            return Scalar(text, dtype)
        if dtype.is_floating:
            rounded = float(np.asarray(value).astype(dtype.numpy))
            return Scalar(_float_text(rounded, held_as(dtype)), dtype)
        if dtype is dtypes.string and value not in (0, b""):
            raise InternalError(f"the text {value!r} inside a kernel")
        return Scalar(f"{held_as(dtype)}({int(value or 0)})", dtype)

    def cast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype is dtype:
            return x
        return self.writer.remember(("cast", x, dtype), lambda: self._cast(x, dtype))

    def _cast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype.is_complex:
            if dtype.is_complex:
                return Scalar(self.writer.local(f"{dtype}({x.text})"), dtype)
            return self.cast(self.real(x), dtype)
        if dtype.is_complex:
            part = self.cast(x, dtype.real_dtype)
            return self.complex(part, self.const(0, dtype.real_dtype))
        if dtype is dtypes.bool_:
            return self.ne(x, self.const(0, x.dtype))
        if x.dtype is dtypes.bool_:
            one, zero = self.const(1, dtype).text, self.const(0, dtype).text
            return Scalar(self.writer.local(f"{one} if {x.text} else {zero}"), dtype)
        if x.dtype.is_floating and dtype.is_integer:
            call = self.writer.call(f"{held_as(x.dtype)}_to_{dtype}", x.text)
            return Scalar(self.writer.local(call), dtype)
        return self._rounded(f"{held_as(dtype)}({x.text})", dtype)

    def bitcast(self, x: Scalar, dtype: DType) -> Scalar:
        if x.dtype.size != dtype.size or dtype.is_complex or x.dtype.is_complex:
            raise InternalError(f"cannot take the bits of {x.dtype} as {dtype}")
        bits = x.text
        if x.dtype in _HALVES:
            bits = self.writer.call(f"f32_to_{x.dtype}", bits)
        if x.dtype is dtypes.bool_ or dtype is dtypes.bool_:
            return self.cast(x, dtype)
        if dtype in _HALVES:
            carried = self.writer.local(f"bits_i16({bits})")
            call = self.writer.call(f"{dtype}_to_f32", carried)
            return Scalar(self.writer.local(call), dtype)
        return Scalar(self.writer.local(f"bits_{dtype}({bits})"), dtype)

    def select(self, condition: Scalar, x: Any, y: Any) -> Scalar:
        a, b = self._typed((x, y))
        if condition.text in ("True", "False"):
            return a if condition.text == "True" else b
        key = ("select", condition, a, b)
        text = f"{a.text} if {condition.text} else {b.text}"
        return self.writer.remember(key, lambda: Scalar(self.writer.local(text), a.dtype))

    def complex(self, real: Any, imag: Any) -> Scalar:
        re, im = self._typed((real, imag))
        dtype = dtypes.c64 if re.dtype is dtypes.f32 else dtypes.c128
        text = f"{dtype}(complex({re.text}, {im.text}))"
        return Scalar(self.writer.local(text), dtype)

    # -- views

    def load(self, operand: int, index: tuple[Dim, ...]) -> Scalar:
        assert self.loader is not None
        return self.loader(operand, index)

    def load_if(
        self, condition: Scalar, operand: int, index: tuple[Dim, ...], otherwise: Any
    ) -> Scalar:
        assert self.guarded_loader is not None
        other = self.const(otherwise, self.operand_types[operand])
        if condition.text in ("True", "False"):
            return self.load(operand, index) if condition.text == "True" else other
        return self.guarded_loader(condition.text, operand, index, other)

    def index_value(self, value: Dim, dtype: DType) -> Scalar:
        text = self.writer.index(value)
        return Scalar(self.writer.local(f"{dtype}({text})"), dtype)

    def as_index(self, x: Scalar, extent: Dim) -> Dim:
        name = self.writer.remember(
            ("as_index", x), lambda: self.writer.local(f"i64({x.text})", "j")
        )
        return symbol(LOCAL + name, extent)

    def checked_index(self, x: Scalar, extent: Dim, message: str) -> Dim:
        key = ("checked", x, extent, message, self.guard)
        name = self.writer.remember(key, lambda: self._checked(x, extent, message))
        return symbol(LOCAL + name, extent)

    def _checked(self, x: Scalar, extent: Dim, message: str) -> str:
        """A local that is a safe index: 0 stands in for one out of range, which fails the run."""
        w = self.writer
        raw = w.local(f"i64({x.text})", "j")
        limit = w.index(extent)
        bad = w.local(f"({raw} < 0) | ({raw} >= {limit})")
        number = self._message(message.replace("{value}", "{a}").replace("{extent}", "{b}"))
        fails = bad if self.guard is None else f"{self.guard} & {bad}"
        with w.block(f"if {fails}:"):
            w.line(f"status[1] = {raw}")
            w.line(f"status[2] = {limit}")
            w.line(f"status[0] = {number}")
        return w.local(f"0 if {bad} else {raw}", "j")

    def check(self, condition: Scalar, message: str) -> None:
        number = self._message(message)
        fails = f"{condition.text} == False"
        if self.guard is not None:
            fails = f"{self.guard} & ({fails})"
        with self.writer.block(f"if {fails}:"):
            self.writer.line(f"status[0] = {number}")

    def _message(self, message: str) -> int:
        fault, faults = Fault(message, self.writer.node), self.writer.faults
        if fault not in faults:
            faults.append(fault)
        return faults.index(fault) + 1


def held_as(dtype: DType) -> str:
    """The type that a dtype's values have inside a kernel."""
    return "f32" if dtype in _HALVES else "i64" if dtype is dtypes.string else str(dtype)


def _float_text(value: float, kind: str) -> str:
    if math.isnan(value):
        return f"{kind}(nan)"
    if math.isinf(value):
        return f"{kind}({'inf' if value > 0 else '-inf'})"
    return f"{kind}({value!r})"
