"""The protocol of hooks: what is called round the runs of a monitored session.

A hook's `begin` may still add to the graph; `after_create_session` follows each new session; round
each run, `before_run` may add fetches and feeds, and `after_run` gets what they gave; `end` comes
when the session ends without an error.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class SessionRunArgs(NamedTuple):
    """What a hook asks of a run: arguments of `Session.run`. Raises nothing by itself: the run
    raises what `Session.run` does for them."""

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a run gave: `results` in the structure of the hook's fetches. Raises nothing."""

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """One run, as hooks see it: what the caller asked for, and the session to run more in. Raises
    nothing."""

    def __init__(self, original_args: SessionRunArgs, session: Any) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    @property
    def original_args(self) -> SessionRunArgs:
        return self._original_args

    @property
    def session(self) -> Any:
        return self._session

    @property
    def stop_requested(self) -> bool:
        return self._stop_requested

    def request_stop(self) -> None:
        """The monitored session says `should_stop` from the end of this run on."""
        self._stop_requested = True


class SessionRunHook:
    """What all hooks derive from: each method does nothing. Raises nothing."""

    def begin(self) -> None:
        """Called once, while the graph may still change."""

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Called when a session was made; the graph is finalized."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """What to add to a run, None for nothing."""

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called behind each run that raised nothing, with the values of what `before_run` asked
        for."""

    def end(self, session: Any) -> None:
        """Called before the session is closed, unless an error closes it."""
