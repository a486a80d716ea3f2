"""The checks of sizes that a run must make, each as soon as the sizes in it are known.

In: the Computation of a region. Out: pairs of sizes that must be equal, sizes that might be
negative, and the bytes and sizes of values, which must not be too large. Each is given once.
Invariant: what the sizes outside of a loop decide alone is checked outside of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from typing import TypeVar

from flowc.ir.bodies import bodies_of, nodes_within, size_definitions
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, Extremum, Symbol, is_nonnegative, lone_symbol, symbols_of
from flowc.ir.text.shape_text import shown_dims
from flowc.ir.types import Dims
from flowc.plan.plan import bytes_of, rough

Row = TypeVar("Row")
Large = dict[Dim, tuple[str, str]]  # a size, or a number of bytes -> of what, and of which node


class PendingChecks:
    """Checks that have not been made yet. Each method takes those out whose sizes are all in
    `known`."""

    def __init__(self, c: Computation) -> None:
        self._equal = _meetings(c)
        self._signed = list(_signed(c).items())
        found = ((dim, what, node) for dim, (what, node) in _large(c).items())
        # The largest first: where it fits, most others can be proved to.
        self._large = sorted(found, key=lambda row: -rough(row[0]))

    def equal(self, known: Set[Symbol]) -> list[tuple[Dim, Dim, str]]:
        """Pairs of sizes that must be equal and are known by now, with the name of the node that
        needs them so."""
        now, self._equal = _split(self._equal, known, lambda row: row[:2])
        return now

    def signed(self, known: Set[Symbol]) -> list[tuple[Dim, str]]:
        now, self._signed = _split(self._signed, known, lambda row: row[:1])
        return now

    def large(self, known: Set[Symbol]) -> list[tuple[Dim, str, str]]:
        now, self._large = _split(self._large, known, lambda row: row[:1])
        return now


def _split(
    rows: list[Row], known: Set[Symbol], dims: Callable[[Row], tuple[Dim, ...]]
) -> tuple[list[Row], list[Row]]:
    """The rows whose sizes are known, and the others."""
    now: list[Row] = []
    later: list[Row] = []
    for row in rows:
        is_known = all(symbols_of(dim).keys() <= known for dim in dims(row))
        (now if is_known else later).append(row)
    return now, later


def _meetings(c: Computation) -> list[tuple[Dim, Dim, str]]:
    """The pairs of sizes that must be equal, each with the first node that has one of them in one
    input and one in another: of a graph with a fault, the node that TensorFlow would name."""
    pairs = dict.fromkeys(c.constraints, "")
    others: dict[Dim, list[tuple[Dim, Dim]]] = {}  # by the sizes that have a name
    for pair in pairs:
        for dim in pair:
            if isinstance(dim, Expr):
                others.setdefault(dim, []).append(pair)
    for value in (v for node in c.nodes if others for v in _computed(node)):
        inputs = value.node.inputs
        for place, operand in enumerate(inputs if len(inputs) > 1 else ()):
            for pair in (p for dim in operand.dims for p in others.get(dim, ())):
                rest = (d for i, v in enumerate(inputs) if i != place for d in v.dims)
                other = pair[0] if pair[1] in operand.dims else pair[1]
                if not pairs[pair] and other in rest:
                    pairs[pair] = value.node.name
    return [(one, other, node) for (one, other), node in pairs.items()]


def lower_bound(size: Dim, other: Dim) -> int | None:
    """The number that a size is not below where it equals the larger of the two."""
    match other:
        case Expr(terms=(((Extremum(kind="max", left=left, right=right),), 1),)):
            ends = (left, right) if right == size else (right, left)
            return ends[0] if isinstance(ends[0], int) and ends[1] == size else None
        case _:
            return None


def _signed(c: Computation) -> dict[Dim, str]:
    """The sizes of values in memory that have no proof that they are not negative."""
    found: dict[Dim, str] = {}
    for node in c.nodes:
        for dim in (d for value in node.outputs for d in value.dims):
            if isinstance(dim, Expr) and dim not in found and not is_nonnegative(dim):
                found[dim] = node.name
    return found


def _large(c: Computation) -> Large:
    found: Large = {}
    seen: set[tuple[Dims, int]] = set()  # most values have dims that others have, too
    for node in c.nodes:
        for value in _values(node):
            alike = value.dims, value.type.dtype.held_size
            if alike not in seen:
                seen.add(alike)
                _note(found, value)
        if node.op.name in ("while", "if"):
            varying = node.attrs.get("varying", ())
            for body in bodies_of(node).values():
                own = {*varying, *size_definitions(body)}
                for dim, row in _large(body).items():
                    if own.isdisjoint(symbols_of(dim)):
                        found.setdefault(dim, row)
    return found


def _values(node: Node) -> Iterator[Value]:
    """The values of a node, also those that its kernels never store: their elements are counted."""
    yield from node.outputs
    if node.op.name == "cluster":
        for inner in node.attrs["body"].nodes:
            yield from inner.outputs


def _note(found: Large, value: Value) -> None:
    if value.type.is_static:
        return
    size = bytes_of(value)
    if size not in found:
        found[size] = f"a value of type {value.type}", value.node.name
    for dim in value.dims:
        if isinstance(dim, Expr) and dim not in found:
            found[dim] = f"a dimension of {shown_dims(value.dims)}", value.node.name


def dims_named(c: Computation, sizes: Iterable[Symbol]) -> str:
    """` (n1 is dim 0 of 'x')` for sizes whose names do not say of which input they are; one that
    the run finds is that of what a node computes."""
    found: list[str] = []
    for size in sizes:
        of_inputs = next(_dims_of([p.output for p in c.parameters], size), None)
        if of_inputs is None:
            computed = (v for node in c.nodes for v in _computed(node))
            value, axis = next(_dims_of(computed, size), (None, 0))
            if value is not None and value.node.name:
                found.append(f"{size} is dim {axis} of what node {value.node.name!r} computes")
            continue
        name = of_inputs[0].node.attrs["name"].removesuffix(":0")
        if not size.name.startswith(name):
            found.append(f"{size} is dim {of_inputs[1]} of {name!r}")
    return f" ({', '.join(found)})" if found else ""


def _computed(node: Node) -> Iterator[Value]:
    """The values of a node and of those in its bodies."""
    for inner in nodes_within(node):
        yield from _values(inner)


def _dims_of(values: Iterable[Value], size: Symbol) -> Iterator[tuple[Value, int]]:
    """The values that have a size as one of their dims, and which."""
    for value in values:
        for axis, dim in enumerate(value.dims):
            if lone_symbol(dim) == size:
                yield value, axis
