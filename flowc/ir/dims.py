"""Sizes and indices as exact integer expressions.

In: ints, symbols, and `+ - * // %` of them. Out: an `int` where the value is known, else an `Expr`
in canonical form, so that equal polynomials are equal objects. Invariant: an `Expr` is never a
constant; `%` is written `a - b*(a//b)`, so that `(a//b)*b + a%b` cancels to `a` by itself.

Divisors are positive and symbols are non-negative: sizes, and loop indices below their extent.
Symbols are compared by identity; their names are for readers only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from itertools import count
from typing import SupportsInt, Union

from flowc.dataclass import dataclass

Dim = Union[int, "Expr"]


@dataclass(frozen=True, slots=True, order=True)
class Symbol:
    """A non-negative integer; `extent`, when given, is an exclusive upper bound.

    What callers and texts name is one symbol wherever it has that name; it has serial 0. Any other
    one is the same as no other (`fresh_symbol`): its name is a hint, from which `name_sizes` makes
    one that tells it apart. Only the order of serials may be relied on, which is that in which a
    program's symbols were made: their numbers depend on what else the process has compiled.
    """

    name: str
    extent: Dim | None = field(default=None, compare=False)
    serial: int = 0

    def __hash__(self) -> int:
        return self.serial or hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """floor(numerator / denominator), denominator > 0."""

    numerator: Dim
    denominator: Dim

    def __str__(self) -> str:
        return _text(self, str)


@dataclass(frozen=True, slots=True)
class Extremum:
    """The larger (`kind == "max"`) or smaller of two expressions."""

    kind: str
    left: Dim
    right: Dim

    def __str__(self) -> str:
        return _text(self, str)


Atom = Symbol | FloorDiv | Extremum
Monomial = tuple[Atom, ...]


class Expr:
    """A polynomial with integer coefficients over atoms; immutable, hashable, never constant."""

    __slots__ = ("_hash", "terms")
    terms: tuple[tuple[Monomial, int], ...]

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]) -> None:
        self.terms = terms
        self._hash = hash(terms)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expr) and self.terms == other.terms

    # The operators' operands are unchecked at run time: Python tries the other side's operator
    # after NotImplemented, whatever the annotations say.

    def __add__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Expr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if isinstance(other, int):
            return self._plus_number(other) if other else self
        total = dict(self.terms)
        for monomial, coefficient in other.terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        return _make(total)

    __radd__ = __add__

    def _plus_number(self, number: int) -> Expr:
        """With a number, which is the last of the terms."""
        monomial, coefficient = self.terms[-1]
        if monomial:
            return Expr((*self.terms, ((), int(number))))
        last = coefficient + number
        return Expr((*self.terms[:-1], *([((), last)] if last else [])))

    def __neg__(self) -> Dim:
        return self * -1

    def __sub__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Expr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        return self + other * -1

    def __rsub__(self, other: Dim) -> Dim:
        return self * -1 + other

    def __mul__(self, other: Dim) -> Dim:
        if not isinstance(other, (int, Expr)):  # pyright: ignore[reportUnnecessaryIsInstance]
            return NotImplemented
        if isinstance(other, int):
            if other == 1:
                return self
            return Expr(tuple([(m, c * other) for m, c in self.terms])) if other else 0
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                key = tuple(sorted(left + right, key=_order)) if left and right else left or right
                total[key] = total.get(key, 0) + a * b
        return _make(total)

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other)

    def __rfloordiv__(self, other: Dim) -> Dim:
        return floordiv(other, self)

    def __mod__(self, other: Dim) -> Dim:
        return self - floordiv(self, other) * other

    def __rmod__(self, other: Dim) -> Dim:
        return other - floordiv(other, self) * self

    def __bool__(self) -> bool:
        raise TypeError(f"the size {self} is not known: compare with ==, or ask is_nonnegative")

    def __int__(self) -> int:
        raise TypeError(f"the size {self} is not known")

    def __str__(self) -> str:
        return _text(self, str)

    __repr__ = __str__


def _text(value: Dim | Atom, name: Callable[[Symbol], str]) -> str:
    match value:
        case Symbol():
            return name(value)
        case FloorDiv(top, bottom):
            return f"floordiv({_text(top, name)}, {_text(bottom, name)})"
        case Extremum(kind, left, right):
            return f"{kind}({_text(left, name)}, {_text(right, name)})"
        case int():
            return str(value)
        case Expr():
            pass
    parts: list[str] = []
    for monomial, coefficient in value.terms:
        text = "*".join(_text(a, name) for a in monomial)
        if not monomial:
            text = str(abs(coefficient))
        elif abs(coefficient) != 1:
            text = f"{abs(coefficient)}*{text}"
        sign = "-" if coefficient < 0 else "+"
        parts.append(f" {sign} {text}" if parts else (f"-{text}" if coefficient < 0 else text))
    return "".join(parts)


def _order(value: Dim | Atom) -> str:
    """What atoms are sorted by."""
    return _order_of_symbol(value) if isinstance(value, Symbol) else _text(value, _order_of_symbol)


def _order_of_symbol(value: Symbol) -> str:
    return f"{value.name}'{value.serial:012}" if value.serial else value.name


def _terms_order(term: tuple[Monomial, int]) -> tuple[int, list[tuple[str, str]]]:
    monomial, _ = term
    return -len(monomial), [(type(a).__name__, _order(a)) for a in monomial]


def _terms(value: Dim) -> tuple[tuple[Monomial, int], ...]:
    if isinstance(value, Expr):
        return value.terms
    return (((), int(value)),) if value else ()


def _make(terms: Mapping[Monomial, int]) -> Dim:
    kept = [(m, c) for m, c in terms.items() if c]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    if len(kept) > 1:
        kept.sort(key=_terms_order)
    return Expr(tuple(kept))


_serials = count(1)


def fresh_symbol(hint: str) -> Symbol:
    """A symbol that is none of those made before."""
    return Symbol(hint, serial=next(_serials))


def symbol(name: str, extent: Dim | None = None) -> Expr:
    """The expression of one named size, or of one loop index when `extent` is given."""
    return expression(Symbol(name, extent))


def expression(atom: Atom) -> Expr:
    return Expr((((atom,), 1),))


def lone_symbol(dim: Dim) -> Symbol | None:
    """The size that a dim is by itself."""
    match dim:
        case Expr(terms=(((Symbol(extent=None) as found,), 1),)):
            return found
        case _:
            return None


def as_dim(value: SupportsInt) -> Dim:
    """A `Dim` from an int-like value or an `Expr`."""
    return value if isinstance(value, Expr) else int(value)


def floordiv(a: Dim, b: Dim) -> Dim:
    """floor(a / b) for b > 0, simplified with what is known of the ranges of symbols."""
    if isinstance(a, int) and isinstance(b, int):
        return a // b
    if b == 1 or a == 0:
        return a
    quotient, rest = _split_multiples(a, b)
    if rest == 0 or (is_nonnegative(rest) and is_nonnegative(b - 1 - rest)):
        return quotient
    return quotient + _reduce_fraction(rest, b)


def _split_multiples(a: Dim, b: Dim) -> tuple[Dim, Dim]:
    """a == quotient*b + rest, with every term of `a` that b divides moved into the quotient."""
    divisor = _terms(b)
    if len(divisor) != 1:
        return (1, 0) if a == b else (0, a)
    (atoms, factor) = divisor[0]
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    for monomial, coefficient in _terms(a):
        left = _without(monomial, atoms)
        whole = coefficient // factor if left is not None else 0
        if left is not None and whole:
            quotient[left] = quotient.get(left, 0) + whole
            coefficient -= whole * factor
        if coefficient:
            rest[monomial] = coefficient
    return _make(quotient), _make(rest)


def _without(monomial: Monomial, atoms: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in atoms:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def _reduce_fraction(a: Dim, b: Dim) -> Dim:
    """floor(a / b) after common factors and nested divisions are taken out."""
    terms = _terms(a)
    if len(terms) == 1 and terms[0][1] == 1 and len(terms[0][0]) == 1:
        inner = terms[0][0][0]
        if isinstance(inner, FloorDiv):
            return floordiv(inner.numerator, inner.denominator * b)
    if isinstance(b, int):
        for coefficient in sorted({abs(c) for _, c in terms if abs(c) > 1}, reverse=True):
            factor = math.gcd(b, coefficient)
            if factor > 1:
                smaller = floordiv(a, factor)
                if not _has_division(smaller):
                    return floordiv(smaller, b // factor)
    return expression(FloorDiv(a, b))


def _has_division(value: Dim) -> bool:
    return any(isinstance(a, FloorDiv) for m, _ in _terms(value) for a in m)


def maximum(a: Dim, b: Dim) -> Dim:
    """The larger of two sizes."""
    return _extremum("max", a, b)


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller of two sizes."""
    return _extremum("min", a, b)


def _extremum(kind: str, a: Dim, b: Dim) -> Dim:
    if is_nonnegative(a - b):
        return a if kind == "max" else b
    if is_nonnegative(b - a):
        return b if kind == "max" else a
    left, right = sorted((a, b), key=_order)
    return expression(Extremum(kind, left, right))


def ceildiv(a: Dim, b: Dim) -> Dim:
    """ceil(a / b) for b > 0."""
    return floordiv(a + b - 1, b)


def product(values: Iterable[Dim]) -> Dim:
    total: Dim = 1
    for value in values:
        total = total * value
    return total


def is_nonnegative(value: Dim) -> bool:
    """Whether `value >= 0` can be proved; False says only that no proof was found."""
    if isinstance(value, int):
        return value >= 0
    for _ in range(8):
        negative = [(m, c) for m, c in value.terms if c < 0]
        if not negative:
            return all(_atom_nonnegative(a) for m, _ in value.terms for a in m)
        bounds = ((m, c, _bounded_atom(m)) for m, c in negative)
        found = next(((m, c, a) for m, c, a in bounds if a is not None), None)
        if found is None:
            return False
        monomial, coefficient, bounded = found
        # An index in a term with a negative sign counts least at its largest value.
        others = _without(monomial, (bounded,)) or ()
        limit = _upper(bounded)
        assert limit is not None
        raised = limit * _make({others: coefficient})
        value = value + _make({monomial: -coefficient}) + raised
        if isinstance(value, int):
            return value >= 0
    return False


def _bounded_atom(monomial: Monomial) -> Atom | None:
    """The first atom with a known largest value, if no atom is negative."""
    found = next((a for a in monomial if _upper(a) is not None), None)
    return found if found is not None and all(map(_atom_nonnegative, monomial)) else None


def _upper(atom: Atom) -> Dim | None:
    """The largest value of an atom, when it is known."""
    if isinstance(atom, Symbol):
        return None if atom.extent is None else atom.extent - 1
    if isinstance(atom, FloorDiv) and isinstance(atom.denominator, int):
        numerator = _upper_of(atom.numerator)
        return None if numerator is None else numerator // atom.denominator
    return None


def _upper_of(value: Dim) -> int | None:
    """A constant upper bound of a polynomial, when every symbol has a constant extent."""
    total = 0
    for monomial, coefficient in _terms(value):
        if not all(_atom_nonnegative(a) for a in monomial):
            return None
        if coefficient < 0:
            continue
        bounds = [_upper(a) for a in monomial]
        if any(not isinstance(b, int) for b in bounds):
            return None
        total += coefficient * math.prod(b for b in bounds if isinstance(b, int))
    return total


def _atom_nonnegative(atom: Atom) -> bool:
    match atom:
        case Symbol():
            return True
        case FloorDiv():
            return is_nonnegative(atom.numerator)
        case Extremum(kind="max"):
            return is_nonnegative(atom.left) or is_nonnegative(atom.right)
        case _:
            return is_nonnegative(atom.left) and is_nonnegative(atom.right)


def symbols_of(*values: Dim) -> dict[Symbol, None]:
    """The symbols in expressions, in order of first sight."""
    found: dict[Symbol, None] = {}
    stack: list[Dim | Atom] = list(reversed(values))
    while stack:
        item = stack.pop()
        match item:
            case Symbol():
                found.setdefault(item)
            case FloorDiv():
                stack += [item.denominator, item.numerator]
            case Extremum():
                stack += [item.right, item.left]
            case Expr():
                stack += [a for m, _ in reversed(item.terms) for a in reversed(m)]
            case _:
                pass
    return found


def rebuild(value: Dim, leaf: Callable[[Symbol], Dim]) -> Dim:
    """The expression with every symbol replaced by what `leaf` gives for it."""
    if isinstance(value, int):
        return value
    total: dict[Monomial, int] = {}
    for monomial, coefficient in value.terms:
        term: Dim = coefficient
        for atom in monomial:
            match atom:
                case Symbol():
                    term = term * leaf(atom)
                case FloorDiv():
                    top = rebuild(atom.numerator, leaf)
                    term = term * floordiv(top, rebuild(atom.denominator, leaf))
                case Extremum():
                    left, right = rebuild(atom.left, leaf), rebuild(atom.right, leaf)
                    term = term * _extremum(atom.kind, left, right)
        for found, factor in _terms(term):
            total[found] = total.get(found, 0) + factor
    return _make(total)


def substitute(value: Dim, env: Mapping[Symbol, Dim]) -> Dim:
    """The expression with symbols replaced, also in the extents of indices; those that are not in
    `env` stay."""

    def leaf(found: Symbol) -> Dim:
        if found in env:
            return env[found]
        if isinstance(found.extent, Expr):
            found = replace(found, extent=substitute(found.extent, env))
        return expression(found)

    if isinstance(value, int):
        return value
    alone = lone_symbol(value)
    return rebuild(value, leaf) if alone is None else env.get(alone, value)


def evaluate(value: Dim, env: Mapping[Symbol, int]) -> int:
    """The number that an expression stands for. Raises `KeyError` for a symbol not in `env`."""
    result = rebuild(value, lambda s: env[s])
    assert isinstance(result, int)
    return result
