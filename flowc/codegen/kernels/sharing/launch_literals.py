"""Kernels whose literals are ints of their launches, for graphs with many clusters that differ in
these alone.

In: launches in the order of the graph. Out: the same; of kernels that differ in literals alone the
first keeps its own in its code, and all others are one that is told them by its launches, as bits.
So there are two kernels at most where there would be one a cluster, and a kernel that is like no
other stays what it is. Invariant: the same bits. Literals that LLVM makes other instructions of
stay: 0, 1 and -1, infinities and NaN, powers of two that are divided by; and all but floats that
are operands of arithmetic, comparisons and choices: exponents, shifts and divisors of integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from flowc import dtypes
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.kernel import Kernel, Launch
from flowc.codegen.kernels.nest import (
    Apply,
    Expression,
    Let,
    Literal,
    LoopNest,
    Name,
    Statement,
    is_half,
    memory_dtype,
)
from flowc.codegen.kernels.rewriting import NestRewriter
from flowc.codegen.target import Target
from flowc.dtypes import DType
from flowc.ir.dims import Dim

_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_TAKE_ANY = _COMPARISONS | {"add", "sub", "mul", "div", "fma", "select"}
# The larger or smaller of a number and an element: one comparison, whose result is the element
# where that is NaN (`numba_source.py` writes it so where it sees the number).
_WITH_NUMBER_FIRST = {"max": "max_select", "min": "min_select"}
_INTEGERS = {4: dtypes.i32, 8: dtypes.i64}


class SharedLiterals:
    """The kernels of one program: of each that literals were taken out of, the first with them."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._first: dict[str, str] = {}

    def of(self, launch: Launch) -> Launch:
        """The launch, of a kernel that others share where literals alone make it another one than
        an earlier one. What a device runs, and kernels without a nest, stay."""
        if type(launch) is not Launch:
            return launch
        kernel, ints = self._shared(launch.kernel, launch.ints)
        epilogue = launch.epilogue
        if epilogue is not None:
            late, late_ints = self._shared(epilogue.kernel, epilogue.ints)
            if late is not epilogue.kernel:
                epilogue = replace(epilogue, kernel=late, ints=late_ints)
        if kernel is launch.kernel and epilogue is launch.epilogue:
            return launch
        return replace(launch, kernel=kernel, ints=ints, epilogue=epilogue)

    def _shared(self, kernel: Kernel, ints: tuple[Dim, ...]) -> tuple[Kernel, tuple[Dim, ...]]:
        if kernel.nest is None:
            return kernel, ints
        found = _Literals()
        body = found.block(kernel.nest.body)
        if not found.names:
            return kernel, ints
        nest = _with_parameters(kernel.nest, body, found)
        made = self._target.kernel(nest)
        if self._first.setdefault(made.key, kernel.key) == kernel.key:
            return kernel, ints
        check_nest(nest)
        return made, (*ints, *(_bits(literal) for literal, _ in found.names))


def _with_parameters(nest: LoopNest, body: tuple[Statement, ...], found: _Literals) -> LoopNest:
    """The nest with an int for each literal. What they are stands before all loops."""
    lets: list[Statement] = []
    parameters: list[str] = []
    for (literal, _), name in found.names.items():
        dtype, parameter, bits = literal.dtype, f"word_{name}", f"bits_{name}"
        carrier = _carrier(dtype)
        op = "from_memory" if is_half(dtype) else "bitcast"
        parameters.append(parameter)
        lets.append(Let(bits, Apply("cast", (Name(parameter, dtypes.i64),), carrier)))
        lets.append(Let(name, Apply(op, (Name(bits, carrier),), dtype)))
    return replace(nest, ints=(*nest.ints, *parameters), body=(*lets, *body))


def _carrier(dtype: DType) -> DType:
    """The integer that holds a float's bits."""
    return memory_dtype(dtype) if is_half(dtype) else _INTEGERS[dtype.size]


def _bits(literal: Literal) -> int:
    number = np.asarray(float(literal.text)).astype(literal.dtype.numpy)
    return int(number.view(_carrier(literal.dtype).numpy))


class _Literals(NestRewriter):
    """`names`: of the literals, in the order of the text. Those of one block have names of their
    own where they are equal, too, so that it makes no other kernel which of them are; but blocks
    often repeat what another one computes, for edges: the same literals in the same order."""

    def __init__(self) -> None:
        self.names: dict[tuple[Literal, int], str] = {}
        self.counts: dict[Literal, int] = {}  # of the open block

    def block(self, body: Sequence[Statement]) -> tuple[Statement, ...]:
        outer, self.counts = self.counts, {}
        made = super().block(body)
        self.counts = outer
        return made

    def expression(self, x: Expression) -> Expression:
        match x:
            case Apply(op, operands) if op in _TAKE_ANY:
                return replace(x, operands=tuple(self._operand(op, o) for o in operands))
            case Apply(op, (element, Literal() as number) | (Literal() as number, element)) if (
                op in _WITH_NUMBER_FIRST and _is_taken(op, number)
            ):
                pair = (self._name(number), self.expression(element))
                return replace(x, op=_WITH_NUMBER_FIRST[op], operands=pair)
            case _:
                return super().expression(x)

    def _operand(self, op: str, x: Expression) -> Expression:
        if isinstance(x, Literal) and _is_taken(op, x):
            return self._name(x)
        return self.expression(x)

    def _name(self, literal: Literal) -> Name:
        count = self.counts.get(literal, 0)
        self.counts[literal] = count + 1
        name = self.names.setdefault((literal, count), f"literal{len(self.names)}")
        return Name(name, literal.dtype)


def _is_taken(op: str, literal: Literal) -> bool:
    """Whether LLVM makes the same of an operand whether it knows it or not."""
    if not literal.dtype.is_floating:
        return False
    value = abs(float(literal.text))
    if value in (0, 1) or not math.isfinite(value):
        return False
    return op != "div" or math.frexp(value)[0] != 0.5
