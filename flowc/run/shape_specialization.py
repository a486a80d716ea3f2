"""Shape specialisation: which shapes of feeds one program serves, by the dims that were seen to
vary.

In: the types of the arrays that runs of a fetch set feed. Out: the types to compile for, in which
sizes that were seen to vary are open. Invariants: sizes of 0 and 1 are never served by a program
for larger sizes, nor the other way round, and sizes that were always equal share a symbol. So
shapes that broadcast get a program of their own, sizes that do not match are compared with numbers,
so that the error names a node, and there are at most as many programs as dims.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from flowc.dtypes import DType, as_dtype
from flowc.extract.feed_specs import open_sizes
from flowc.graph import Tensor
from flowc.ir.dims import Dim, symbol
from flowc.ir.types import TensorType

FeedTypes = Mapping[Tensor, TensorType]
Sizes = tuple[int, ...]


def fed_types(fed: Mapping[Tensor, np.ndarray[Any, Any]]) -> FeedTypes:
    """The types of fed arrays; quantised elements are integers in them."""
    return {t: TensorType(_fed_dtype(t, a), a.shape) for t, a in fed.items()}


def _fed_dtype(tensor: Tensor, array: np.ndarray[Any, Any]) -> DType:
    stated = tensor.base_dtype
    return stated if stated is not None and stated.is_quantized else as_dtype(array.dtype)


def outline(types: FeedTypes) -> tuple[object, ...]:
    """What two sets of feeds have in common that one program can serve."""
    return tuple((t, f.dtype, tuple(min(d, 2) for d in f.static_dims)) for t, f in types.items())


class FeedShapes:
    """The shapes that one fetch set was fed, all of one outline. `varying`: feeds whose sizes are
    known to vary where the graph does not tell them."""

    def __init__(self, varying: Collection[Tensor] = ()) -> None:
        self.always_exact = False  # whether the fetch set cannot be compiled with open sizes
        self._varying = varying
        self._open = frozenset[int]()  # the places of sizes that are open from the first run on
        self._told: list[Sizes] = []  # shapes that are compiled for as they are
        self._sources: tuple[int | None, ...] = ()  # for an open size, the place that names it

    def to_compile(self, types: FeedTypes) -> FeedTypes:
        """The types of the program that serves feeds of these types."""
        sizes = _sizes(types)
        if self._varying and not self._told:
            self._told.append(sizes)
            self._open = self._open_places(types)
            self._sources = tuple(k if k in self._open else None for k in range(len(sizes)))
        is_told = sizes in self._told and not self._open
        is_exact = self.always_exact or is_told or not self._fits(sizes)
        return types if is_exact else self._opened(types)

    def _open_places(self, types: FeedTypes) -> frozenset[int]:
        """Where the sizes of the varying feeds stand that the graph does not tell."""
        found: list[bool] = []
        for tensor, type_ in types.items():
            told = tensor.shape.sizes or (None,) * type_.rank
            varies = tensor in self._varying
            found += [varies and t is None and n > 1 for t, n in zip(told, type_.static_dims)]
        return frozenset(place for place, is_open in enumerate(found) if is_open)

    def learn(self, types: FeedTypes) -> None:
        """Takes note of feeds that are compiled for as they are, without a fault."""
        sizes = _sizes(types)
        if not self.always_exact and sizes not in self._told:
            self._told.append(sizes)
            columns = list(zip(*self._told))
            varying = (None if len(set(c)) == 1 else columns.index(c) for c in columns)
            self._sources = tuple(k if k in self._open else v for k, v in enumerate(varying))

    def _fits(self, sizes: Sizes) -> bool:
        """Whether these vary as those before did."""
        return bool(self._told) and all(
            size == (self._told[0][place] if source is None else sizes[source])
            for place, (size, source) in enumerate(zip(sizes, self._sources))
        )

    def _opened(self, types: FeedTypes) -> FeedTypes:
        found: dict[Tensor, TensorType] = {}
        names: dict[int, Dim] = {}
        taken: set[str] = set()
        place = 0
        for tensor, type_ in types.items():
            dims: list[Dim] = list(type_.dims)
            for axis in range(len(dims)):
                source = self._sources[place]
                if source == place:
                    name = next(n for n in open_sizes(tensor.name, axis) if n not in taken)
                    taken.add(name)
                    names[place] = symbol(name)
                if source is not None:
                    dims[axis] = names[source]
                place += 1
            found[tensor] = type_.with_dims(dims)
        return found


def _sizes(types: FeedTypes) -> Sizes:
    return tuple(d for t in types.values() for d in t.static_dims)
