"""LLVM values with Python's operators: what math functions and vector IR are written in.

In: a builder of llvmlite, and values. Out: instructions, in program order. Invariant: nothing here
carries a fast-math flag.
"""

from __future__ import annotations

from typing import Any, Self, TypeAlias

from llvmlite import ir

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.dtypes import DType

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


def size_of(kind: ir.Type) -> int:
    """Bytes of a number in memory, or of one that is made of others."""
    if isinstance(kind, ir.LiteralStructType):
        return sum(map(size_of, kind.elements))
    return kind.width // 8 if isinstance(kind, ir.IntType) else {F32: 4, F64: 8}[kind]


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


def constant(kind: ir.Type, value: Number) -> ir.Constant:
    """A constant of an integer type, which wraps round, or of a float type."""
    number = int(value) if isinstance(kind, ir.IntType) else float(value)
    if isinstance(kind, ir.IntType) and kind.width > 1:
        number = (int(number) + 2 ** (kind.width - 1)) % 2**kind.width
        number -= 2 ** (kind.width - 1)
    return ir.Constant(kind, number)


class Quantity:
    """An LLVM value with Python's operators. Integers compare signed; `<` on floats is ordered."""

    __slots__ = ("b", "value")

    def __init__(self, b: Any, value: Any) -> None:
        self.b = b
        self.value = value

    @property
    def type(self) -> Any:
        return self.value.type

    @property
    def is_float(self) -> bool:
        return isinstance(self.type, ir.FloatType | ir.DoubleType)

    @property
    def format(self) -> FloatFormat:
        return FORMAT32 if self.type == F32 else FORMAT64

    def like(self, value: Quantity | Number) -> Any:
        """The LLVM value of another one of the same type, or of a constant."""
        return value.value if isinstance(value, Quantity) else constant(self.type, value)

    def _made(self, value: Any) -> Self:
        return self.__class__(self.b, value)

    def _with(self, emit: str, other: Quantity | Number, swap: bool = False) -> Self:
        operands = (self.like(other), self.value) if swap else (self.value, self.like(other))
        return self._made(getattr(self.b, emit)(*operands))

    def _arith(self, emit: str, other: Quantity | Number, swap: bool = False) -> Self:
        return self._with(("f" if self.is_float else "") + emit, other, swap)

    def __add__(self, other: Quantity | Number) -> Self:
        return self._arith("add", other)

    def __radd__(self, other: Number) -> Self:
        return self._arith("add", other, swap=True)

    def __sub__(self, other: Quantity | Number) -> Self:
        return self._arith("sub", other)

    def __rsub__(self, other: Number) -> Self:
        return self._arith("sub", other, swap=True)

    def __mul__(self, other: Quantity | Number) -> Self:
        return self._arith("mul", other)

    def __rmul__(self, other: Number) -> Self:
        return self._arith("mul", other, swap=True)

    def __truediv__(self, other: Quantity | Number) -> Self:
        return self._with("fdiv", other)

    def __rtruediv__(self, other: Number) -> Self:
        return self._with("fdiv", other, swap=True)

    def __neg__(self) -> Self:
        return self._made((self.b.fneg if self.is_float else self.b.neg)(self.value))

    def __and__(self, other: Quantity | Number) -> Self:
        return self._with("and_", other)

    def __or__(self, other: Quantity | Number) -> Self:
        return self._with("or_", other)

    def __xor__(self, other: Quantity | Number) -> Self:
        return self._with("xor", other)

    def __invert__(self) -> Self:
        return self._made(self.b.not_(self.value))

    def __lshift__(self, other: Quantity | Number) -> Self:
        return self._with("shl", other)

    def shift_right_logical(self, other: Quantity | Number) -> Self:
        return self._with("lshr", other)

    def shift_right_arithmetic(self, other: Quantity | Number) -> Self:
        return self._with("ashr", other)

    def divide_signed(self, other: Quantity | Number) -> Self:
        return self._with("sdiv", other)

    def divide_unsigned(self, other: Quantity | Number) -> Self:
        return self._with("udiv", other)

    def remainder_unsigned(self, other: Quantity | Number) -> Self:
        return self._with("urem", other)

    def _compare(self, operator: str, other: Quantity | Number) -> Quantity:
        emit = self.b.icmp_signed
        if self.is_float:
            emit = self.b.fcmp_unordered if operator == "!=" else self.b.fcmp_ordered
        return Quantity(self.b, emit(operator, self.value, self.like(other)))

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
        return Quantity(self.b, self.b.icmp_unsigned("<", self.value, self.like(other)))

    def is_nan(self) -> Quantity:
        return Quantity(self.b, self.b.fcmp_unordered("uno", self.value, self.value))

    def bits(self) -> Quantity:
        """The bits of a float as an integer of its width."""
        return Quantity(self.b, self.b.bitcast(self.value, self.format.bits))

    def as_float(self) -> Quantity:
        """The float whose bits this 32- or 64-bit integer holds."""
        target = F32 if self.type == FORMAT32.bits else F64
        return Quantity(self.b, self.b.bitcast(self.value, target))
