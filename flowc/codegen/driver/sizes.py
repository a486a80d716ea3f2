"""A function under construction that computes with sizes.

In: sizes as LLVM values. Out: LLVM values of expressions over them. Invariant: the value of an
expression is reused only where its computation dominates the use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from llvmlite import ir

from flowc.codegen.driver.size_limits import WORD
from flowc.ir.dims import Dim, Expr, Extremum, FloorDiv, Symbol
from flowc_runtime.native.writer import I1, I8, I64, declare, i64

BYTES = I8.as_pointer()
NULL = ir.Constant(BYTES, None)
MEMCPY = "llvm.memcpy.p0i8.p0i8.i64"
MEMCPY_TYPE = ir.FunctionType(ir.VoidType(), [BYTES, BYTES, I64, I1])


class SizeFunction:
    """`b`: its builder. `env`: the sizes that may be used here."""

    def __init__(self, b: ir.IRBuilder, env: Mapping[Symbol, ir.Value]) -> None:
        self.function = b.function
        # llvmlite's decorators hide from a type checker what the builder's methods return.
        self.b = cast(Any, b)
        self.env: dict[Symbol, ir.Value] = dict(env)
        self.known: dict[Dim, ir.Value] = {}

    @contextmanager
    def scope(self) -> Iterator[None]:
        """What is bound and computed inside is not known after it."""
        env, known = self.env, self.known
        self.env, self.known = dict(env), dict(known)
        yield
        self.env, self.known = env, known

    def bind(self, size: Symbol, value: ir.Value) -> None:
        """Gives a size its value."""
        self.env[size] = value

    def wrapping(self, dim: Dim) -> ir.Value:
        """A size as i64, computed once; for those that cannot wrap, or may."""
        if isinstance(dim, int):
            return i64(dim)
        if dim not in self.known:
            self.known[dim] = self._sum(dim, None)
        return self.known[dim]

    def exact(self, dim: Dim) -> tuple[ir.Value, ir.Value | None]:
        """A size as i64, and whether it, or what it is made of, wrapped; None: it cannot have."""
        wrapped: list[ir.Value] = []
        value = self._operand(dim, wrapped)
        is_wrong: ir.Value | None = None
        for bit in wrapped:
            is_wrong = bit if is_wrong is None else self.b.or_(is_wrong, bit)
        return value, is_wrong

    # `wrapped` takes what tells whether an operation wrapped, where that is asked for.

    def _operand(self, dim: Dim, wrapped: list[ir.Value] | None) -> ir.Value:
        if isinstance(dim, int) or wrapped is None:
            return self.wrapping(dim)
        return self._sum(dim, wrapped)

    def _sum(self, dim: Expr, wrapped: list[ir.Value] | None) -> ir.Value:
        total: ir.Value | None = None
        for monomial, coefficient in dim.terms:
            term: ir.Value | None = None
            for atom in monomial:
                value = self._atom(atom, wrapped)
                term = value if term is None else self._combined("mul", term, value, wrapped)
            factor = i64(max(-WORD, min(coefficient, WORD)))
            if term is None:
                term = factor
            elif coefficient != 1:
                term = self._combined("mul", term, factor, wrapped)
            total = term if total is None else self._combined("add", total, term, wrapped)
        assert total is not None
        return total

    def _combined(
        self, op: str, a: ir.Value, b: ir.Value, wrapped: list[ir.Value] | None
    ) -> ir.Value:
        if wrapped is None:
            return self.b.mul(a, b) if op == "mul" else self.b.add(a, b)
        kind = ir.FunctionType(ir.LiteralStructType([I64, I1]), [I64, I64])
        function = declare(self.function.module, f"llvm.s{op}.with.overflow.i64", kind)
        both = self.b.call(function, [a, b])
        wrapped.append(self.b.extract_value(both, 1))
        return self.b.extract_value(both, 0)

    def _atom(self, atom: Symbol | FloorDiv | Extremum, wrapped: list[ir.Value] | None) -> ir.Value:
        match atom:
            case Symbol():
                return self.env[atom]
            case FloorDiv(top, bottom):
                return self._floordiv(self._operand(top, wrapped), self._operand(bottom, wrapped))
            case Extremum(kind, left, right):
                a, b = self._operand(left, wrapped), self._operand(right, wrapped)
                return self.larger(a, b) if kind == "max" else self.smaller(a, b)

    def larger(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.b.select(self.b.icmp_signed(">", a, b), a, b)

    def smaller(self, a: ir.Value, b: ir.Value) -> ir.Value:
        return self.b.select(self.b.icmp_signed("<", a, b), a, b)

    def _floordiv(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Rounds to minus infinity; a divisor of 0 gives 0 rather than a trap."""
        safe = self.b.select(self.b.icmp_signed("==", b, i64(0)), i64(1), b)
        quotient = self.b.sdiv(a, safe)
        rest = self.b.srem(a, safe)
        below = self.b.icmp_signed("<", rest, i64(0))
        return self.b.select(below, self.b.sub(quotient, i64(1)), quotient)
