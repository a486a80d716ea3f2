"""The algebra of sizes against plain integers: what it simplifies keeps its number."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flowc.codegen.kernels.cluster import row_major, unravel
from flowc.ir import dims
from flowc.ir.dims import (
    Dim,
    Expr,
    Extremum,
    FloorDiv,
    Symbol,
    ceildiv,
    evaluate,
    expression,
    floordiv,
    fresh_symbol,
    is_nonnegative,
    lone_symbol,
    maximum,
    minimum,
    substitute,
    symbol,
    symbols_of,
)
from flowc.ir.text.dim_parsing import parse_dim

Array = np.ndarray[Any, Any]
N, M = symbol("n"), symbol("m")
SIZES = ("n", "m")
EXTENTS: dict[str, Dim] = {
    "i": 3,
    "j": 7,
    "k": N,
    "l": N * 2,
    "p": floordiv(N + 1, 2),
    "q": N - 1,
    "r": N * M,
}
INNER, OUTER = symbol("i", 3), symbol("j", 7)


class Pair:
    """An expression beside the function of the symbols' numbers that it must agree with: NaN where
    a divisor is not positive, which the algebra says nothing of."""

    def __init__(self, dim: Dim, number: Any) -> None:
        self.dim = dim
        self.number = number

    def __repr__(self) -> str:
        return str(self.dim)


def _combine(operation: str, a: Pair, b: Pair) -> Pair:
    match operation:
        case "+":
            return Pair(a.dim + b.dim, lambda e: a.number(e) + b.number(e))
        case "-":
            return Pair(a.dim - b.dim, lambda e: a.number(e) - b.number(e))
        case "*":
            return Pair(a.dim * b.dim, lambda e: a.number(e) * b.number(e))
        case "max":
            return Pair(maximum(a.dim, b.dim), lambda e: np.maximum(a.number(e), b.number(e)))
        case _:
            return Pair(minimum(a.dim, b.dim), lambda e: np.minimum(a.number(e), b.number(e)))


def _divide(operation: str, a: Pair, b: Pair) -> Pair:
    def divisor(e: Any) -> Any:
        found = np.asarray(b.number(e), float)
        return np.where(found > 0, found, np.nan)

    match operation:
        case "//":
            return Pair(a.dim // b.dim, lambda e: a.number(e) // divisor(e))
        case "%":
            return Pair(a.dim % b.dim, lambda e: a.number(e) % divisor(e))
        case _:
            return Pair(ceildiv(a.dim, b.dim), lambda e: -(-a.number(e) // divisor(e)))


def _symbols(env: Mapping[str, int]) -> dict[Symbol, int]:
    return {Symbol(name): number for name, number in env.items()}


def _number(n: int) -> Pair:
    return Pair(n, lambda e: n)


def _named(name: str) -> Pair:
    return Pair(symbol(name, EXTENTS.get(name)), lambda e: e[name])


NUMBERS = st.integers(-6, 12).map(_number)
SYMBOLS = st.sampled_from([*SIZES, *EXTENTS]).map(_named)
DIVISORS = st.one_of(
    st.integers(1, 8).map(_number),
    st.sampled_from(SIZES).map(_named),
    st.builds(
        lambda n, name: _combine("*", _number(n), _named(name)),
        st.integers(1, 4),
        st.sampled_from(SIZES),
    ),
    st.sampled_from([_combine("*", _named("n"), _named("m"))]),
    st.sampled_from([_combine("+", _named("n"), _number(1))]),
)
PAIRS = st.recursive(
    st.one_of(SYMBOLS, NUMBERS),
    lambda inner: st.one_of(
        st.builds(_combine, st.sampled_from(["+", "-", "*", "+", "-", "max", "min"]), inner, inner),
        st.builds(_divide, st.sampled_from(["//", "%", "ceil"]), inner, DIVISORS),
    ),
    max_leaves=7,
)


def _largest(name: str) -> Pair:
    extent = EXTENTS[name]
    return Pair(extent - 1, lambda e: numbers_of(extent, e) - 1)


@st.composite
def leftovers(draw: st.DrawFn) -> Pair:
    """What indices leave of their bounds, and a little more or less: a proof that such a thing is
    not negative needs the bounds, and it is nearly as often false as true."""
    total = _number(draw(st.integers(-1, 2)))
    for _ in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from([*EXTENTS]))
        bound, index = _largest(name), _named(name)
        if draw(st.booleans()):
            divisor = draw(DIVISORS)
            bound, index = _divide("//", bound, divisor), _divide("//", index, divisor)
        other = draw(st.sampled_from([None, *SIZES, "i", "j", "k"]))
        if other is not None:
            most = _largest(other) if other in EXTENTS else _named(other)
            bound, index = _combine("*", bound, most), _combine("*", index, _named(other))
        factor = _number(draw(st.integers(1, 4)))
        total = _combine("+", total, _combine("*", factor, _combine("-", bound, index)))
    return total


ANY = st.one_of(
    PAIRS,
    leftovers(),
    st.builds(_divide, st.just("//"), leftovers(), DIVISORS),
    st.builds(_combine, st.sampled_from(["max", "min", "-"]), leftovers(), PAIRS),
    st.builds(lambda a, b, d: _combine("-", a, _divide("//", b, d)), PAIRS, leftovers(), DIVISORS),
)


@st.composite
def environments(draw: st.DrawFn) -> dict[str, int]:
    """Numbers for all symbols: sizes from 2, indices below their extents."""
    env = {name: draw(st.integers(2, 9)) for name in SIZES}
    for name, extent in EXTENTS.items():
        env[name] = draw(st.integers(0, evaluate(extent, _symbols(env)) - 1))
    return env


def all_assignments() -> dict[str, Array]:
    """Every small size, 0 too, with the first and the last places of every index."""
    rows: list[tuple[int, ...]] = []
    for n, m in product((0, 1, 2, 4), (0, 1, 3)):
        extents = [evaluate(x, _symbols({"n": n, "m": m})) for x in EXTENTS.values()]
        places = [{0, 1, x - 1} & set(range(x)) for x in extents]
        rows += [(n, m, *chosen) for chosen in product(*places)]
    return dict(zip((*SIZES, *EXTENTS), np.array(rows, float).T))


def numbers_of(dim: Dim, env: Mapping[str, Array]) -> Array:
    """What an expression is for each assignment, term by term as it stands."""
    if isinstance(dim, int):
        return np.array(float(dim))
    total = np.array(0.0)
    for monomial, coefficient in dim.terms:
        term = np.array(float(coefficient))
        for atom in monomial:
            match atom:
                case Symbol():
                    term = term * env[atom.name]
                case FloorDiv():
                    under = numbers_of(atom.denominator, env)
                    over = numbers_of(atom.numerator, env)
                    term = term * (over // np.where(under > 0, under, np.nan))
                case Extremum():
                    choose = np.maximum if atom.kind == "max" else np.minimum
                    term = term * choose(numbers_of(atom.left, env), numbers_of(atom.right, env))
        total = total + term
    return total


ASSIGNMENTS = all_assignments()


def counterexample(wrong: Array) -> dict[str, int] | None:
    """The first assignment for which something is wrong."""
    wrong = np.broadcast_to(wrong, ASSIGNMENTS["n"].shape)
    at = int(np.argmax(wrong))
    return {name: int(x[at]) for name, x in ASSIGNMENTS.items()} if wrong[at] else None


@settings(max_examples=600, deadline=None, derandomize=True)
@given(ANY)
def test_expressions_agree_with_integers(pair: Pair) -> None:
    wanted = np.asarray(pair.number(ASSIGNMENTS), float)
    found = numbers_of(pair.dim, ASSIGNMENTS)
    assert counterexample((found != wanted) & ~np.isnan(wanted)) is None


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(ANY)
def test_what_is_proved_nonnegative_is(pair: Pair) -> None:
    """No size and no index makes it negative."""
    found = np.asarray(pair.number(ASSIGNMENTS), float)
    for dim, numbers in ((pair.dim, found), (-pair.dim, -found), (pair.dim - 1, found - 1)):
        if is_nonnegative(dim):
            assert counterexample(numbers < 0) is None, dim


@settings(max_examples=300, deadline=None, derandomize=True)
@given(ANY, environments())
def test_evaluation_agrees(pair: Pair, env: dict[str, int]) -> None:
    assert evaluate(pair.dim, _symbols(env)) == pair.number(env)


@pytest.mark.parametrize("name", EXTENTS)
def test_an_index_is_proved_to_be_below_its_extent(name: str) -> None:
    index, extent = symbol(name, EXTENTS[name]), EXTENTS[name]
    assert is_nonnegative(index) and is_nonnegative(extent - 1 - index)
    assert not is_nonnegative(extent - 2 - index) and not is_nonnegative(index - 1)
    assert floordiv(index, extent) == 0


def test_products_of_what_may_be_negative_are_not_bounded_from_above() -> None:
    low = floordiv(INNER - 20, 2)  # -10 or -9
    assert not is_nonnegative(5 - floordiv(low * low, 4))
    assert not is_nonnegative(floordiv(OUTER - 30, 2) * INNER * -1 - 12)
    assert (
        is_nonnegative(6 - OUTER)
        and is_nonnegative(12 - OUTER * INNER)
        and not is_nonnegative(11 - OUTER * INNER)
    )


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PAIRS)
def test_text_reads_back(pair: Pair) -> None:
    """With the symbols' extents the same object; without them at least the same numbers."""
    env = {name: symbol(name, extent) for name, extent in EXTENTS.items()}
    assert parse_dim(str(pair.dim), env) == pair.dim


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PAIRS, environments())
def test_text_without_extents_means_the_same(pair: Pair, env: dict[str, int]) -> None:
    assert evaluate(parse_dim(str(pair.dim)), _symbols(env)) == pair.number(env)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(PAIRS, PAIRS, environments())
def test_substitution_agrees(pair: Pair, other: Pair, env: dict[str, int]) -> None:
    inner = env | {"m": abs(int(other.number(env))) + 1}
    assume(inner["r"] < inner["n"] * inner["m"])  # the extent of r
    replaced = substitute(pair.dim, {Symbol("m"): maximum(other.dim, other.dim * -1) + 1})
    assert evaluate(replaced, _symbols(env)) == evaluate(pair.dim, _symbols(inner))


@settings(max_examples=200, deadline=None, derandomize=True)
@given(PAIRS, PAIRS, PAIRS)
def test_polynomials_are_canonical(a: Pair, b: Pair, c: Pair) -> None:
    """Equal polynomials are equal objects, however they were written."""
    x, y, z = a.dim, b.dim, c.dim
    assert (x + y) + z == x + (y + z)
    assert x * y == y * x
    assert x * (y + z) == x * y + x * z
    assert hash((x + y) * z) == hash(z * y + z * x)
    assert x - x == 0


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from([1, 2, 3, 5, N, M]), min_size=1, max_size=4))
def test_unravel_undoes_row_major(dims: list[Dim]) -> None:
    index = tuple(0 if size == 1 else symbol(f"a{d}", size) for d, size in enumerate(dims))
    assert unravel(row_major(tuple(dims), index), tuple(dims)) == index


def test_places_in_an_empty_tensor_divide_by_no_zero() -> None:
    assert unravel(0, (2, 0, 3)) == (0, 0, 0)
    assert unravel(symbol("i"), (2, 0, 3))[1] == 0


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from([2, 3, 4]), min_size=2, max_size=4),
    st.integers(0, 3),
    st.data(),
)
def test_reshape_there_and_back_is_the_index_itself(
    dims: list[int], at: int, data: st.DataObject
) -> None:
    """A reshape that merges two dims, and one that splits them again, leave no arithmetic."""
    at %= len(dims) - 1
    merged = (*dims[:at], dims[at] * dims[at + 1], *dims[at + 2 :])
    index = tuple(symbol(f"a{d}", size) for d, size in enumerate(dims))
    there = unravel(row_major(tuple(dims), index), merged)
    back = unravel(row_major(merged, there), tuple(dims))
    assert back == index


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        ((N * 4) // 4, N),
        ((N * 6) // 4, "floordiv(n, 2) + n"),
        ((N * 8 + INNER) // 8, N),
        ((INNER + OUTER * 3) // 3, OUTER),
        ((INNER + OUTER * 3) % 3, INNER),
        (((N // 2) // 3), "floordiv(n, 6)"),
        (OUTER // 7, 0),
        (OUTER % 7, OUTER),
        (OUTER // 4, "floordiv(j, 4)"),
        ((N * M + symbol("k", N)) // N, M),
        ((N // 4) * 4 + N % 4, N),
        (maximum(N, N + 1), N + 1),
        (minimum(INNER, 2), INNER),
        (maximum(0, N), N),
        (ceildiv(N * 64, 64), N),
        (dims.product([N, 3, M]), "3*m*n"),
        (-N + 5, "-n + 5"),
    ],
)
def test_simplifications(found: Dim, wanted: Dim | str) -> None:
    assert found == wanted or str(found) == wanted


def test_constants_are_ints_and_expressions_are_never_tested_for_truth() -> None:
    assert N - N == 0 and isinstance(N - N, int)
    with pytest.raises(TypeError, match="not known"):
        bool(N)
    assert N != 3 and symbol("n") == N and N != M


def test_symbols_are_found_in_order_everywhere() -> None:
    value = floordiv(N * 3 + 1, 2) + maximum(M, symbol("q") - 4)
    assert {str(s) for s in symbols_of(value)} == {"n", "m", "q"}
    assert isinstance(value, Expr)
    assert any(isinstance(a, FloorDiv) for monomial, _ in value.terms for a in monomial)


@pytest.mark.parametrize("text", ["n +", "n ** 2", "f(n, 2)", "1.5", "n and m", "", "'n'"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a size"):
        parse_dim(text)


def test_evaluation_needs_every_symbol() -> None:
    with pytest.raises(KeyError, match="m"):
        evaluate(N + M, {Symbol("n"): 1})


# -- symbols


def test_sizes_of_one_name_that_nobody_gave_are_apart() -> None:
    one, other = fresh_symbol("n"), fresh_symbol("n")
    assert one != other and Symbol("n") not in (one, other) and Symbol("n") == Symbol("n")
    difference = expression(one) - expression(other)
    assert isinstance(difference, Expr) and str(difference) == "n - n"
    assert expression(one) - expression(one) == 0
    assert floordiv(expression(one) * expression(other), expression(other)) == expression(one)
    assert list(symbols_of(difference, N)) == [one, other, Symbol("n")]
    assert substitute(difference, {other: expression(one)}) == 0
    assert evaluate(difference, {one: 7, other: 3}) == 4


@pytest.mark.parametrize("first", [1, 8, 9, 99, 10**11])
def test_what_was_compiled_before_tells_nothing_of_the_order_of_terms(first: int) -> None:
    """Symbols that were made later stand behind, however long their numbers are."""
    a, b, c = (expression(Symbol("n", serial=first + i)) for i in range(3))
    value = c + floordiv(c + a, 2) + b * c + maximum(c, a * 2) + a
    terms = [symbols_of(Expr((term,))) for term in value.terms]
    serials = [[s.serial - first for s in found] for found in terms]
    assert serials == [[1, 2], [0, 2], [0, 2], [0], [2]]
    assert sorted([Symbol("n", serial=first + 1), Symbol("n", serial=first), Symbol("m")]) == [
        Symbol("m"),
        Symbol("n", serial=first),
        Symbol("n", serial=first + 1),
    ]


def test_a_size_by_itself() -> None:
    size = fresh_symbol("n")
    assert lone_symbol(expression(size)) == size and lone_symbol(N) == Symbol("n")
    for other in (3, N * 2, N + 1, N * M, N // 2, maximum(N, M), symbol("i", 4)):
        assert lone_symbol(other) is None, other


def test_sizes_are_replaced_in_the_extents_of_indices() -> None:
    """What is proved of an index is proved with the sizes that stand there now."""
    n, m = Symbol("n"), Symbol("m")
    for index in (symbol("k", N), symbol("k", N) * 1 + 0, symbol("k", N // 2 * 2)):
        known = substitute(index, {n: expression(m) * 4})
        assert is_nonnegative(expression(m) * 4 - 1 - known)
        assert floordiv(known, M * 4) == 0
    assert is_nonnegative(4 - substitute(symbol("k", N), {n: 5}))
    assert not is_nonnegative(3 - substitute(symbol("k", N), {n: 5}))
    inner = symbol("k", N - symbol("j", N))  # an extent that another index is in
    assert is_nonnegative(M - 1 - substitute(inner, {n: M, Symbol("j"): 0}))
    assert substitute(symbol("k", N), {m: 5}) == symbol("k", N)
    assert symbols_of(substitute(symbol("k", N), {n: M})) == symbols_of(symbol("k"))
