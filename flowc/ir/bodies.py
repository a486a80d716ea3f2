"""Bodies of nodes and the sizes in them: what is used, what is defined, how sizes are replaced.

In: nodes whose attrs hold Computations. Sizes that are defined where a node stands may be used in
its bodies; those that a body defines are local to it, and so are the `varying` sizes of a loop.
Invariant: no other node defines them, but for a cluster, which defines those of its body.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, Symbol, lone_symbol, substitute, symbols_of
from flowc.ir.scalar_body import ScalarBody
from flowc.ir.types import TensorType

Sizes = Mapping[Symbol, Dim]


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
        for body in bodies_of(found).values():
            stack += reversed(body.nodes)


# -- which sizes are used and defined


def size_definitions(c: Computation) -> dict[Symbol, Node]:
    """The sizes that a Computation defines, without its bodies, and the node that defines each."""
    return {size: node for node in c.nodes for size, _ in node.sizes}


def sizes_defined(node: Node) -> tuple[Symbol, ...]:
    """The sizes that a node defines: for its bodies, and for the nodes after it."""
    own = tuple([size for size, _ in node.sizes])
    return (*node.attrs["varying"], *own) if "varying" in node.attrs else own


def sizes_used(node: Node) -> frozenset[Symbol]:
    """The sizes that a node needs from the nodes before it, those for its bodies too."""
    if node.used_sizes is None:
        node.used_sizes = frozenset(_sizes_used(node))
    return node.used_sizes


def _sizes_used(node: Node) -> set[Symbol]:
    found = set(symbols_of(*(d for t in node.types for d in t.dims if isinstance(d, Expr))))
    for _, bound in node.sizes:
        _add_symbols(bound, found)
    for value in node.attrs.values():
        if isinstance(value, (tuple, Expr)):
            _add_symbols(value, found)
        elif isinstance(value, ScalarBody):
            found |= value.sizes
    found.difference_update([size for size, _ in node.sizes])
    for body in bodies_of(node).values():
        found |= free_sizes(body).difference(node.attrs.get("varying", ()))
    return found


def free_sizes(c: Computation) -> set[Symbol]:
    """The sizes that a body uses and does not define; those of a loop's body may be `varying`."""
    found: set[Symbol] = set()
    for node in c.nodes:
        found |= sizes_used(node)
    for pair in c.constraints:
        _add_symbols(pair, found)
    return found.difference(size_definitions(c))


def _add_symbols(value: Any, found: set[Symbol]) -> None:
    if isinstance(value, Expr):
        found.update(symbols_of(value))
    elif isinstance(value, tuple):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            if isinstance(item, (Expr, tuple)):
                _add_symbols(item, found)


# -- replacing them


def replace_sizes(node: Node, env: Sizes) -> Node:
    """The node with sizes replaced in types, attrs and bodies, those that it defines too; itself
    where none occurs."""
    if not env:
        return node
    bodies: dict[str, Computation] = {}
    if bodies_of(node):
        bodies = {name: replace_sizes_in(body, env) for name, body in bodies_of(node).items()}
    mentioned = sizes_used(node).union(sizes_defined(node))
    if env.keys().isdisjoint(mentioned) and all(c is node.attrs[n] for n, c in bodies.items()):
        return node
    plain = {n: with_sizes(x, env) for n, x in node.attrs.items() if n not in bodies}
    types, sizes = with_sizes((node.types, node.sizes), env)
    return Node(
        node.op,
        node.inputs,
        MappingProxyType(plain | bodies),
        types,
        node.after,
        node.origin,
        sizes,
    )


def replace_sizes_in(c: Computation, env: Sizes) -> Computation:
    """The Computation with sizes replaced wherever they stand; itself where none occurs."""
    values: dict[Value, Value] = {}
    nodes: dict[Node, Node] = {}
    for old in c.nodes:
        sized = replace_sizes(old, env)
        if (
            sized is old
            and values.keys().isdisjoint(old.inputs)
            and nodes.keys().isdisjoint(old.after)
        ):
            continue
        inputs = (values.get(v, v) for v in old.inputs)
        nodes[old] = new = sized.over(inputs, tuple(nodes.get(n, n) for n in old.after))
        values.update(zip(old.outputs, new.outputs))
    constraints = with_sizes(c.constraints, env)
    if not nodes and constraints == c.constraints:
        return c
    return Computation(
        tuple(nodes.get(p, p) for p in c.parameters),
        tuple(nodes.get(n, n) for n in c.nodes),
        tuple(values.get(v, v) for v in c.results),
        constraints,
    )


def with_sizes(value: Any, env: Sizes) -> Any:
    """A type, an attr, or sizes that are defined, with sizes replaced."""
    match value:
        case Expr():
            return substitute(value, env)
        case Symbol():
            return lone_symbol(env[value]) if value in env else value
        case tuple():
            return tuple(with_sizes(item, env) for item in cast(tuple[Any, ...], value))
        case TensorType():
            return value.with_dims(substitute(d, env) for d in value.dims)
        case ScalarBody():
            return value.with_sizes(env)
        case _:
            return value


# -- sizes that iterations change


def bind_varying(
    parameters: Sequence[TensorType], given: Sequence[TensorType], varying: Sequence[Symbol]
) -> dict[Symbol, Dim]:
    """What the varying sizes of carried parameters are, given the values for them.

    Raises `ValueError` with what does not fit: dtypes, ranks, dims that no varying size makes
    equal, and varying sizes that stand alone in no parameter.
    """
    env: dict[Symbol, Dim] = {}
    for p, g in zip(parameters, given, strict=True):
        if p.dtype is not g.dtype or p.rank != g.rank:
            raise ValueError(f"{g} does not fit the carried {p}")
        for mine, theirs in zip(p.dims, g.dims):
            size = lone_symbol(mine)
            if size is not None and size in varying and size not in env:
                env[size] = theirs
    missing = [n for n in varying if n not in env]
    if missing:
        raise ValueError(f"no carried parameter has the varying size {missing[0]} as a dim")
    for p, g in zip(parameters, given, strict=True):
        if any(substitute(mine, env) != theirs for mine, theirs in zip(p.dims, g.dims)):
            raise ValueError(f"{g} does not fit the carried {p}")
    return env
