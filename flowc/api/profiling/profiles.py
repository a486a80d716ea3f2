"""`flowc.profile`: what the runs of a Session spend their time on.

In: a Session, or all of the process, and which of its runs. Out: a `Profile`: a table of steps, a
Chrome trace, a picture, RunMetadata. Invariant: a Session that is not profiled runs the very code
that it would run without this module: `run` is replaced as long as a profile is on, and no longer.
"""

from __future__ import annotations

import gzip
import itertools
import os
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from flowc.api.framework.timeline import Timeline
from flowc.api.profiling.steps import StepTimes, StepTotal, table_of, totals_of
from flowc.encoding.step_stats import RunMetadata
from flowc.errors import AlreadyExistsError, UnavailableError
from flowc.graph import Graph
from flowc.run.host_steps import current_trace
from flowc.run.session import Session
from flowc.run.step_stats import metadata_of_run, steps_of
from flowc.run.traces import Trace, tells

_ENDINGS = (".html", ".json", ".json.gz", ".pb")


def profile(
    session: Any = None,
    logdir: str | os.PathLike[str] | None = None,
    profile_batch: int | str | Sequence[int] | None = None,
) -> Profile:
    """A profile of the runs of a Session (of all Sessions without one), to be used in `with`:

        with flowc.profile(session) as found:
            session.run(train, feeds)
        print(found.table())
        found.save("profile.html")

    `profile_batch`: which runs, counted from 1: one (`10`), or the first and the last (`(10, 15)`,
    `"10, 15"`); all without. A run of another shape than before compiles a traced program first,
    which is not in its times. With `logdir`, the files that `save_in` writes are there at the end.
    Raises `ValueError` for another `profile_batch`, `TypeError` for what is no Session.
    """
    raw = session.raw_session() if hasattr(session, "raw_session") else session
    if raw is not None and not isinstance(raw, Session):
        raise TypeError(f"expected a Session, found {type(session).__name__}")
    return Profile(Session if raw is None else raw, logdir, _range_of(profile_batch))


def _range_of(given: int | str | Sequence[int] | None) -> tuple[int, int | None]:
    """The numbers of the first and the last run; None: to the end."""
    if given is None:
        return 1, None
    if isinstance(given, str):
        words = [word.strip() for word in given.split(",")]
        parts = [int(w) if w.isdecimal() else 0 for w in words]
    else:
        parts = [given] if isinstance(given, int) else [*given]
    first, last = (parts[0], parts[-1]) if len(parts) in (1, 2) else (0, 0)
    if not 1 <= first <= last:
        text = f"profile_batch must be a run, or the first and the last of several, found {given!r}"
        raise ValueError(text)
    return first, last


class Profile:
    """What the runs of a Session told while it was profiled: `profile` makes it. Runs of any thread
    are in it. Raises nothing for runs that fail: they raise what they raise."""

    def __init__(
        self,
        owner: Any,
        logdir: str | os.PathLike[str] | None,
        batches: tuple[int, int | None],
    ) -> None:
        self._owner, self._logdir = owner, logdir
        self._first, self._last = batches
        self._numbers = itertools.count(1)  # of runs; each thread gets another
        self._traces: list[tuple[Graph, Trace]] = []
        self._before: tuple[bool, Any] | None = None

    # -- as long as it is on

    def __enter__(self) -> Profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begins to trace runs. Raises `AlreadyExistsError` where a profile is on."""
        owner = self._owner
        plain = owner.run
        if hasattr(plain, "profile"):
            raise AlreadyExistsError("Another profiler is running.")
        self._before = ("run" in vars(owner), plain)
        setattr(owner, "run", self._tracing(plain))  # noqa: B010  (a method is replaced)

    def stop(self) -> None:
        """Ends it, and writes the files of `logdir`. Does nothing where it is not on."""
        if self._before is None:
            return
        had, plain = self._before
        self._before = None
        if had:
            setattr(self._owner, "run", plain)  # noqa: B010
        else:
            delattr(self._owner, "run")
        if self._logdir is not None:
            self.save_in(self._logdir)

    def _tracing(self, plain: Callable[..., Any]) -> Callable[..., Any]:
        is_class = isinstance(self._owner, type)

        def run(
            session: Session,
            fetches: Any,
            feed_dict: Any = None,
            options: Any = None,
            run_metadata: Any = None,
        ) -> Any:
            # Runs inside of a run belong to it; a run that tells of itself is traced already.
            tells_itself = run_metadata is not None and options is not None and tells(options)
            if tells_itself or current_trace() is not None or not self._takes():
                arguments = (session,) if is_class else ()
                return plain(*arguments, fetches, feed_dict, options, run_metadata)
            trace = Trace()
            results = session.run_traced(trace, fetches, feed_dict, options)
            self._traces.append((session.graph, trace))
            return results

        found: Any = run if is_class else partial(run, self._owner)
        found.profile = self
        return found

    def _takes(self) -> bool:
        """Whether the run that begins is one of those asked for."""
        number = next(self._numbers)
        return self._first <= number and (self._last is None or number <= self._last)

    # -- what was found

    @property
    def run_count(self) -> int:
        """How many runs were traced."""
        return len(self._traces)

    def runs(self) -> list[list[StepTimes]]:
        """The steps of each run, in the order in which they began."""
        return [steps_of(graph, trace) for graph, trace in self._traces]

    def steps(self) -> list[StepTotal]:
        """Each step with its times in all runs, the one that took longest first. A step is one
        launch of a kernel, or one call of Python: it computes one operation or several."""
        return totals_of(self.runs())

    def table(self, most: int = 30) -> str:
        """`steps` as a text: the first `most` and the sum of the rest."""
        return table_of(self.steps(), self.run_count, most)

    @property
    def run_metadata(self) -> RunMetadata:
        """The steps of all runs as TensorFlow's message."""
        found = RunMetadata()
        for graph, trace in self._traces:
            found.MergeFrom(RunMetadata.FromString(metadata_of_run(graph, trace, False)))
        while len(found.step_stats.dev_stats) > 1:  # one device: runs stand one behind another
            found.step_stats.dev_stats[0].node_stats.extend(
                found.step_stats.dev_stats[1].node_stats
            )
            del found.step_stats.dev_stats[1]
        return found

    def chrome_trace(self) -> str:
        """The steps of all runs as JSON, for `chrome://tracing` and Perfetto."""
        timeline = Timeline(self.run_metadata.step_stats)
        return timeline.generate_chrome_trace_format(show_dataflow=False)

    def html(self, title: str = "flowc profile") -> str:
        """A page that needs nothing beside itself: the timeline of a run of middle length, the
        memory of its tensors, and the table."""
        from flowc.api.profiling.picture import page_of

        return page_of(title, self.runs(), self.steps())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a file: `.html` the page, `.json` (or `.json.gz`) the Chrome trace, `.pb` the
        RunMetadata. Raises `ValueError` for another ending, `OSError` where it cannot be written.
        """
        name = os.fspath(path)
        if name.endswith(".html"):
            data = self.html(Path(name).stem).encode()
        elif name.endswith(".json"):
            data = self.chrome_trace().encode()
        elif name.endswith(".json.gz"):
            data = gzip.compress(self.chrome_trace().encode(), mtime=0)
        elif name.endswith(".pb"):
            data = self.run_metadata.SerializeToString()
        else:
            raise ValueError(f"{name}: expected a name that ends in {', '.join(_ENDINGS)}")
        Path(name).write_bytes(data)

    def save_in(self, logdir: str | os.PathLike[str]) -> None:
        """Writes page, trace and RunMetadata into a new folder `logdir/plugins/profile/<time>`."""
        folder = Path(logdir, "plugins", "profile", time.strftime("%Y_%m_%d_%H_%M_%S"))
        folder.mkdir(parents=True, exist_ok=True)
        for ending in (".html", ".trace.json.gz", ".run_metadata.pb"):
            self.save(folder / f"{socket.gethostname()}{ending}")


# -- tf.profiler.experimental


def start(logdir: str | os.PathLike[str], options: Any = None) -> None:
    """Profiles the runs of all Sessions of the process until `stop`. `options` is not used. Raises
    `AlreadyExistsError` where that is on."""
    profile(None, logdir).start()


def stop(save: bool = True) -> None:
    """Ends what `start` began, and writes its files: see `Profile.save_in`. Raises
    `UnavailableError` where nothing is profiled."""
    found = getattr(Session.run, "profile", None)
    if found is None:
        text = "Cannot export profiling results. No profiler is running."
        raise UnavailableError(text)
    if not save:
        found._logdir = None
    found.stop()


class ProfileContext:
    """`with tf.profiler.experimental.Profile(logdir):` is `start` and `stop`. Raises as they do."""

    def __init__(self, logdir: str | os.PathLike[str], options: Any = None) -> None:
        self._logdir, self._options = logdir, options

    def __enter__(self) -> None:
        start(self._logdir, self._options)

    def __exit__(self, *error: object) -> None:
        stop()
