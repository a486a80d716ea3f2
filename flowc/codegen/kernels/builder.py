"""Builds a loop nest: statements in blocks, and sizes and indices as expressions in them.

In: expressions, and Dims. Out: the body of a `LoopNest`, and the sizes that it takes as ints.
Invariant: common subexpressions of the open blocks are computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flowc import dtypes
from flowc.codegen.kernels.kernel import Fault
from flowc.codegen.kernels.nest import (
    Apply,
    Assign,
    Declare,
    Expression,
    For,
    If,
    Index,
    IndexSum,
    Invoke,
    Let,
    Name,
    Scalar,
    Statement,
    Store,
    While,
)
from flowc.ir.dims import Dim, Expr, Extremum, FloorDiv, Symbol, expression, is_nonnegative

LOCAL = "$"  # starts the names of index symbols that are names of the nest, not sizes
INLINE_SIZES = 32  # smaller known sizes stand in the nest; larger ones are ints that it is given


def int_name(name: str) -> Name:
    """A loop variable, an int parameter or another int64."""
    return Name(name, dtypes.i64)


def int_number(value: int) -> IndexSum:
    return IndexSum(((value, ()),) if value else ())


def int_sum(*terms: str | int | tuple[int, str]) -> Index:
    """A sum of names, of numbers, and of products of the two; `-name` is taken away."""
    found: list[tuple[int, tuple[str, ...]]] = []
    for term in terms:
        match term:
            case str():
                found.append((-1 if term.startswith("-") else 1, (term.removeprefix("-"),)))
            case int():
                found.append((term, ()))
            case (factor, name):
                found.append((factor, (name,)))
    return _simplest(found)


def _simplest(terms: Sequence[tuple[int, tuple[str, ...]]]) -> Index:
    """A sum without zeros; a name where it is one."""
    kept = tuple(t for t in terms if t[0])
    if len(kept) == 1 and kept[0][0] == 1 and len(kept[0][1]) == 1:
        return int_name(kept[0][1][0])
    return IndexSum(kept)


class NestBuilder:
    """The statements of one kernel, with the ints that they name."""

    def __init__(self) -> None:
        self.body: list[Statement] = []  # of the innermost open block
        self.ints: list[Dim] = []
        self.int_names: dict[Dim, str] = {}
        self.inline_sizes = INLINE_SIZES
        self.counter = 0
        self.scopes: list[dict[Any, Any]] = [{}]
        self.faults: list[Fault] = []
        self.node = ""  # the name of the node that statements are built for
        # Indices below sizes that may be 0, by name: where they are right. Elsewhere there may be
        # no element at all, and none is read.
        self.right_where: dict[str, Name] = {}

    # -- statements and blocks

    def let(self, value: Expression, prefix: str = "t") -> Name:
        self.counter += 1
        name = f"{prefix}{self.counter}"
        self.body.append(Let(name, value))
        return Name(name, value.dtype)

    def named(self, name: str, value: Expression) -> Name:
        """A value whose name is known."""
        self.body.append(Let(name, value))
        return Name(name, value.dtype)

    def declare(self, name: str, value: Expression) -> Name:
        self.body.append(Declare(name, value))
        return Name(name, value.dtype)

    def variable(self, value: Expression) -> Name:
        """A variable with a name of its own."""
        self.counter += 1
        return self.declare(f"s{self.counter}", value)

    def assign(self, name: str, value: Expression) -> None:
        self.body.append(Assign(name, value))

    def store(self, buffer: str, index: Index, value: Scalar | IndexSum) -> None:
        self.body.append(Store(buffer, index, value))

    def invoke(self, function: str, *operands: Expression) -> None:
        self.body.append(Invoke(function, operands))

    @contextmanager
    def _block(self) -> Iterator[list[Statement]]:
        """Statements of a block; what is known inside is forgotten after it."""
        outer, self.body = self.body, []
        self.scopes.append({})
        yield self.body
        self.scopes.pop()
        self.body = outer

    @contextmanager
    def loop(self, name: str, start: Index, stop: Index, step: int = 1) -> Iterator[None]:
        with self._block() as body:
            yield
        self.body.append(For(name, start, stop, step, tuple(body)))

    @contextmanager
    def forever(self) -> Iterator[None]:
        with self._block() as body:
            yield
        self.body.append(While(tuple(body)))

    @contextmanager
    def when(self, condition: Expression) -> Iterator[None]:
        with self._block() as body:
            yield
        self.body.append(If(condition, tuple(body)))

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """Right behind a `when`: where its condition does not hold."""
        with self._block() as body:
            yield
        last = self.body.pop()
        assert isinstance(last, If)
        self.body.append(If(last.condition, last.body, tuple(body)))

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """The value made before for this key in a block still open, or a new one."""
        made = self.known(key)
        if made is None:
            made = self.scopes[-1][key] = make()
        return made

    def known(self, key: Any) -> Any:
        """The value made before for this key in a block still open, or None."""
        for scope in reversed(self.scopes):
            if key in scope:
                return scope[key]
        return None

    # -- sizes and indices

    def size(self, dim: Dim) -> Index:
        """An expression over sizes only: small numbers as they are, all else an int parameter."""
        if isinstance(dim, int) and abs(dim) < self.inline_sizes:
            return int_number(dim)
        return self.parameter(dim)

    def parameter(self, dim: Dim) -> Name:
        """An int parameter that is given the size."""
        if dim not in self.int_names:
            self.int_names[dim] = self.own_parameter(dim).name
        return int_name(self.int_names[dim])

    def own_parameter(self, dim: Dim) -> Name:
        """The same, which nothing else of that size shares."""
        self.ints.append(dim)
        return int_name(f"n{len(self.ints) - 1}")

    def index(self, dim: Dim) -> Index:
        """An expression over loop indices and sizes."""
        if not has_local(dim):
            return self.size(dim)
        assert isinstance(dim, Expr)
        groups: dict[tuple[Any, ...], Dim] = {}
        for monomial, coefficient in dim.terms:
            local = tuple(a for a in monomial if _atom_local(a))
            rest: Dim = coefficient
            for atom in monomial:
                if not _atom_local(atom):
                    rest = rest * expression(atom)
            groups[local] = groups.get(local, 0) + rest
        terms: list[tuple[int, tuple[str, ...]]] = []
        for local, factor in groups.items():
            if factor == 0:
                continue
            names = tuple(self._atom(a) for a in local)
            size = IndexSum() if factor in (1, -1) and names else self.size(factor)
            if isinstance(size, Name):
                terms.append((1, (*names, size.name)))
            else:
                assert isinstance(factor, int)
                terms.append((factor, names))
        return _simplest(terms)

    def _atom(self, atom: Symbol | FloorDiv | Extremum) -> str:
        match atom:
            case Symbol(name):
                return name.removeprefix(LOCAL)
            case FloorDiv(top, bottom):
                # Divisors stand as numbers where they are known: division by a constant is cheap.
                below = int_number(bottom) if isinstance(bottom, int) else self.index(bottom)
                return self.remember(("idiv", top, bottom), lambda: self._quotient(top, below))
            case Extremum(kind, left, right):
                a, b = self.index(left), self.index(right)
                op = "larger" if kind == "max" else "smaller"
                return self.remember(("extremum", atom), lambda: self._int(op, a, b))

    def _quotient(self, top: Dim, below: Index) -> str:
        """A name for floor(top / below); `idiv` rounds to zero."""
        found = self._int("idiv", self.index(top), below)
        if is_nonnegative(top):
            return found
        return self._int("floored", int_name(found), below, self.index(top))

    def _int(self, op: str, *operands: Index) -> str:
        return self.let(Apply(op, operands, dtypes.i64), "q").name


def has_local(dim: Dim) -> bool:
    """Whether an index expression depends on a name of the nest."""
    return isinstance(dim, Expr) and any(_atom_local(a) for m, _ in dim.terms for a in m)


def _atom_local(atom: Symbol | FloorDiv | Extremum) -> bool:
    match atom:
        case Symbol(name):
            return name.startswith(LOCAL)
        case FloorDiv(top, bottom):
            return has_local(top) or has_local(bottom)
        case Extremum(_, left, right):
            return has_local(left) or has_local(right)


def linear_factors(dim: Dim) -> dict[Symbol, Dim]:
    """What each index is multiplied with, where it is the only one of a term."""
    found: dict[Symbol, Dim] = {}
    for monomial, coefficient in dim.terms if isinstance(dim, Expr) else ():
        local = [a for a in monomial if isinstance(a, Symbol) and _atom_local(a)]
        if len(local) != 1:
            continue
        factor: Dim = coefficient
        for atom in monomial:
            if atom is not local[0]:
                factor = factor * expression(atom)
        found[local[0]] = found.get(local[0], 0) + factor
    return found


def negation(condition: Expression) -> Apply:
    return Apply("logical_not", (condition,), dtypes.bool_)


def compare(op: str, x: Expression, y: Expression) -> Apply:
    return Apply(op, (x, y), dtypes.bool_)


def both(x: Expression, y: Expression) -> Apply:
    return Apply("logical_and", (x, y), dtypes.bool_)


def either(x: Expression, y: Expression) -> Apply:
    return Apply("logical_or", (x, y), dtypes.bool_)


def int_op(op: str, *operands: Index) -> Apply:
    return Apply(op, operands, dtypes.i64)
