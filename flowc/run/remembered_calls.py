"""A Session's cache of calls, keyed by the structure of fetches and feeds.

In: fetches, and feeds as they were given or as arrays of their tensors' dtypes. Out: the call that
serves them, its checks and conversions of structure done. Invariant: equal keys mean equal calls,
while the variables keep their types.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from flowc.graph import Graph
from flowc.run.calls import Call
from flowc.run.fetches import Fetches
from flowc.run.host_ranks import Outdated
from flowc.run.value_specialization import MOST_PROGRAMS

Array = np.ndarray[Any, Any]
MOST_CALLS = 1024

form_of_array = attrgetter("__class__", "shape", "strides", "dtype")


def form_of_fetches(item: Any) -> Any:
    """A structure of fetches as something to look up: structures are alike that have equal ones."""
    if isinstance(item, Mapping):
        return (type(item), *((key, form_of_fetches(value)) for key, value in item.items()))
    if isinstance(item, (list, tuple)):
        return (type(item), *map(form_of_fetches, item))
    return item


def is_flat(fetches: Any) -> bool:
    """Whether fetches are one element or a row of them: such are equal only if they are alike, and
    a named tuple inside another is not."""
    row = fetches if isinstance(fetches, (list, tuple)) else [fetches]
    return not any(isinstance(item, (list, tuple, Mapping)) for item in row)


def are_arrays(values: Iterable[Any], made: Iterable[Array]) -> bool:
    """Whether the values that were fed are arrays already: of the types and dtypes of `made`, to
    which they were converted."""
    return [(type(v), getattr(v, "dtype", None)) for v in values] == [
        (type(a), a.dtype) for a in made
    ]


class _CallsByValue:
    """Calls of programs that are compiled for the values of some feeds. `deciding`: where these
    stand among the feeds."""

    def __init__(self, deciding: Sequence[int]) -> None:
        self.deciding = deciding
        self._calls: dict[tuple[bytes, ...], tuple[Call, Sequence[int]]] = {}

    def add(self, arrays: Sequence[Array], call: Call, order: Sequence[int]) -> None:
        """Adds a call for the values that the deciding ones of `arrays` have. `order`: for each
        feed of the call, its position among the arrays."""
        if len(self._calls) >= MOST_PROGRAMS:
            self._calls.pop(next(iter(self._calls)), None)
        self._calls[self._values(arrays)] = call, order

    def __call__(
        self, arrays: Iterable[Array], timeout: float = 0, into: Sequence[Array] = ()
    ) -> Any:
        given = list(arrays)
        found = self._calls.get(self._values(given))
        if found is None:
            raise Outdated
        call, order = found
        return call([given[i] for i in order], timeout, into)

    def _values(self, arrays: Sequence[Array]) -> tuple[bytes, ...]:
        return tuple(arrays[i].tobytes() for i in self.deciding)


class RememberedCalls:
    """Calls by key. A key begins with the version of the variables."""

    def __init__(self) -> None:
        self._calls: dict[Any, Call] = {}
        self._fetches: dict[Any, Fetches] = {}
        self._version = 0
        self.get = self._calls.get

    def fetches(self, graph: Graph, structure: Any) -> tuple[Any, Fetches]:
        """The form of a structure of fetches, None where it has none, and what it asks for."""
        form = form_of_fetches(structure)
        try:
            found = self._fetches.get(form)
        except TypeError:
            return None, Fetches(graph, structure)
        if found is None:
            found = Fetches(graph, structure)
            if len(self._fetches) >= MOST_CALLS:
                self._fetches.clear()
            self._fetches[form] = found
        return form, found

    def remember(self, key: Any, call: Call, version: int | None = None) -> None:
        """Keeps a call for as long as the variables have the types that they have now, which are
        those of the key's version. `version`: that of the call."""
        if key is None or version not in (None, key[0]):
            return
        version = key[0]
        if self._version != version or len(self._calls) >= MOST_CALLS:
            self._calls.clear()
            self._version = version
        self._calls[key] = call

    def remember_for_values(
        self,
        key: Any,
        call: Call,
        version: int,
        fed: Mapping[Any, Array],
        deciding: Sequence[Any],
        feeds: Sequence[Any],
    ) -> None:
        """Keeps a call of a program with these `feeds`, which serves only runs where the `deciding`
        ones of the fed tensors have the values that they have now."""
        places = {tensor: i for i, tensor in enumerate(fed)}
        at = [places[t] for t in deciding]
        calls = self._calls.get(key)
        if not isinstance(calls, _CallsByValue) or calls.deciding != at:
            calls = _CallsByValue(at)
        calls.add(list(fed.values()), call, [places[t] for t in feeds])
        self.remember(key, calls, version)

    def clear(self) -> None:
        self._calls.clear()
        self._fetches.clear()
