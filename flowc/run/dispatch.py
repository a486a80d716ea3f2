"""Finds what serves a call of a Session: a remembered call, a compiled program, or a new
compilation.

In: fetches and feeds as a caller gives them, or the tensors of a part of a run. Out: results.
Invariant: a call is remembered only for forms of fetches and feeds that all mean the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.errors import NegativeSizeError
from flowc.graph import Tensor
from flowc.graph.lazy_graph import comes_from_files
from flowc.ir.host_run import HostRun
from flowc.run.calls import (
    PlainCall,
    SegmentedCall,
    call_of,
    device_call_of,
    hosted,
)
from flowc.run.device_buffers import is_on_gpu
from flowc.run.fetches import (
    Rebuild,
    as_left,
    check_feed_shapes,
    device_feed,
    feed_arrays,
    feed_items,
    feed_value,
    flat_feeds,
    only,
)
from flowc.run.host_ranks import Outdated
from flowc.run.host_steps import RunLog
from flowc.run.remembered_calls import RememberedCalls, are_arrays, form_of_array, is_flat
from flowc.run.state import RunSettings

if TYPE_CHECKING:
    from flowc.cache.program_index import Request
    from flowc.run.calls import CallMaker
    from flowc.run.executable import Executable
    from flowc.run.programs import ProgramCache
    from flowc.run.segments import Segment


class Dispatcher:
    """The calls and programs of one Graph, over the state of a Session."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._graph = settings.graph
        self._options = settings.options
        self._threads = settings.threads
        self._state = settings.state
        self._variables = settings.state.variables
        self._max_memory = settings.max_memory
        self.calls = RememberedCalls()
        self._programs: list[ProgramCache] = []
        self._opened: dict[str, Executable] = {}  # programs that answer requests, by cache keys

    @property
    def programs(self) -> ProgramCache:
        """What compiles, made when it is asked for: what the cache remembers does without."""
        if not self._programs:
            from flowc.run.programs import ProgramCache

            # Of those that several threads make, all of them take the first.
            self._programs.append(ProgramCache(self._settings))
        return self._programs[0]

    def clear(self) -> None:
        """Forgets calls and programs."""
        for programs in self._programs:
            programs.clear()
        self.calls.clear()
        self._opened.clear()

    def run(self, fetches: Any, feeds: Mapping[Any, Any], key: Any, timeout: float) -> Any:
        """Checks everything, compiles if need be, and remembers the call for `run`."""
        request = self._request(fetches, feeds)
        if request is not None:
            found = request.executable(self._threads, self._opened)
            if found is not None:
                found.limit_memory(self._max_memory)
                rebuild = only if isinstance(fetches, str) else type(fetches)
                plain = PlainCall(found, list(feeds.values()), rebuild)
                call = hosted(plain, found, self._state)
                self.calls.remember(key, call)
                with suppress(NegativeSizeError):  # other values have another program
                    return call(feeds.values(), timeout)
        if not self._graph.version:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        given = flat_feeds(feeds) if self._options.has_gpu and isinstance(feeds, Mapping) else ()
        if any(is_on_gpu(value) for _, value in given):
            return self.run_on_device(fetches, feeds, timeout, stays=False)
        version = self._variables.version
        form, wanted = self.calls.fetches(self._graph, fetches)
        fed = feed_arrays(self._graph, feeds)
        as_given = are_arrays(feeds.values(), fed.values())
        if not as_given:
            request = None  # who asks next gives what the program does not take
        if not as_given or not is_flat(fetches):
            # Others of the same form as it was given may mean something else.
            made = (version, form, *fed, *map(form_of_array, fed.values()))
            key = None if form is None else made
            call = self.calls.get(key)
            if call is not None:
                with suppress(Outdated, NegativeSizeError):
                    return call(fed.values(), timeout)
        check_feed_shapes(fed)
        asked = self.programs.asked(wanted.tensors, wanted.operations)
        segments = self.programs.segments(asked, fed)
        if segments:
            whole = SegmentedCall(
                segments, asked.tensors, list(fed), self._run_segment, self._state, wanted.rebuild
            )
            self.calls.remember(key, whole)
            return whole(fed.values(), timeout)
        return self._run_program(asked, fed, timeout, wanted.rebuild, key, request)

    def run_on_device(
        self,
        fetches: Any,
        feeds: Mapping[Any, Any],
        timeout: float,
        *,
        stays: bool,
        key: Any = None,
    ) -> Any:
        """`run` with feeds that may be on the GPU. `stays`: whether the results are to be there.
        `key`: that of calls which take what is fed as it is."""
        version = self._variables.version
        form, wanted = self.calls.fetches(self._graph, fetches)
        fed = {t: device_feed(t, value) for t, value in feed_items(self._graph, feeds)}
        if key is not None and [*map(id, feeds.values())] == [*map(id, fed.values())]:
            pass
        elif form is None:
            key = None
        else:
            key = (version, "on a GPU", stays, form, *fed, *map(form_of_array, fed.values()))
            call: Any = self.calls.get(key)
            if call is not None:
                with suppress(Outdated, NegativeSizeError):
                    return call(fed.values(), timeout)
        check_feed_shapes(fed)

        def rebuild(results: Sequence[Any]) -> Any:
            return wanted.rebuild([as_left(r, stays) for r in results])

        asked = self.programs.asked(wanted.tensors, wanted.operations)
        segments = self.programs.segments(asked, fed)
        if segments:
            here = {t: feed_value(t, value) for t, value in fed.items()}
            run = self._run_segment
            whole = SegmentedCall(segments, asked.tensors, list(fed), run, self._state, rebuild)
            return whole(here.values(), timeout)
        maker = partial(device_call_of, stays=stays)
        return self._run_program(asked, fed, timeout, rebuild, key, maker=maker)

    def run_part(
        self, segment: Segment, given: Mapping[Tensor, np.ndarray]
    ) -> Sequence[np.ndarray]:
        """The part of a step that a partial run computes, which may have steps that wait for each
        other."""
        asked = self.programs.asked(segment.tensors, segment.operations, segment.done)
        parts = self.programs.segments(asked, given)
        if not any(part.may_wait for part in parts):
            return self._run_segment(segment, given, self._state.host_run(0))
        whole = SegmentedCall(
            parts, segment.tensors, list(given), self._run_segment, self._state, list
        )
        return whole(given.values())

    def _run_program(
        self,
        asked: Segment,
        fed: Mapping[Tensor, Any],
        timeout: float,
        rebuild: Rebuild,
        key: Any,
        request: Request | None = None,
        into: Sequence[np.ndarray] = (),
        maker: CallMaker = call_of,
    ) -> Any:
        """Finds the program, compiles it if need be, and runs it. `key`: that of calls which can be
        served alike, None where there are none. `maker`: what makes a call of it."""
        types = self.programs.types_of(fed)
        log = RunLog()
        while True:
            version, program = self.programs.find(asked, types, fed)
            if program.executable is None:
                return rebuild([])
            given = [fed[t] for t in program.feeds]
            call = maker(program, version, self._state, given, rebuild)
            if key is None or program.ranks.open:
                pass
            elif program.decided_by:
                deciding = program.decided_by
                self.calls.remember_for_values(key, call, version, fed, deciding, program.feeds)
            else:
                self.calls.remember(key, call, version)
                lasts = not (program.takes_values or program.ranks.assumed)
                has_state = program.spec.variables or self._graph.main_operation is not None
                if request is not None and lasts and not has_state:
                    request.remember((*asked.tensors, *program.feeds), program.executable)
            try:
                return program.ranks.run(partial(call, timeout=timeout, into=into), given, log)
            except Outdated:
                continue
            except NegativeSizeError as error:
                self.programs.learn_negative(asked, types, fed, error)
                self.calls.clear()

    def _run_segment(
        self,
        segment: Segment,
        given: Mapping[Tensor, np.ndarray],
        run: HostRun,
        into: Sequence[np.ndarray] = (),
    ) -> Sequence[np.ndarray]:
        alone = self.programs.alone(segment)
        if alone is not None:
            return alone.run(given, run)
        key = (self._variables.version, segment, *map(form_of_array, given.values()))
        call = self.calls.get(key)
        if call is not None:
            with suppress(Outdated, NegativeSizeError):
                return call(given.values(), run.left, into)
        return self._run_program(segment, given, run.left, lambda results: results, key, into=into)

    def _request(self, fetches: Any, feeds: Any) -> Request | None:
        """The request to a model, by which the program index may find a program without reading
        the graph; None where its answer depends on more than the model's files."""
        if self._variables.version or not comes_from_files(self._graph):
            return None
        from flowc.cache.program_index import request_of  # late: most graphs come from no files

        return request_of(self._graph, fetches, feeds, self._options)
