"""The programs of a Session: each fetch set is compiled once for the feeds that it serves.

In: a fetch set and the types of its feeds. Out: a program for the types that the variables have
now. Invariants: of threads that want the same program one compiles it, and threads that want
programs of different fetch sets compile them side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from flowc.codegen.forks import keepers
from flowc.dataclass import dataclass
from flowc.errors import FlowcError, InvalidArgumentError, NegativeSizeError
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.fetch_set import FetchSet
from flowc.ir.inference import NeedsContent
from flowc.ir.program_spec import ProgramSpec
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.run.devices import Placement
from flowc.run.host_ranks import HostRanks
from flowc.run.python_segments import PythonSegment, leading_segments, python_segment
from flowc.run.segments import Segment, may_block, segments_of
from flowc.run.shape_specialization import FeedShapes, FeedTypes, fed_types, outline
from flowc.run.state import RunState
from flowc.run.value_specialization import (
    MOST_PROGRAMS,
    FeedValues,
    needed_values,
    signed_feeds,
    values_key,
)

if TYPE_CHECKING:
    from flowc.run.executable import Executable


@dataclass(slots=True)
class SessionProgram:
    """A compiled fetch set: which feeds go where, and the executable (None: there is nothing to
    do). `expects`: the types that the variables in it had when it was compiled, None for those that
    the session did not hold. `ranks`: what it assumes of what functions of Python return.
    `takes_values`: values of feeds are constants in it. `decided_by`: of other values of
    these tensors another program may be the one; nothing, where it serves every value."""

    executable: Executable | None
    spec: ProgramSpec
    feeds: list[Tensor]
    expects: dict[str, TensorType | None]
    ranks: HostRanks
    takes_values: bool
    decided_by: tuple[Tensor, ...] = ()

    def suits(self, types: Mapping[str, TensorType]) -> bool:
        return not self.ranks.is_news and all(
            types.get(name) == expected for name, expected in self.expects.items()
        )


class _Family:
    """The programs of one fetch set for feeds of one outline, and who may compile one."""

    def __init__(self, varying: Collection[Tensor]) -> None:
        self.compiling = threading.Lock()
        self.shapes = FeedShapes(varying)
        self.programs: dict[Any, SessionProgram] = {}
        self.constants: tuple[Tensor, ...] = ()  # feeds whose values programs are compiled for
        # Those of which some values are below 0, and count from the end: these values.
        self.signed: tuple[Tensor, ...] = ()
        self.negative: set[Any] = set()

    def constants_of(self, fed: FeedValues) -> tuple[Tensor, ...]:
        """The feeds that are constants of the program that serves `fed`."""
        if self.negative and values_key(fed, self.signed) in self.negative:
            return self.deciding
        return self.constants

    @property
    def deciding(self) -> tuple[Tensor, ...]:
        """The feeds whose values tell which program serves them."""
        return tuple(dict.fromkeys((*self.constants, *self.signed)))


class ProgramCache:
    """The programs of one Session. `reads_images_first`: whether host steps that make images of
    what is fed are a segment of their own."""

    reads_images_first = False

    def __init__(
        self,
        graph: Graph,
        options: Options,
        threads: int | None,
        state: RunState,
        max_memory: int | None,
        placement: Placement,
    ) -> None:
        self._graph = graph
        self._options = options
        self._threads = threads
        self._max_memory = max_memory
        self._placement = placement
        self._state = state
        self._families: dict[Any, _Family] = {}
        self._segments: dict[Any, list[Segment]] = {}
        self._alone: dict[Segment, PythonSegment | None] = {}
        keepers().add(self)

    def forked(self) -> None:
        """Who compiles in the parent does not in a child."""
        for family in self._families.values():
            family.compiling = threading.Lock()

    @staticmethod
    def asked(
        tensors: Iterable[Tensor],
        operations: Iterable[Operation],
        done: frozenset[Operation] = frozenset(),
    ) -> Segment:
        """The segment of all that is asked, where `done` ran before."""
        return Segment(tuple(tensors), tuple(operations), done=done)

    @staticmethod
    def types_of(fed: Mapping[Tensor, Any]) -> FeedTypes:
        return fed_types(fed)

    def segments(self, wanted: Segment, fed: Iterable[Tensor]) -> list[Segment]:
        """What runs one after another in place of what is asked; nothing, where that is one. Raises
        what compiling the whole would raise of nodes that are not allowed, since each segment sees
        the results of others as feeds."""
        key = wanted.tensors, wanted.operations, frozenset(fed), wanted.done
        found = self._segments.get(key)
        if found is None:
            found = []
            blocks = may_block(wanted, key[2])
            if blocks or (self.reads_images_first and not wanted.operations):
                from flowc.extract.unsupported_ops import check_supported  # late: as compiling is

                check_supported(self._graph, wanted.tensors, wanted.operations, key[2])
            if blocks:
                found = segments_of(wanted, key[2])
                whole = replace(wanted, feeds=tuple(key[2]))
                if not found and self.alone(whole) is not None:
                    found = [whole]
            if not found and self.reads_images_first and not (wanted.operations or wanted.done):
                found = leading_segments(wanted.tensors, key[2])
            self._segments[key] = found
        return found

    def alone(self, segment: Segment) -> PythonSegment | None:
        """A segment that Python computes alone; None for one that is compiled."""
        if segment not in self._alone:
            self._alone[segment] = python_segment(segment)
        return self._alone[segment]

    def find(
        self, wanted: Segment, exact: FeedTypes, fed: FeedValues
    ) -> tuple[int, SessionProgram]:
        """The program for feeds of these types, and the version of the variables that it suits."""
        family = self._family(wanted, exact)
        with family.compiling:
            try:
                return self._serving(family, wanted, exact, fed)
            except NeedsContent as error:
                attempt = partial(self._extract, wanted, exact)
                family.constants = needed_values(attempt, fed, family.constants, error)
                return self._serving(family, wanted, exact, fed)

    def learn_negative(
        self, wanted: Segment, exact: FeedTypes, fed: FeedValues, error: NegativeSizeError
    ) -> None:
        """Takes note of values for which the program that serves all ended with an error. Raises
        `InvalidArgumentError` where none of the small feeds is behind it, or where they are
        constants of that program."""
        family = self._family(wanted, exact)
        with family.compiling:
            signed = signed_feeds(self._graph, fed, error)
            if not signed or set(signed) <= set(family.constants_of(fed)):
                raise InvalidArgumentError(error.message, node=error.node)
            if signed != family.signed:
                family.negative.clear()
            family.signed = signed
            family.negative.add(values_key(fed, signed))
            for program in family.programs.values():
                program.decided_by = family.deciding

    def check_sizes(self, wanted: Segment, fed: FeedValues) -> None:
        """Raises `ShapeError` where the rule of a node refuses the sizes of feeds."""
        exact = fed_types(fed)
        self._extract(wanted, exact, {})

    def _family(self, wanted: Segment, exact: FeedTypes) -> _Family:
        asked = wanted.tensors, wanted.operations, wanted.done, outline(exact)
        return self._families.get(asked) or self._families.setdefault(
            asked, _Family(wanted.varying)
        )

    def _serving(
        self, family: _Family, wanted: Segment, exact: FeedTypes, fed: FeedValues
    ) -> tuple[int, SessionProgram]:
        types = family.shapes.to_compile(exact)
        if types is not exact:
            with suppress(FlowcError):
                return self._suiting(family, wanted, types, fed)
        found = self._suiting(family, wanted, exact, fed)
        # Where only the exact shapes compile, the fetch set needs numbers for its sizes.
        family.shapes.always_exact |= types is not exact
        family.shapes.learn(exact)
        return found

    def all(self) -> list[SessionProgram]:
        return [p for family in self._families.values() for p in family.programs.values()]

    def clear(self) -> None:
        self._families.clear()
        self._segments.clear()
        self._alone.clear()

    def _suiting(
        self, family: _Family, wanted: Segment, types: FeedTypes, fed: FeedValues
    ) -> tuple[int, SessionProgram]:
        """The program for these types of feeds, and for the values of those that are constants of
        it, compiled if there is none for the variables."""
        values = {t: fed[t] for t in family.constants_of(fed)}
        types = {t: type_ for t, type_ in types.items() if t not in values}
        key = (*types.items(), *values_key(values, values))
        while True:
            version, held = self._state.variables.types()
            found = family.programs.get(key)
            if found is not None and found.suits(held):
                return version, found
            ranks = HostRanks(self._state.ranks) if found is None else found.ranks
            if values and len(family.programs) >= MOST_PROGRAMS:
                del family.programs[next(iter(family.programs))]
            found = self._compile(wanted, types, values, held, ranks)
            found.decided_by = family.deciding if values or family.negative else ()
            family.programs[key] = found

    def _compile(
        self,
        wanted: Segment,
        types: FeedTypes,
        values: FeedValues,
        held: Mapping[str, TensorType],
        ranks: HostRanks,
    ) -> SessionProgram:
        from flowc.compiler import compile_fetches

        needed = wanted.needs({*types, *values})
        self._placement.check(needed, self._graph)
        options = replace(self._options, on_host=self._placement.on_host(needed))
        asked = FetchSet.of(wanted.tensors, types, wanted.operations, wanted.done, values)
        found = ranks.extracted(
            lambda rank_of: compile_fetches(
                self._graph, asked, options, held=held, ranks=rank_of, threads=self._threads
            )
        )
        there: Collection[str] = ()
        if found.executable is not None:
            found.executable.limit_memory(self._max_memory)
            there = found.executable.metadata.on_device
        self._placement.log(needed, there)
        self._state.begin(found.spec.reads)
        expects = {name: held.get(name) for name in found.depends_on}
        expects |= {v.name: v.tensor.type for v in found.spec.reads}
        return SessionProgram(
            found.executable, found.spec, list(types), expects, ranks, bool(values)
        )

    def _extract(self, wanted: Segment, exact: FeedTypes, values: FeedValues) -> None:
        """Extracts a fetch set, as `_compile` does first, with some of the feeds as constants."""
        from flowc.extract.size_unification import extract_fetches

        types = {t: type_ for t, type_ in exact.items() if t not in values}
        asked = FetchSet.of(wanted.tensors, types, wanted.operations, wanted.done, values)
        held = self._state.variables.types()[1]
        ranks = HostRanks(self._state.ranks)
        ranks.extracted(lambda rank_of: extract_fetches(self._graph, asked, held, rank_of))
