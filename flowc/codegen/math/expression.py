"""Typed scalar expressions over an llvmlite builder: what the math functions are written in.

In: LLVM values of one function under construction. Out: LLVM instructions, in program order.
Invariant: nothing here carries a fast-math flag, and only instructions or LLVM intrinsics that are
single instructions on x86-64-v2 are emitted, so a function body never turns into a libm call.

A fused multiply-add may or may not be fused (`llvm.fmuladd` is one instruction only where the
target has it): formulas have to be right both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from flowc import dtypes
from flowc.codegen.llvm.quantity import (
    F64,
    FORMAT32,
    FORMAT64,
    FloatFormat,
    Number,
    Quantity,
    constant,
    ir_type,
)
from flowc.dtypes import DType
from flowc_runtime.native.writer import I1, declare


class Emitter:
    """Builds the body of one math function of element type `dtype`."""

    def __init__(
        self, function: ir.Function, dtype: DType, callee: Callable[[str], ir.Function]
    ) -> None:
        self.function = function
        self.module: ir.Module = function.module
        # llvmlite's methods are decorated in a way that hides their types.
        self.builder: Any = ir.IRBuilder(function.append_basic_block("entry"))
        self.dtype = dtype
        self._callee = callee

    @property
    def is_f32(self) -> bool:
        return self.dtype is dtypes.f32

    @property
    def format(self) -> FloatFormat:
        return FORMAT32 if self.is_f32 else FORMAT64

    def constant(self, kind: ir.Type | DType, value: Number) -> Quantity:
        target = ir_type(kind) if isinstance(kind, DType) else kind
        return Quantity(self.builder, constant(target, value))

    def like(self, sample: Quantity, value: Quantity | Number) -> Quantity:
        return value if isinstance(value, Quantity) else self.constant(sample.type, value)

    def number(self, value: float) -> Quantity:
        """A constant of the function's own element type."""
        return self.constant(self.format.type, value)

    def call(self, name: str, *args: Quantity) -> Quantity:
        """A call of another math function, by its table name."""
        values = [a.value for a in args]
        return Quantity(self.builder, self.builder.call(self._callee(name), values))

    def _intrinsic(self, name: str, *args: Quantity) -> Quantity:
        kinds = [a.type for a in args]
        function = declare(self.module, name, ir.FunctionType(kinds[0], kinds))
        return Quantity(self.builder, self.builder.call(function, [a.value for a in args]))

    def _float_intrinsic(self, name: str, *args: Quantity) -> Quantity:
        return self._intrinsic(f"llvm.{name}.{args[0].format.intrinsic}", *args)

    def fma(self, a: Quantity, b: Quantity | Number, c: Quantity | Number) -> Quantity:
        """a * b + c, fused where the target fuses."""
        return self._float_intrinsic("fmuladd", a, self.like(a, b), self.like(a, c))

    def sqrt(self, x: Quantity) -> Quantity:
        return self._float_intrinsic("sqrt", x)

    def abs(self, x: Quantity) -> Quantity:
        return self._float_intrinsic("fabs", x)

    def copysign(self, magnitude: Quantity | Number, sign: Quantity) -> Quantity:
        return self._float_intrinsic("copysign", self.like(sign, magnitude), sign)

    def floor(self, x: Quantity) -> Quantity:
        return self._float_intrinsic("floor", x)

    def ceil(self, x: Quantity) -> Quantity:
        return self._float_intrinsic("ceil", x)

    def trunc(self, x: Quantity) -> Quantity:
        return self._float_intrinsic("trunc", x)

    def rint(self, x: Quantity) -> Quantity:
        """To the nearest integer, halves to even."""
        return self._float_intrinsic("rint", x)

    def population_count(self, x: Quantity) -> Quantity:
        return self._intrinsic(f"llvm.ctpop.i{x.type.width}", x)

    def count_leading_zeros(self, x: Quantity) -> Quantity:
        width = x.type.width
        return self._intrinsic(f"llvm.ctlz.i{width}", x, self.constant(I1, 0))

    def select(
        self, condition: Quantity, then: Quantity | Number, other: Quantity | Number
    ) -> Quantity:
        if not isinstance(then, Quantity):
            then = self.like(other, then) if isinstance(other, Quantity) else self.number(then)
        other = self.like(then, other)
        return Quantity(self.builder, self.builder.select(condition.value, then.value, other.value))

    def at_most(self, x: Quantity, limit: Quantity | Number) -> Quantity:
        """min(x, limit), NaN stays NaN. One instruction on x86."""
        return self.select(x > limit, self.like(x, limit), x)

    def at_least(self, x: Quantity, limit: Quantity | Number) -> Quantity:
        """max(x, limit), NaN stays NaN. One instruction on x86."""
        return self.select(x < limit, self.like(x, limit), x)

    def minimum(self, a: Quantity, b: Quantity) -> Quantity:
        return self.select(a < b, a, b)

    def maximum(self, a: Quantity, b: Quantity) -> Quantity:
        return self.select(a > b, a, b)

    def polynomial(self, x: Quantity, coefficients: Sequence[float]) -> Quantity:
        """sum(c[i] * x**i) by Horner's rule; `coefficients` start at the constant term."""
        result: Quantity = self.like(x, coefficients[-1])
        for c in reversed(coefficients[:-1]):
            result = self.fma(result, x, c)
        return result

    def convert(self, x: Quantity, target: ir.Type | DType) -> Quantity:
        """Float to float: exact when widening, rounded to nearest even when narrowing."""
        kind = ir_type(target) if isinstance(target, DType) else target
        if x.type == kind:
            return x
        emit = self.builder.fpext if kind == F64 else self.builder.fptrunc
        return Quantity(self.builder, emit(x.value, kind))

    def to_signed(self, x: Quantity, width: int) -> Quantity:
        """Float to integer towards zero; `x` must be in range."""
        return Quantity(self.builder, self.builder.fptosi(x.value, ir.IntType(width)))

    def from_signed(self, x: Quantity, target: ir.Type) -> Quantity:
        return Quantity(self.builder, self.builder.sitofp(x.value, target))

    def from_unsigned(self, x: Quantity, target: ir.Type) -> Quantity:
        return Quantity(self.builder, self.builder.uitofp(x.value, target))

    def resize(self, x: Quantity, width: int, *, signed: bool = False) -> Quantity:
        """An integer, truncated or extended to `width` bits."""
        kind, old = ir.IntType(width), x.type.width
        if old == width:
            return x
        extend = self.builder.sext if signed else self.builder.zext
        emit = self.builder.trunc if old > width else extend
        return Quantity(self.builder, emit(x.value, kind))

    def power_of_two(self, exponent: Quantity, target: FloatFormat) -> Quantity:
        """2**exponent for an integer exponent of a normal number."""
        return ((exponent + target.bias) << target.mantissa).as_float()

    def table(self, name: str, values: Sequence[Number], index: Quantity) -> Quantity:
        """`values[index]` of a constant table, i64 for ints and f64 for floats, shared by all
        users of `name`."""
        element = ir.IntType(64) if isinstance(values[0], int) else F64
        kind = ir.ArrayType(element, len(values))
        data: Any = self.module.globals.get(name)
        if data is None:
            data = ir.GlobalVariable(self.module, kind, name)
            data.linkage = "linkonce_odr hidden"
            data.global_constant = True
            data.align = 64
            data.initializer = ir.Constant(kind, list(values))
        zero = ir.Constant(ir.IntType(64), 0)
        place = self.builder.gep(data, [zero, self.resize(index, 64).value], inbounds=True)
        return Quantity(self.builder, self.builder.load(place))

    def loop(
        self,
        start: Sequence[Quantity],
        step: Callable[[tuple[Quantity, ...]], tuple[Sequence[Quantity], Quantity]],
        limit: int,
    ) -> tuple[Quantity, ...]:
        """Repeats `step` (state -> new state, go on?) at least once and at most `limit` times."""
        before = self.builder.block
        body = self.builder.append_basic_block("loop")
        after = self.builder.append_basic_block("done")
        self.builder.branch(body)
        self.builder.position_at_end(body)
        counter = self.builder.phi(ir.IntType(32))
        phis = [self.builder.phi(s.type) for s in start]
        state, more = step(tuple(Quantity(self.builder, p) for p in phis))
        count = Quantity(self.builder, counter) + 1
        more = more & (count < limit)
        counter.add_incoming(ir.Constant(ir.IntType(32), 0), before)
        counter.add_incoming(count.value, self.builder.block)
        for phi, first, later in zip(phis, start, state, strict=True):
            phi.add_incoming(first.value, before)
            phi.add_incoming(later.value, self.builder.block)
        self.builder.cbranch(more.value, body, after)
        self.builder.position_at_end(after)
        return tuple(state)

    def either(
        self, condition: Quantity, then: Callable[[], Quantity], other: Callable[[], Quantity]
    ) -> Quantity:
        """A branch, for sides too dear to compute both. A loop around it does not vectorise."""
        sides = []
        branches = [self.builder.append_basic_block(n) for n in ("then", "other")]
        join = self.builder.append_basic_block("join")
        self.builder.cbranch(condition.value, *branches)
        for block, emit in zip(branches, (then, other), strict=True):
            self.builder.position_at_end(block)
            value = emit()
            sides.append((value, self.builder.block))
            self.builder.branch(join)
        self.builder.position_at_end(join)
        phi = self.builder.phi(sides[0][0].type)
        for value, block in sides:
            phi.add_incoming(value.value, block)
        return Quantity(self.builder, phi)
