"""Whole numbers that a kernel divides floats by, as ints of its launch.

In: a launch whose kernel divides by literals, as means do by how many elements there are. Out: a
launch of a kernel in which each of these is an int parameter, so that means of other sizes share
it. Invariant: the same bits. A division by a literal is as slow as one by a parameter, but by a
power of two, which is a multiplication: such literals stay.
"""

from __future__ import annotations

from dataclasses import replace

from flowc import dtypes
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.nest import Apply, Expression, Let, Literal, LoopNest, Name, Statement
from flowc.codegen.kernels.rewriting import NestRewriter
from flowc.codegen.target import Target
from flowc.dtypes import DType

EXACT = 1 << 24  # whole numbers up to it are floats of 32 bits


def with_divisors_of_launch(launch: Launch, target: Target) -> Launch:
    """The launch with a kernel for any divisors; the same where there are none, or no nest."""
    nest = launch.kernel.nest
    if type(launch) is not Launch or nest is None:
        return launch
    found = _Divisors()
    body = found.block(nest.body)
    if not found.names:
        return launch
    made = _with_parameters(nest, body, found)
    check_nest(made)
    values = tuple(number for number, _ in found.names)
    return replace(launch, kernel=target.kernel(made), ints=(*launch.ints, *values))


def _with_parameters(nest: LoopNest, body: tuple[Statement, ...], found: _Divisors) -> LoopNest:
    parameters = tuple(f"whole_{name}" for name in found.names.values())
    floats = tuple(
        Let(name, Apply("cast", (Name(parameter, dtypes.i64),), dtype))
        for (_, dtype), name, parameter in zip(found.names, found.names.values(), parameters)
    )
    return replace(nest, ints=(*nest.ints, *parameters), body=(*floats, *body))


class _Divisors(NestRewriter):
    """`names`: of the divisors, by number and dtype, in the order of the text."""

    def __init__(self) -> None:
        self.names: dict[tuple[int, DType], str] = {}

    def expression(self, x: Expression) -> Expression:
        match x:
            case Apply("div", (dividend, Literal(text, dtype))) if _is_whole(text, dtype):
                known = self.names.setdefault((int(float(text)), dtype), f"d{len(self.names)}")
                return replace(x, operands=(self.expression(dividend), Name(known, dtype)))
            case _:
                return super().expression(x)


def _is_whole(text: str, dtype: DType) -> bool:
    """Whether a literal is a whole number above 0 that a cast gives exactly, and no power of 2."""
    if dtype not in (dtypes.f32, dtypes.f64):
        return False
    value = float(text)
    return 0 < value < EXACT and value.is_integer() and int(value) & (int(value) - 1) != 0
