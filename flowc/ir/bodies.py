"""Bodies of nodes and the sizes in them: what is used, what is defined, how names are replaced.

In: nodes whose attrs hold Computations. Sizes that are defined where a node stands may be used in
its bodies; those that a body defines are local to it, and so are the `varying` sizes of a loop. A
body may define a name that is also defined outside as long as it does not use the outer one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, Symbol, substitute, symbol, symbols_of
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.types import TensorType

Sizes = Mapping[str, Dim]


def bodies_of(node: Node) -> dict[str, Computation]:
    """The Computations among a node's attrs, in the order of its signature."""
    if node.bodies is None:
        found = {n: v for n, v in node.attrs.items() if isinstance(v, Computation)}
        if len(found) > 1:
            ordered = [n for n in node.op.signature.attrs if n in found]
            found = {n: found[n] for n in (*ordered, *(n for n in found if n not in ordered))}
        node.bodies = found
    return node.bodies


def nodes_within(node: Node) -> Iterator[Node]:
    """The node, and every node in its bodies and theirs."""
    stack = [node]
    while stack:
        found = stack.pop()
        yield found
        for value in found.attrs.values():
            if isinstance(value, Computation):
                stack += reversed(value.nodes)


# -- which sizes are used and defined


def local_sizes(c: Computation) -> set[str]:
    """The sizes that the nodes of a body define, its own only."""
    return {name for node in c.nodes for name, _ in node.sizes}


def sizes_used(node: Node) -> frozenset[str]:
    """The sizes that a node needs from the nodes before it, those for its bodies too."""
    if node.used_sizes is None:
        node.used_sizes = frozenset(_sizes_used(node))
    return node.used_sizes


def _sizes_used(node: Node) -> set[str]:
    found: set[str] = set()
    for type_ in node.types:
        for dim in type_.dims:
            if isinstance(dim, Expr):
                found.update(symbols_of(dim))
    for _, bound in node.sizes:
        _add_symbols(bound, found)
    for value in node.attrs.values():
        if isinstance(value, (tuple, Expr)):
            _add_symbols(value, found)
        elif isinstance(value, ScalarBody):
            found |= value.sizes
    found.difference_update([name for name, _ in node.sizes])
    for body in bodies_of(node).values():
        found |= free_sizes(body).difference(node.attrs.get("varying", ()))
    return found


def free_sizes(c: Computation) -> set[str]:
    """The sizes that a body uses and does not define: for a loop's, `varying` ones too."""
    found: set[str] = set()
    for node in c.nodes:
        found |= sizes_used(node)
    for pair in c.constraints:
        _add_symbols(pair, found)
    return found - local_sizes(c)


def all_sizes(c: Computation) -> set[str]:
    """Every name of a size that occurs in a Computation or its bodies."""
    found = free_sizes(c) | local_sizes(c)
    for node in c.nodes:
        found.update(node.attrs.get("varying", ()))
        for body in bodies_of(node).values():
            found |= all_sizes(body)
    return found


def _add_symbols(value: Any, found: set[str]) -> None:
    if isinstance(value, Expr):
        found.update(symbols_of(value))
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(item, (Expr, tuple)):
                _add_symbols(item, found)


# -- replacing them


def replace_sizes(node: Node, env: Sizes) -> Node:
    """The node with sizes replaced in types, attrs and bodies; itself where none occurs.

    A name that the node defines is replaced where `env` gives another name for it.
    """
    if not env:
        return node
    names = {name for name, _ in node.sizes} | sizes_used(node)
    if names.isdisjoint(env):
        return node
    attrs = dict(node.attrs)
    varying: tuple[str, ...] = node.attrs.get("varying", ())
    inner = {n: d for n, d in env.items() if n not in varying}
    clash = sorted(_symbols(inner.values()).intersection(varying))
    if clash:
        taken = _symbols(inner.values()).union(varying, *map(all_sizes, bodies_of(node).values()))
        renamed = {n: fresh_size(n, taken) for n in clash}
        attrs["varying"] = tuple(renamed.get(n, n) for n in varying)
        inner |= {n: symbol(m) for n, m in renamed.items()}
    for name, value in node.attrs.items():
        if isinstance(value, Computation):
            attrs[name] = replace_sizes_in(value, inner)
        elif isinstance(value, ScalarBody):
            attrs[name] = value.with_sizes(env)
        elif isinstance(value, (tuple, Expr)):
            attrs[name] = _replaced(value, env)
    types = tuple(t.with_dims(substitute(d, env) for d in t.dims) for t in node.types)
    sizes = tuple(
        (_name_of(env.get(name, symbol(name))), None if bound is None else substitute(bound, env))
        for name, bound in node.sizes
    )
    return Node(
        node.op, node.inputs, MappingProxyType(attrs), types, node.after, node.origin, sizes
    )


def replace_sizes_in(c: Computation, env: Sizes) -> Computation:
    """The Computation with sizes that it uses from outside replaced.

    Sizes that it defines get other names where the new ones would be taken for them.
    """
    local = local_sizes(c)
    outer = {n: d for n, d in env.items() if n not in local}
    if free_sizes(c).isdisjoint(outer):
        return c
    brought = _symbols(outer.values())
    taken = brought | all_sizes(c)
    renamed = {n: symbol(fresh_size(n, taken)) for n in sorted(local & brought)}
    return renamed_copy(c, outer | renamed)


def sizes_apart(c: Computation, names: Iterable[str]) -> Computation:
    """The Computation with other names for those sizes that it defines and calls so."""
    clash = sorted(local_sizes(c).intersection(names))
    if not clash:
        return c
    taken = all_sizes(c).union(names)
    return renamed_copy(c, {n: symbol(fresh_size(n, taken)) for n in clash})


def renamed_copy(c: Computation, env: Sizes) -> Computation:
    """A copy with sizes replaced wherever they stand, those that it defines too."""
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for old in c.nodes:
        sized = replace_sizes(old, env)
        after = tuple(nodes[n] for n in old.after)
        nodes[old] = new = sized.over((values[v] for v in old.inputs), after)
        values.update(zip(old.outputs, new.outputs))
    return Computation(
        tuple(nodes[p] for p in c.parameters),
        tuple(nodes.values()),
        tuple(values[v] for v in c.results),
        tuple((substitute(a, env), substitute(b, env)) for a, b in c.constraints),
    )


def fresh_size(hint: str, taken: set[str]) -> str:
    """A name for a size that is not taken; it is taken then."""
    name, number = hint, 1
    while name in taken:
        name, number = f"{hint}_{number}", number + 1
    taken.add(name)
    return name


def _symbols(dims: Iterable[Dim]) -> set[str]:
    return {name for d in dims for name in symbols_of(d)}


def _replaced(value: Any, env: Sizes) -> Any:
    if isinstance(value, Expr):
        return substitute(value, env)
    if isinstance(value, tuple):
        return tuple(_replaced(item, env) for item in cast(tuple[Any, ...], value))
    return value


def _name_of(dim: Dim) -> str:
    (name,) = symbols_of(dim)
    return name


# -- sizes that iterations change


def name_alone(dim: Dim) -> str | None:
    """The name of a dim that is one size and nothing else."""
    if isinstance(dim, int) or len(dim.terms) != 1:
        return None
    ((monomial, coefficient),) = dim.terms
    if coefficient != 1 or len(monomial) != 1:
        return None
    (atom,) = monomial
    return atom.name if isinstance(atom, Symbol) and atom.extent is None else None


def bind_varying(
    parameters: Sequence[TensorType], given: Sequence[TensorType], varying: Sequence[str]
) -> dict[str, Dim]:
    """What the varying sizes of carried parameters are, given the values for them.

    Raises `ValueError` with what does not fit: dtypes, ranks, dims that no varying size makes
    equal, and varying sizes that stand alone in no parameter.
    """
    env: dict[str, Dim] = {}
    for p, g in zip(parameters, given, strict=True):
        if p.dtype is not g.dtype or p.rank != g.rank:
            raise ValueError(f"{g} does not fit the carried {p}")
        for mine, theirs in zip(p.dims, g.dims):
            name = name_alone(mine)
            if name is not None and name in varying and name not in env:
                env[name] = theirs
    missing = [n for n in varying if n not in env]
    if missing:
        raise ValueError(f"no carried parameter has the varying size {missing[0]} as a dim")
    for p, g in zip(parameters, given, strict=True):
        if any(substitute(mine, env) != theirs for mine, theirs in zip(p.dims, g.dims)):
            raise ValueError(f"{g} does not fit the carried {p}")
    return env
