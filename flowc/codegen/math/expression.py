"""Typed scalar expressions over an llvmlite builder: what the math functions are written in.

In: LLVM values of one function under construction. Out: LLVM instructions, in program order.
Invariant: nothing here carries a fast-math flag, and only instructions or LLVM intrinsics that are
single instructions on x86-64-v2 are emitted, so a function body never turns into a libm call.

A fused multiply-add may or may not be fused (`llvm.fmuladd` is one instruction only where the
target has it): formulas have to be right both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from llvmlite import ir

from flowc import dtypes
from flowc.dtypes import DType
from flowc_runtime.native.writer import I1, declare

Number: TypeAlias = "int | float"

F32 = ir.FloatType()
F64 = ir.DoubleType()
_IR_TYPES: dict[DType, ir.Type] = {
    dtypes.f32: F32,
    dtypes.f64: F64,
    dtypes.f16: ir.IntType(16),
    dtypes.bf16: ir.IntType(16),
    dtypes.bool_: ir.IntType(8),
}


def ir_type(dtype: DType) -> ir.Type:
    """The LLVM type that carries `dtype`; f16 and bf16 are carried as their 16 bits."""
    return _IR_TYPES.get(dtype) or ir.IntType(dtype.size * 8)


@dataclass(frozen=True, slots=True)
class FloatFormat:
    """The binary layout of an IEEE float: what bit tricks need to know about it."""

    dtype: DType
    type: ir.Type
    bits: ir.IntType
    mantissa: int  # explicit mantissa bits
    bias: int
    intrinsic: str  # suffix of overloaded LLVM intrinsics

    @property
    def width(self) -> int:
        return self.bits.width

    @property
    def smallest_normal(self) -> float:
        return 2.0 ** (1 - self.bias)

    @property
    def rounding_shift(self) -> float:
        """Adding 1.5 * 2**mantissa rounds to an integer and leaves it in the low bits."""
        return 1.5 * 2.0**self.mantissa


FORMAT32 = FloatFormat(dtypes.f32, F32, ir.IntType(32), 23, 127, "f32")
FORMAT64 = FloatFormat(dtypes.f64, F64, ir.IntType(64), 52, 1023, "f64")


class Quantity:
    """An LLVM value with Python's operators. Integers compare signed; `<` on floats is ordered."""

    __slots__ = ("emitter", "ir")

    def __init__(self, emitter: Emitter, value: Any) -> None:
        self.emitter = emitter
        self.ir = value

    @property
    def type(self) -> Any:
        return self.ir.type

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, ir.FloatType | ir.DoubleType)

    @property
    def format(self) -> FloatFormat:
        return FORMAT32 if self.type == F32 else FORMAT64

    def _with(self, emit: str, other: Quantity | Number, swap: bool = False) -> Quantity:
        right = self.emitter.like(self, other)
        a, b = (right, self) if swap else (self, right)
        return Quantity(self.emitter, getattr(self.emitter.builder, emit)(a.ir, b.ir))

    def _arith(self, emit: str, other: Quantity | Number, swap: bool = False) -> Quantity:
        return self._with(("f" if self.is_float else "") + emit, other, swap)

    def __add__(self, other: Quantity | Number) -> Quantity:
        return self._arith("add", other)

    def __radd__(self, other: Number) -> Quantity:
        return self._arith("add", other, swap=True)

    def __sub__(self, other: Quantity | Number) -> Quantity:
        return self._arith("sub", other)

    def __rsub__(self, other: Number) -> Quantity:
        return self._arith("sub", other, swap=True)

    def __mul__(self, other: Quantity | Number) -> Quantity:
        return self._arith("mul", other)

    def __rmul__(self, other: Number) -> Quantity:
        return self._arith("mul", other, swap=True)

    def __truediv__(self, other: Quantity | Number) -> Quantity:
        return self._with("fdiv", other)

    def __rtruediv__(self, other: Number) -> Quantity:
        return self._with("fdiv", other, swap=True)

    def __neg__(self) -> Quantity:
        if self.is_float:
            return Quantity(self.emitter, self.emitter.builder.fneg(self.ir))
        return Quantity(self.emitter, self.emitter.builder.neg(self.ir))

    def __and__(self, other: Quantity | Number) -> Quantity:
        return self._with("and_", other)

    def __or__(self, other: Quantity | Number) -> Quantity:
        return self._with("or_", other)

    def __xor__(self, other: Quantity | Number) -> Quantity:
        return self._with("xor", other)

    def __invert__(self) -> Quantity:
        return Quantity(self.emitter, self.emitter.builder.not_(self.ir))

    def __lshift__(self, other: Quantity | Number) -> Quantity:
        return self._with("shl", other)

    def shift_right_logical(self, other: Quantity | Number) -> Quantity:
        return self._with("lshr", other)

    def shift_right_arithmetic(self, other: Quantity | Number) -> Quantity:
        return self._with("ashr", other)

    def divide_signed(self, other: Quantity | Number) -> Quantity:
        return self._with("sdiv", other)

    def divide_unsigned(self, other: Quantity | Number) -> Quantity:
        return self._with("udiv", other)

    def remainder_unsigned(self, other: Quantity | Number) -> Quantity:
        return self._with("urem", other)

    def _compare(self, operator: str, other: Quantity | Number) -> Quantity:
        right = self.emitter.like(self, other)
        builder = self.emitter.builder
        if not self.is_float:
            return Quantity(self.emitter, builder.icmp_signed(operator, self.ir, right.ir))
        compare = builder.fcmp_unordered if operator == "!=" else builder.fcmp_ordered
        return Quantity(self.emitter, compare(operator, self.ir, right.ir))

    def __lt__(self, other: Quantity | Number) -> Quantity:
        return self._compare("<", other)

    def __le__(self, other: Quantity | Number) -> Quantity:
        return self._compare("<=", other)

    def __gt__(self, other: Quantity | Number) -> Quantity:
        return self._compare(">", other)

    def __ge__(self, other: Quantity | Number) -> Quantity:
        return self._compare(">=", other)

    def equals(self, other: Quantity | Number) -> Quantity:
        """Equal; false when either is NaN."""
        return self._compare("==", other)

    def differs(self, other: Quantity | Number) -> Quantity:
        """Not equal; true when either is NaN."""
        return self._compare("!=", other)

    def below_unsigned(self, other: Quantity | Number) -> Quantity:
        right = self.emitter.like(self, other)
        return Quantity(self.emitter, self.emitter.builder.icmp_unsigned("<", self.ir, right.ir))

    def is_nan(self) -> Quantity:
        return Quantity(self.emitter, self.emitter.builder.fcmp_unordered("uno", self.ir, self.ir))

    def bits(self) -> Quantity:
        """The bits of a float as an integer of its width."""
        return Quantity(self.emitter, self.emitter.builder.bitcast(self.ir, self.format.bits))

    def as_float(self) -> Quantity:
        """The float whose bits this 32- or 64-bit integer holds."""
        target = F32 if self.type == FORMAT32.bits else F64
        return Quantity(self.emitter, self.emitter.builder.bitcast(self.ir, target))


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
        number = int(value) if isinstance(target, ir.IntType) else float(value)
        if isinstance(target, ir.IntType) and target.width > 1:
            number = (int(number) + 2 ** (target.width - 1)) % 2**target.width
            number -= 2 ** (target.width - 1)
        return Quantity(self, ir.Constant(target, number))

    def like(self, sample: Quantity, value: Quantity | Number) -> Quantity:
        return value if isinstance(value, Quantity) else self.constant(sample.type, value)

    def number(self, value: float) -> Quantity:
        """A constant of the function's own element type."""
        return self.constant(self.format.type, value)

    def call(self, name: str, *args: Quantity) -> Quantity:
        """A call of another math function, by its table name."""
        return Quantity(self, self.builder.call(self._callee(name), [a.ir for a in args]))

    def _intrinsic(self, name: str, *args: Quantity) -> Quantity:
        kinds = [a.type for a in args]
        function = declare(self.module, name, ir.FunctionType(kinds[0], kinds))
        return Quantity(self, self.builder.call(function, [a.ir for a in args]))

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
        return Quantity(self, self.builder.select(condition.ir, then.ir, other.ir))

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
        return Quantity(self, emit(x.ir, kind))

    def to_signed(self, x: Quantity, width: int) -> Quantity:
        """Float to integer towards zero; `x` must be in range."""
        return Quantity(self, self.builder.fptosi(x.ir, ir.IntType(width)))

    def from_signed(self, x: Quantity, target: ir.Type) -> Quantity:
        return Quantity(self, self.builder.sitofp(x.ir, target))

    def from_unsigned(self, x: Quantity, target: ir.Type) -> Quantity:
        return Quantity(self, self.builder.uitofp(x.ir, target))

    def resize(self, x: Quantity, width: int, *, signed: bool = False) -> Quantity:
        """An integer, truncated or extended to `width` bits."""
        kind, old = ir.IntType(width), x.type.width
        if old == width:
            return x
        if old > width:
            return Quantity(self, self.builder.trunc(x.ir, kind))
        return Quantity(self, (self.builder.sext if signed else self.builder.zext)(x.ir, kind))

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
        place = self.builder.gep(data, [zero, self.resize(index, 64).ir], inbounds=True)
        return Quantity(self, self.builder.load(place))

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
        state, more = step(tuple(Quantity(self, p) for p in phis))
        count = Quantity(self, counter) + 1
        more = more & (count < limit)
        counter.add_incoming(ir.Constant(ir.IntType(32), 0), before)
        counter.add_incoming(count.ir, self.builder.block)
        for phi, first, later in zip(phis, start, state, strict=True):
            phi.add_incoming(first.ir, before)
            phi.add_incoming(later.ir, self.builder.block)
        self.builder.cbranch(more.ir, body, after)
        self.builder.position_at_end(after)
        return tuple(state)

    def either(
        self, condition: Quantity, then: Callable[[], Quantity], other: Callable[[], Quantity]
    ) -> Quantity:
        """A branch, for sides too dear to compute both. A loop around it does not vectorise."""
        sides = []
        branches = [self.builder.append_basic_block(n) for n in ("then", "other")]
        join = self.builder.append_basic_block("join")
        self.builder.cbranch(condition.ir, *branches)
        for block, emit in zip(branches, (then, other), strict=True):
            self.builder.position_at_end(block)
            value = emit()
            sides.append((value, self.builder.block))
            self.builder.branch(join)
        self.builder.position_at_end(join)
        phi = self.builder.phi(sides[0][0].type)
        for value, block in sides:
            phi.add_incoming(value.ir, block)
        return Quantity(self, phi)
