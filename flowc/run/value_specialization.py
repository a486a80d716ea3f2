"""Which feeds a program is compiled for the values of: an axis, a permutation, a stride.

In: what was fed when a fetch set could not be compiled for any values. Out: the feeds whose values
it needs, which are constants of its programs from then on, each compiled for one tuple of values.
Invariant: data stays data; what is taken for a constant is small and made of integers or truth
values, and without it the fetch set does not compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import NegativeSizeError
from flowc.graph import Graph, Tensor
from flowc.ir.traversal import inputs_first
from flowc.run.fetches import MOST_ELEMENTS

if TYPE_CHECKING:
    from flowc.ir.inference import NeedsContent

MOST_FEEDS = 16  # that may be constants, as finding out which takes an attempt each
MOST_PROGRAMS = 64  # kept for one fetch set: the oldest goes

FeedValues = Mapping[Tensor, np.ndarray[Any, Any]]


def needed_values(
    attempt: Callable[[FeedValues], None],
    fed: FeedValues,
    known: tuple[Tensor, ...],
    fault: NeedsContent,
) -> tuple[Tensor, ...]:
    """The feeds that have to be constants, `known` among them. `attempt` raises `NeedsContent`
    where those that it is given do not do. Raises the fault where none would."""

    from flowc.ir.inference import NeedsContent  # late: records of ops are hardly needed

    def suffice(tensors: tuple[Tensor, ...]) -> bool:
        try:
            attempt({t: fed[t] for t in tensors})
        except NeedsContent:
            return False
        return True

    kept = (*known, *(t for t in fed if t not in known and _is_small(fed[t])))
    if kept == known or len(kept) > MOST_FEEDS or not suffice(kept):
        raise fault
    if suffice(known):
        return kept  # what fails is behind extraction, which cannot tell them apart
    for tensor in kept:
        without = tuple(t for t in kept if t is not tensor)
        if tensor not in known and suffice(without):
            kept = without
    return kept


def signed_feeds(graph: Graph, fed: FeedValues, error: NegativeSizeError) -> tuple[Tensor, ...]:
    """The small feeds that the node of the error depends on."""
    small = [t for t, value in fed.items() if _is_small(value) and value.dtype.kind == "i"]
    try:
        node = graph.get_operation_by_name(error.node or "")
    except (KeyError, ValueError):  # one of a function
        return tuple(small)
    needed = inputs_first([node], lambda op: [t.op for t in op.inputs if t not in fed])
    read = {t for op in needed for t in op.inputs}
    return tuple(t for t in small if t in read)


def values_key(fed: FeedValues, tensors: Iterable[Tensor]) -> tuple[Any, ...]:
    """What tells values of these feeds from others."""
    return tuple((t, fed[t].shape, fed[t].tobytes()) for t in tensors)


def _is_small(value: np.ndarray[Any, Any]) -> bool:
    return value.dtype.kind in "iub" and value.ndim < 3 and value.size <= MOST_ELEMENTS
