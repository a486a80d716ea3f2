"""Numbers as unevaluated sums of two f64: about 106 bits, for the inside of f64's pow.

Products are split by Veltkamp and Dekker, which is exact with and without a fused multiply-add.
"""

from __future__ import annotations

from flowc.codegen.llvm.quantity import Quantity
from flowc.dataclass import dataclass

_SPLIT = 134217729.0  # 2**27 + 1


@dataclass(frozen=True, slots=True)
class DoubleDouble:
    """high + low, |low| at most half an ulp of high."""

    high: Quantity
    low: Quantity


def quick_sum(a: Quantity, b: Quantity) -> DoubleDouble:
    """a + b exactly, for |a| >= |b|."""
    high = a + b
    return DoubleDouble(high, b - (high - a))


def exact_sum(a: Quantity, b: Quantity) -> DoubleDouble:
    """a + b exactly."""
    high = a + b
    part = high - a
    return DoubleDouble(high, (a - (high - part)) + (b - part))


def _halves(a: Quantity) -> tuple[Quantity, Quantity]:
    moved = a * _SPLIT
    high = moved - (moved - a)
    return high, a - high


def exact_product(a: Quantity, b: Quantity) -> DoubleDouble:
    """a * b exactly, for |a|, |b| < 2**996."""
    high = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return DoubleDouble(high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2)


def add(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    total = exact_sum(a.high, b.high)
    return quick_sum(total.high, total.low + (a.low + b.low))


def multiply(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    product = exact_product(a.high, b.high)
    return quick_sum(product.high, product.low + (a.high * b.low + a.low * b.high))


def divide(a: DoubleDouble, b: DoubleDouble) -> DoubleDouble:
    quotient = a.high / b.high
    back = exact_product(quotient, b.high)
    rest = ((a.high - back.high) - back.low) + (a.low - quotient * b.low)
    return quick_sum(quotient, rest / b.high)
