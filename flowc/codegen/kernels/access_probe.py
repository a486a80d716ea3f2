"""How a cluster's accesses and conditions depend on the index of the element that is computed.

In: a body of elementwise ops and views. Out: an `AccessProbe`, from a lowering that is thrown away:
which adjacent dims one loop can walk, where conditions change, what is worth tiles.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.codegen.kernels.builder import LOCAL, has_local, linear_factors
from flowc.codegen.kernels.cluster import ClusterLowering, unravel
from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.codegen.kernels.nest import (
    Apply,
    Expression,
    IndexSum,
    Load,
    Name,
    Statement,
    Store,
    expressions_of,
    parts_of,
    statements_within,
)
from flowc.codegen.kernels.scalars import Condition
from flowc.ir.computation import Computation
from flowc.ir.dims import (
    Dim,
    Expr,
    Symbol,
    ceildiv,
    expression,
    product,
    substitute,
    symbol,
    symbols_of,
)
from flowc.ir.types import Dims


class AccessProbe:
    """How accesses and conditions of a body depend on the index of the element that is computed.

    `strides`: for each access the factor of every index. `tied`: indices that are used in any other
    way than linearly in addresses. `conditions`: ranges that are asked for.
    """

    def __init__(self, body: Computation, choices: LoopChoices) -> None:
        self.choices = choices
        self.dims = body.results[0].dims
        self.c = c = ClusterLowering(body, ())
        index = tuple(
            0 if size == 1 else symbol(_probe(d).name, size) for d, size in enumerate(self.dims)
        )
        store_all(c, body, [index])
        self.strides = [linear_factors(a) for a in c.addresses]
        self.conditions: list[Condition] = c.k.conditions
        self.tied = self._tied()

    def _tied(self) -> set[Symbol]:
        found = {Symbol(LOCAL + name) for name in names_beside_addresses(self.c.nest.body)}
        return found.union(*map(nonlinear_locals, self.c.addresses))

    def is_divided(self, dim: int) -> bool:
        """Whether the index is used in any way that is not linear. Where it only is compared, or is
        a value itself, its neighbours are, too."""
        index = _probe(dim)
        is_named = index.name.removeprefix(LOCAL) in _names_in_divisions(self.c.nest.body)
        return is_named or any(index in nonlinear_locals(a) for a in self.c.addresses)

    def groups(self) -> list[list[int]]:
        """Groups of adjacent dims (without those of size 1) that one loop can walk: a step of the
        one is as far as all of the other in every access, and neither is tied."""
        found: list[list[int]] = []
        for d, size in enumerate(self.dims):
            if size == 1:
                continue
            if found and self._mergeable(found[-1][-1], d):
                found[-1].append(d)
            else:
                found.append([d])
        return found

    def _mergeable(self, a: int, b: int) -> bool:
        x, y = _probe(a), _probe(b)
        if x in self.tied or y in self.tied:
            return False
        return all(s.get(x, 0) == s.get(y, 0) * self.dims[b] for s in self.strides)

    def tiled_with(self, groups: Sequence[Sequence[int]]) -> int | None:
        """The group that walks a read without gaps where the last group steps over rows of it."""
        if len(groups) < 2 or self._few(groups[-1]):
            return None
        last = _probe(groups[-1][-1])
        # In stretches, where conditions are known, nothing is clamped.
        clamped = self.c.clamped if self.choices.inner_loops else {}
        for address in self.c.addresses:
            strides = linear_factors(substitute(address, clamped))
            if strides.get(last, 0) in (0, 1):
                continue
            for number, group in enumerate(groups[:-1]):
                if strides.get(_probe(group[-1]), 0) == 1 and not self._few(group):
                    return number
        return None

    def _few(self, group: Sequence[int]) -> bool:
        size = product(self.dims[d] for d in group)
        return isinstance(size, int) and size < self.choices.few

    def split_points(self, dim: int) -> list[Dim]:
        """Where along a dim the truth of conditions may change."""
        found: list[Dim] = []
        for value, low, high in self.conditions:
            # Within a stretch in which an outer condition holds, nothing is clamped.
            factor, rest = _on_one_index(substitute(value, self.c.clamped), _probe(dim))
            for limit in (low, high):
                if factor == 1:
                    found.append(limit - rest)
                elif factor == -1:
                    found.append(rest - limit + 1)
                elif factor > 1:
                    found.append(ceildiv(limit - rest, factor))
        return list(dict.fromkeys(p for p in found if not has_local(p)))


def names_beside_addresses(body: Sequence[Statement]) -> set[str]:
    """The names that stand anywhere but in the indices of loads and stores."""
    found: set[str] = set()
    for statement in statements_within(body):
        for value in expressions_of(statement):
            addresses = {id(statement.index)} if isinstance(statement, Store) else set[int]()
            for part in parts_of(value):
                match part:
                    case Load(index=index):
                        addresses.add(id(index))
                    case Name(name=name) if id(part) not in addresses:
                        found.add(name)
                    case IndexSum(terms=terms) if id(part) not in addresses:
                        found.update(name for _, names in terms for name in names)
                    case _:
                        pass
    return found


def _names_in_divisions(body: Sequence[Statement]) -> set[str]:
    """The names in what is divided, and in what is the larger or the smaller of indices."""
    found: set[str] = set()
    for statement in statements_within(body):
        for value in expressions_of(statement):
            for part in parts_of(value):
                if isinstance(part, Apply) and part.op in _DIVISIONS:
                    found.update(*map(_names_of, part.operands))
    return found


_DIVISIONS = frozenset({"idiv", "floored", "larger", "smaller"})


def _names_of(index: Expression) -> set[str]:
    match index:
        case Name(name=name):
            return {name}
        case IndexSum(terms=terms):
            return {name for _, names in terms for name in names}
        case _:
            return set()


def _probe(dim: int) -> Symbol:
    return Symbol(f"{LOCAL}a{dim}")


def nonlinear_locals(address: Dim) -> set[Symbol]:
    found: set[Symbol] = set()
    for monomial, _ in address.terms if isinstance(address, Expr) else ():
        local = [a for a in monomial if has_local(expression(a))]
        if len(local) != 1 or not isinstance(local[0], Symbol):
            found.update(symbols_of(*map(expression, local)))
    return found


def _on_one_index(value: Dim, index: Symbol) -> tuple[int, Dim]:
    """(factor, rest) where `value == factor*index + rest`, rest without indices; else (0, 0)."""
    factor = linear_factors(value).get(index, 0)
    if not isinstance(factor, int) or factor == 0:
        return 0, 0
    rest = value - expression(index) * factor
    return (0, 0) if has_local(rest) else (factor, rest)


def store_all(c: ClusterLowering, body: Computation, indices: Sequence[tuple[Dim, ...]]) -> None:
    scalars = [[c.element(v, index) for index in indices] for v in body.results]
    for value, of_value in zip(body.results, scalars):
        for index, x in zip(indices, of_value):
            c.store(value, index, x)


def element_index(
    dims: Dims, groups: Sequence[Sequence[int]], chosen: Sequence[Dim]
) -> tuple[Dim, ...]:
    """The index in all dims, of those in the groups."""
    index: list[Dim] = [0] * len(dims)
    for group, s in zip(groups, chosen):
        for d, i in zip(group, unravel(s, tuple(dims[d] for d in group))):
            index[d] = i
    return tuple(index)
