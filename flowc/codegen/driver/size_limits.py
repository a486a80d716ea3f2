"""What is known of how large sizes can be: which expressions over them cannot wrap.

In: limits that the run has checked. Out: limits of all other expressions. Invariants: sizes are not
negative; a limit within a word holds for all that is computed on the way to an expression, too, so
that such an expression needs no check.
"""

from __future__ import annotations

import math

from flowc.ir.dims import Atom, Dim, Expr, Extremum, FloorDiv, Monomial, Symbol

WORD = (1 << 63) - 1
BEYOND = 1 << 128  # what may wrap on the way


class SizeLimits:
    """`known`: the most that expressions can be which were checked."""

    def __init__(self) -> None:
        self.known: dict[Dim, int] = {}

    def copy(self) -> SizeLimits:
        made = SizeLimits()
        made.known = dict(self.known)
        return made

    def of(self, dim: Dim) -> int:
        """The most that the absolute value of an expression can be."""
        if isinstance(dim, int):
            return abs(dim)
        found = sum(self._product(m) * abs(c) for m, c in dim.terms)
        return min(found, self.known.get(dim, found))

    def _product(self, monomial: Monomial) -> int:
        found = math.prod(max(1, self._atom(atom)) for atom in monomial)
        return min(found, self.known.get(Expr(((monomial, 1),)), found))

    def _atom(self, atom: Atom) -> int:
        match atom:
            case Symbol():
                return WORD
            case FloorDiv(top, bottom):
                parts, most = (self.of(top), self.of(bottom)), self.of(top)
            case Extremum(_, left, right):
                parts = self.of(left), self.of(right)
                most = max(parts)
        return most if max(parts) <= WORD else BEYOND

    def learn(self, dim: Dim, limit: int) -> None:
        """Notes that an expression is at most `limit`, and that nothing in it wraps."""
        if isinstance(dim, int):
            return
        self._note(dim, limit)
        is_sum = all(c > 0 for _, c in dim.terms)  # else a part may be larger than the whole
        for monomial, coefficient in dim.terms:
            if monomial:
                part = Expr(((monomial, 1),))
                self._note(part, (limit if is_sum else WORD) // abs(coefficient))
            for atom in monomial:
                match atom:
                    case FloorDiv(one, other) | Extremum(_, one, other):
                        self.learn(one, WORD)
                        self.learn(other, WORD)
                    case Symbol():
                        pass

    def _note(self, dim: Expr, limit: int) -> None:
        self.known[dim] = min(limit, self.known.get(dim, limit))
