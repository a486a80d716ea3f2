"""Which carried values of a loop are always equal: value numbering, refined to a fixed point.

In: the body of a loop and what its carried values start as. Out: for each one that equals an
earlier one, that one. Optimistic: values that start equal are taken to stay equal until the body is
seen to compute them otherwise. Invariant: classes only split, so that the work ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from flowc.ir.computation import Computation, Value
from flowc.passes.merge_duplicates import value_key


def equal_carries(body: Computation, start: Sequence[Value]) -> dict[int, int]:
    """The carried values of a loop that always equal an earlier one: position -> position.

    Values that start equal are taken to stay equal until the body computes them otherwise.
    """
    first = _first_of([(_made(v), p.output.type) for v, p in zip(start, body.parameters)])
    while any(k != i for i, k in enumerate(first)):
        numbers = _numbered(body, first)
        refined = _first_of([(first[k], numbers[r]) for k, r in enumerate(body.results)])
        if refined == first:
            return {k: i for k, i in enumerate(first) if k != i}
        first = refined
    return {}


def _made(value: Value) -> Hashable:
    """Equal for equal values: the same one, or constants that are the same."""
    key = None if value.node.inputs else value_key(value.node)
    return value if key is None else key


def _first_of(keys: Sequence[Hashable]) -> list[int]:
    """For each key the place where it stands first."""
    seen: dict[Hashable, int] = {}
    return [seen.setdefault(key, i) for i, key in enumerate(keys)]


def _numbered(body: Computation, first: Sequence[int]) -> dict[Value, int]:
    """A number for each value of a body, equal for those that are equal where the parameters are
    that `first` says so of."""
    known: dict[Hashable, int] = {}
    numbers: dict[Value, int] = {}
    for i, parameter in enumerate(body.parameters):
        same = first[i] if i < len(first) else i
        numbers[parameter.output] = known.setdefault(("parameter", same), len(known))
    for node in body.nodes:
        if node.op.name == "parameter":
            continue
        own = value_key(node)
        key = id(node) if own is None else (own, tuple(numbers[v] for v in node.inputs))
        for v in node.outputs:
            numbers[v] = known.setdefault((key, v.index), len(known))
    return numbers
