"""Walks over graphs of any kind, without recursion over their depth.

In: where to begin, and what an item leads to. Out: items, each once.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

K = TypeVar("K", bound=Hashable)


def reachable(starts: Iterable[K], following: Callable[[K], Iterable[K]]) -> list[K]:
    """All that can be reached from `starts`, themselves too."""
    stack = list(dict.fromkeys(starts))
    seen = set(stack)
    order: list[K] = []
    while stack:
        item = stack.pop()
        order.append(item)
        for other in following(item):
            if other not in seen:
                seen.add(other)
                stack.append(other)
    return order


def inputs_first(
    ends: Iterable[K],
    inputs: Callable[[K], Iterable[K]],
    on_circle: Callable[[list[K]], object] | None = None,
) -> list[K]:
    """`ends` and all that they depend on in topological order, but for one back edge in each cycle.
    `on_circle` is called with the items of a cycle, each the input of the one before it."""
    order: dict[K, None] = {}
    active: set[K] = set()
    for end in ends:
        stack = [(end, False)]
        while stack:
            item, ready = stack.pop()
            if ready:
                active.discard(item)
                order[item] = None
            elif item in active:
                if on_circle is not None:
                    path = [k for k, is_open in stack if is_open]
                    on_circle(path[path.index(item) :])
            elif item not in order:
                active.add(item)
                stack.append((item, True))
                stack += [(k, False) for k in reversed([*inputs(item)]) if k not in order]
    return list(order)
