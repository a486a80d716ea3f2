"""Sessions that run hooks round every step.

In: a creator of sessions, and hooks. Out: runs, with what the hooks fetch and feed beside them in
the same run. Invariant: a session that another machine's end has broken (`AbortedError`,
`UnavailableError`) is made anew and the run repeated, except in a `SingularMonitoredSession`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from flowc.api.framework import logging
from flowc.api.framework.config import RunOptions
from flowc.api.framework.nest import flatten, pack_sequence_as
from flowc.api.inputs.queue_runner import runners_of
from flowc.api.training.coordinator import Coordinator
from flowc.api.training.monitored.scaffold import Scaffold
from flowc.api.training.monitored.session_creators import ChiefSessionCreator, SessionCreator
from flowc.api.training.monitored.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from flowc.encoding.step_stats import RunMetadata
from flowc.errors import AbortedError, OutOfRangeError, UnavailableError
from flowc.graph import Graph, get_default_graph

BROKEN = (AbortedError, UnavailableError)


class StepContext:
    """What a `step_fn` gets: the session, runs with hooks, and a way to stop."""

    def __init__(self, session: Any, run_with_hooks: Callable[..., Any]) -> None:
        self.session = session
        self.run_with_hooks = run_with_hooks

    def request_stop(self) -> None:
        """Raises `StopIteration`, which ends the `with` block of the session."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class _HookedRuns:
    """One session with its hooks and its coordinator."""

    def __init__(self, session: Any, hooks: Sequence[SessionRunHook], grace_secs: float) -> None:
        self.session = session
        self.coordinator = Coordinator(clean_stop_exception_types=[])
        self._hooks = hooks
        self._grace_secs = grace_secs
        self._stop = False
        for runner in runners_of(session.graph):
            runner.create_threads(session, coord=self.coordinator, daemon=True, start=True)
        for hook in hooks:
            hook.after_create_session(session, self.coordinator)

    def should_stop(self) -> bool:
        self.coordinator.raise_requested_exception()
        return self._stop or self.coordinator.should_stop()

    def close(self) -> None:
        self.coordinator.request_stop()
        try:
            self.coordinator.join(stop_grace_period_secs=self._grace_secs, ignore_live_threads=True)
        finally:
            with suppress(Exception):
                self.session.close()

    def run(self, fetches: Any, feeds: Any, options: Any, run_metadata: Any) -> Any:
        """What the caller fetches. An error that makes all threads stop comes before one of the
        run that follows from it."""
        try:
            return self._run(fetches, feeds, options, run_metadata)
        except BROKEN:
            raise
        except Exception as error:
            try:
                self.coordinator.raise_requested_exception()
            except BROKEN:
                raise
            except Exception:
                raise error from None
            raise

    def _run(self, fetches: Any, feeds: Any, options: Any, run_metadata: Any) -> Any:
        if self._stop:
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feeds), self.session)
        asked = [hook.before_run(context) for hook in self._hooks]
        feeds = _all_feeds(feeds, [a.feed_dict for a in asked if a is not None and a.feed_dict])
        options = _all_options(options, [a.options for a in asked if a is not None and a.options])
        run_metadata = RunMetadata() if run_metadata is None else run_metadata
        wanted = [fetches, *(None if a is None else a.fetches for a in asked)]
        found = self._fetched(wanted, feeds, options, run_metadata)
        for hook, results in zip(self._hooks, found[1:]):
            hook.after_run(context, SessionRunValues(results, options, run_metadata))
        self._stop = self._stop or context.stop_requested
        return found[0]

    def _fetched(self, wanted: Sequence[Any], feeds: Any, options: Any, metadata: Any) -> list[Any]:
        """The values of several structures (None: of nothing), in one run. They are fetched as one
        flat list, which a session finds again sooner."""
        leaves = [[] if w is None else flatten(w) for w in wanted]
        flat = [leaf for found in leaves for leaf in found]
        values = iter(self.session.run(flat, feeds, options, metadata))
        return [
            None if w is None else pack_sequence_as(w, [next(values) for _ in found])
            for w, found in zip(wanted, leaves)
        ]


def _all_feeds(feeds: Any, of_hooks: Iterable[Mapping[Any, Any]]) -> Any:
    """The caller's feeds and those of the hooks. Raises `RuntimeError` for a tensor that two of
    them feed."""
    found: dict[Any, Any] = {}
    for more in of_hooks:
        _check_disjoint(found, more, "Same tensor is fed by two hooks.")
        found |= more
    if not found:
        return feeds
    _check_disjoint(feeds or {}, found, "Same tensor is fed by a SessionRunHook and user.")
    return {**found, **(feeds or {})}


def _check_disjoint(one: Mapping[Any, Any], other: Mapping[Any, Any], fault: str) -> None:
    both = one.keys() & other.keys()
    if both:
        raise RuntimeError(f"{fault} Conflict(s): {list(both)}")


def _all_options(options: Any, of_hooks: Iterable[Any]) -> Any:
    """The caller's options with what hooks ask for beside them."""
    found = RunOptions() if options is None else options
    for more in of_hooks:
        found = replace(
            found,
            trace_level=max(found.trace_level, more.trace_level),
            timeout_in_ms=max(found.timeout_in_ms, more.timeout_in_ms),
        )
    return found


class _Monitored:
    """A session that hooks watch, of which there is one at a time."""

    def __init__(
        self,
        creator: SessionCreator,
        hooks: Sequence[SessionRunHook] | None,
        recovers: bool,
        grace_secs: float,
    ) -> None:
        self._graph = get_default_graph()
        self._was_finalized = self._graph.finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._creator = creator
        self._recovers = recovers
        self._grace_secs = grace_secs
        self._closed = False
        self._current: _HookedRuns | None = None
        self._runs()

    def _runs(self) -> _HookedRuns:
        """The session; a new one where there is none."""
        if self._closed:
            raise RuntimeError("Session is already closed.")
        while self._current is None:
            try:
                session = self._creator.create_session()
                self._current = _HookedRuns(session, self._hooks, self._grace_secs)
            except BROKEN as error:
                if not self._recovers:
                    raise
                logging.info("A new session is made instead of one that failed: %s", error)
        return self._current

    def _repeated(self, step: Callable[[_HookedRuns], Any]) -> Any:
        while True:
            runs = self._runs()
            try:
                return step(runs)
            except BROKEN as error:
                if not self._recovers:
                    raise
                logging.info("A new session is made, and the step repeated: %s", error)
                self._current = None
                with suppress(*BROKEN):
                    runs.close()

    @property
    def graph(self) -> Graph | None:
        """The graph, None once the session is closed."""
        return None if self._current is None else self._current.session.graph

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """As `Session.run`, with the hooks round it. Raises `RuntimeError` once the session is
        closed or should stop."""
        return self._repeated(lambda runs: runs.run(fetches, feed_dict, options, run_metadata))

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Calls `step_fn(step_context)`, which may run what it likes. Raises `ValueError` for a
        function of other arguments."""
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                f"`step_context` arguments if it's an instance method. Got {names} instead."
            )

        def step(runs: _HookedRuns) -> Any:
            def run_with_hooks(
                fetches: Any,
                feed_dict: Any = None,
                options: Any = None,
                run_metadata: Any = None,
            ) -> Any:
                return runs.run(fetches, feed_dict, options, run_metadata)

            return step_fn(StepContext(runs.session, run_with_hooks))

        return self._repeated(step)

    def should_stop(self) -> bool:
        """Whether a hook asked to stop, or the session is closed."""
        if self._current is None:
            return True
        try:
            return self._current.should_stop()
        except BROKEN:
            if not self._recovers:
                raise
            self._current.close()
            self._current = None
            self._runs()
            return False
        except Exception:
            if not self._recovers:
                raise
            return True

    def close(self) -> None:
        """Calls the `end` of the hooks and closes the session. Raises `RuntimeError` for one that
        is closed."""
        self._close(by_error=False)

    def _close(self, by_error: bool) -> None:
        runs = self._current
        try:
            if not by_error and runs is not None:
                for hook in self._hooks:
                    hook.end(runs.session)
        finally:
            self._current = None
            closed, self._closed = self._closed, True
            if not self._was_finalized:
                self._graph.unfinalize()
            if closed:
                raise RuntimeError("Session is already closed.")
            if runs is not None:
                runs.close()

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, value: Any, traceback: Any) -> bool:
        """The end of the input ends the block without an error."""
        ended = kind in (OutOfRangeError, StopIteration)
        self._close(by_error=kind is not None and not ended)
        return ended or kind is None


class MonitoredSession(_Monitored):
    """A session with hooks that is made anew where another machine's end has broken it.

    `session_creator`: makes it (default: a `ChiefSessionCreator`); `stop_grace_period_secs`: how
    long closing waits for threads. At the end of a `with` block without an error the hooks' `end`
    is called; `OutOfRangeError` and `StopIteration` are no errors. Raises what a run raises, but
    for errors after which a session can be made anew.
    """

    def __init__(
        self,
        session_creator: SessionCreator | None = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        creator = session_creator or ChiefSessionCreator()
        super().__init__(creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_Monitored):
    """A session with hooks that is never made anew; `raw_session` gives it to a `Saver`. Raises
    what a run raises: no error begins anew."""

    def __init__(
        self,
        hooks: Sequence[SessionRunHook] | None = None,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        stop_grace_period_secs: float = 120,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        creator = ChiefSessionCreator(
            scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path
        )
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """The session below, None once it is closed."""
        return None if self._current is None else self._current.session
