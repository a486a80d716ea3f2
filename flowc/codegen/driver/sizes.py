"""A function under construction that computes with sizes.

In: sizes as LLVM values. Out: LLVM values of expressions over them. Invariant: a value that
was computed for an expression is used again only where it was computed on every way there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from llvmlite import ir

from flowc.ir.dims import Dim, Extremum, FloorDiv, Symbol
from flowc_runtime.native.writer import I8, i64

BYTES = I8.as_pointer()
NULL = ir.Constant(BYTES, None)


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

    def dim(self, dim: Dim) -> ir.Value:
        """A size as i64; computed once."""
        if isinstance(dim, int):
            return i64(dim)
        if dim not in self.known:
            total: ir.Value | None = None
            for monomial, coefficient in dim.terms:
                term: ir.Value | None = None
                for atom in monomial:
                    value = self._atom(atom)
                    term = value if term is None else self.b.mul(term, value)
                if term is None:
                    term = i64(coefficient)
                elif coefficient != 1:
                    term = self.b.mul(term, i64(coefficient))
                total = term if total is None else self.b.add(total, term)
            assert total is not None
            self.known[dim] = total
        return self.known[dim]

    def _atom(self, atom: Symbol | FloorDiv | Extremum) -> ir.Value:
        match atom:
            case Symbol():
                return self.env[atom]
            case FloorDiv(top, bottom):
                return self._floordiv(self.dim(top), self.dim(bottom))
            case Extremum(kind, left, right):
                a, b = self.dim(left), self.dim(right)
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
