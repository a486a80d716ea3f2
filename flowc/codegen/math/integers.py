"""Integer arithmetic as TensorFlow defines it, without traps.

Division by zero is an error in TensorFlow, raised by whoever calls; here it yields 0, so that no
lane traps. The smallest integer divided by -1 wraps to itself. Shift amounts outside 0..width-1 are
clamped to that range.
"""

from __future__ import annotations

from collections.abc import Callable

from flowc import dtypes
from flowc.codegen.llvm.quantity import Quantity
from flowc.codegen.math.expression import Emitter
from flowc.codegen.math.table import define, define_one
from flowc.dtypes import DType

INTEGERS: tuple[DType, ...] = (*dtypes.INTS, *dtypes.UINTS)


def _is_signed(e: Emitter) -> bool:
    return e.dtype.kind == "int"


def _quotient(e: Emitter, x: Quantity, y: Quantity) -> tuple[Quantity, Quantity]:
    """x / y towards zero and its remainder; 0 and 0 where y is 0."""
    by_zero = y.equals(0)
    if not _is_signed(e):
        safe = e.select(by_zero, e.like(y, 1), y)
        quotient = e.select(by_zero, e.like(x, 0), x.divide_unsigned(safe))
        return quotient, e.select(by_zero, e.like(x, 0), x.remainder_unsigned(safe))
    # x / -1 is -x, which wraps instead of trapping on the smallest integer.
    by_minus_one = y.equals(-1)
    safe = e.select(by_zero | by_minus_one, e.like(y, 1), y)
    quotient = x.divide_signed(safe)
    remainder = x - quotient * safe
    quotient = e.select(by_minus_one, -x, quotient)
    return e.select(by_zero, e.like(x, 0), quotient), remainder


@define("truncatediv", 2, INTEGERS)
def truncatediv(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return _quotient(e, x, y)[0]


@define("truncatemod", 2, INTEGERS)
def truncatemod(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return _quotient(e, x, y)[1]


def _needs_floor(e: Emitter, remainder: Quantity, y: Quantity) -> Quantity:
    """Whether rounding towards zero went up: the remainder has not the divisor's sign."""
    return remainder.differs(0) & ((remainder ^ y) < 0)


@define("floordiv", 2, INTEGERS)
def floordiv(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    quotient, remainder = _quotient(e, x, y)
    if not _is_signed(e):
        return quotient
    return e.select(_needs_floor(e, remainder, y), quotient - 1, quotient)


@define("floormod", 2, INTEGERS)
def floormod(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    _, remainder = _quotient(e, x, y)
    if not _is_signed(e):
        return remainder
    return e.select(_needs_floor(e, remainder, y), remainder + y, remainder)


@define("pow", 2, INTEGERS, loops=True)
def power(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    """x**y modulo 2**width by squaring. A negative y (an error in TensorFlow) yields 0."""

    def step(state: tuple[Quantity, ...]) -> tuple[list[Quantity], Quantity]:
        result, base, exponent = state
        result = e.select((exponent & 1).differs(0), result * base, result)
        exponent = exponent.shift_right_logical(1)
        return [result, base * base, exponent], exponent.differs(0)

    result = e.loop([e.like(x, 1), x, y], step, e.dtype.size * 8)[0]
    return e.select(y < 0, e.like(x, 0), result) if _is_signed(e) else result


def _shift_amount(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    last = e.dtype.size * 8 - 1
    if _is_signed(e):
        y = e.select(y < 0, e.like(y, 0), y)
    return e.select(y.below_unsigned(last), y, last)


@define("left_shift", 2, INTEGERS)
def left_shift(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    return x << _shift_amount(e, x, y)


@define("right_shift", 2, INTEGERS)
def right_shift(e: Emitter, x: Quantity, y: Quantity) -> Quantity:
    amount = _shift_amount(e, x, y)
    return x.shift_right_arithmetic(amount) if _is_signed(e) else x.shift_right_logical(amount)


def _define_population_count(dtype: DType) -> Callable[[Emitter, Quantity], Quantity]:
    @define_one(f"population_count_{dtype}", (dtype,), dtypes.u8, dtype=dtype)
    def population_count(e: Emitter, x: Quantity) -> Quantity:
        return e.resize(e.population_count(x), 8)

    return population_count


for _dtype in INTEGERS:
    _define_population_count(_dtype)
