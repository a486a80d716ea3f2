"""Runs fetches of a Graph: compiles what it has not seen, then one native call a run.

In: fetches and feeds as TensorFlow's `Session.run` takes them. Out: NumPy arrays in the structure
of the fetches. A program is looked up by fetches, fed tensors, and the dtypes and shapes of feeds;
where shapes vary, one program comes to serve them all (`shape_specialization.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from flowc.errors import (
    FlowcError,
    InvalidArgumentError,
    NegativeSizeError,
    NotFoundError,
    UsageError,
)
from flowc.graph import Graph, Operation, Tensor, get_default_graph
from flowc.graph.default import default_session
from flowc.ir.cached_property import cached_property
from flowc.ir.host_run import HostRun
from flowc.options import Options
from flowc.run.devices import PROCESS_SETTINGS, DeviceAttributes, Placement, target_of
from flowc.run.dispatch import Dispatcher
from flowc.run.fetches import Fetches, feed_arrays, feed_items
from flowc.run.functions import CalledFunctions
from flowc.run.host_ranks import Outdated
from flowc.run.host_steps import time_left, traced_by
from flowc.run.remembered_calls import form_of_array, form_of_fetches
from flowc.run.state import RunSettings, RunState

if TYPE_CHECKING:
    from flowc.run.partial_runs import PartialRuns
    from flowc.run.traces import Trace

CLOSED = "Attempted to use a closed Session."


def _check_target(target: Any) -> None:
    if target is not None and not isinstance(target, str | bytes):
        kind = type(target).__name__
        raise TypeError(f'Argument `target` must be a string, but got "{kind}"')
    if target:
        shown = target.decode(errors="replace") if isinstance(target, bytes) else target
        raise NotFoundError(
            f'No session factory registered for the given session options: {{target: "{shown}"}}:'
            " flowc runs in the process that calls it",
            hint="leave out the target",
        )


class Session:
    """Runs parts of a Graph (the default graph, if none is given).

    `threads`: workers of one run (default: one a core). `max_memory`: the bytes that one run may
    take beside weights and feeds, its results among them, and those that a compilation may make
    beside the model's own (default: what the machine has); what needs more raises
    `ResourceExhaustedError`. `options`: how programs are compiled.
    `random_seed`: what random nodes without seeds start from (default: other numbers in every
    Session). `device`: "cuda" compiles for the GPU that is there, and leaves to the CPU what a GPU
    has no kernels for ("cpu", the default, for the CPU alone). `exact`: products and convolutions
    add up the very products of their elements, which may take longer. `tune`: convolutions are
    computed in the way that takes the least time on this machine, measured once and kept in the
    cache. Any thread may call `run`. Raises `NotFoundError` for a target other than `""`,
    `UnavailableError` where there is no GPU.
    """

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        config: Any = None,
        *,
        threads: int | None = None,
        max_memory: int | None = None,
        options: Options | None = None,
        random_seed: int | None = None,
        device: str | None = None,
        exact: bool = False,
        tune: bool = False,
    ) -> None:
        if graph is not None and not isinstance(graph, Graph):
            kind = type(graph).__name__
            raise TypeError(f'Argument `graph` must be a tf.Graph, but got "{kind}"')
        if not hasattr(config, "allow_soft_placement") and config is not None:
            kind = type(config).__name__
            raise TypeError(f'Argument `config` must be a tf.ConfigProto, but got "{kind}"')
        _check_target(target)
        self._graph = graph if graph is not None else get_default_graph()
        wanted = PROCESS_SETTINGS.intra_op_threads
        if config is not None:
            wanted = config.intra_op_parallelism_threads
        self._timeout = max(0, getattr(config, "operation_timeout_in_ms", 0))
        self._threads = threads if threads is not None else wanted or None
        self._options = options if options is not None else Options()
        if max_memory is not None:
            self._options = replace(self._options, max_memory=max_memory)
        if exact or tune:
            was = self._options
            self._options = replace(was, exact=exact or was.exact, tune=tune or was.tune)
        if device is not None:
            self._options = replace(self._options, target=target_of(device))
        self._state = RunState(self._graph, random_seed, max_memory)
        self._max_memory = max_memory
        self._placement = Placement.of(config, self._options.has_gpu)
        self._dispatch_to(self._state, self._threads)
        self._state.functions = CalledFunctions(self._graph, self._inner)
        self._state.run_main = lambda main: self.run(main.name, main.assets)
        self._traced: Session | None = None
        self._closed = False
        self._contexts: list[Any] = []

    def _inner(self, graph: Graph, has_new_streams: bool, calls: int = 1) -> Callable[..., Any]:
        """What runs the graph of a function that a host step of this Session calls, so many times
        at once, that is: `_run_into` of another one."""
        state = self._state.with_new_streams() if has_new_streams else self._state
        threads = self._threads
        if calls > 1:
            from flowc.files.process import usable_cores

            threads = max(1, (threads or usable_cores()) // calls)
        found = self._beside(graph, self._options, state, threads)
        found._dispatcher.programs.reads_images_first = True
        return found._run_into

    def _beside(
        self,
        graph: Graph,
        options: Options,
        state: RunState | None = None,
        threads: int | None = None,
    ) -> Session:
        """Another Session with the same state and threads, where no others are given."""
        threads = threads or self._threads
        found = Session(graph=graph, threads=threads, max_memory=self._max_memory, options=options)
        found._placement = self._placement
        found._dispatch_to(state or self._state, threads)
        return found

    def _dispatch_to(self, state: RunState, threads: int | None) -> None:
        self._state, self._variables = state, state.variables
        settings = RunSettings(
            self._graph, self._options, threads, state, self._max_memory, self._placement
        )
        self._dispatcher = Dispatcher(settings)
        self._calls = self._dispatcher.calls

    def __repr__(self) -> str:
        held = len(self._variables.types()[1])
        state = "closed" if self._closed else f"{held} values held"
        return f"<Session of {self._graph!r}, {state}>"

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def _open_dispatcher(self) -> Dispatcher:
        if self._closed:
            raise RuntimeError(CLOSED)
        return self._dispatcher

    @property
    def state(self) -> RunState:
        """What the runs share: variables, tables, queues."""
        return self._state

    @property
    def graph_def(self) -> Any:
        """The graph as a GraphDef message."""
        return self._graph.as_graph_def()

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Does nothing: the state of a Session is its own. Raises as `Session` does for a target
        other than `""`."""
        _check_target(target)

    def list_devices(self) -> list[DeviceAttributes]:
        """The devices that runs can use: the CPU, under as many names as `device_count` of the
        `tf.ConfigProto` says, and the GPU that the Session was made for."""
        if self._closed:
            raise RuntimeError(CLOSED)
        return self._placement.devices()

    @property
    def sess_str(self) -> bytes:
        return b""

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: Any = None,
        run_metadata: Any = None,
    ) -> Any:
        """Computes the fetches: a Tensor gives an array (a NumPy scalar for rank 0), an Operation
        None; lists, tuples, named tuples and dicts give the same structure.

        `feed_dict` maps tensors (or names) to values and may override any tensor.
        `options.timeout_in_ms`: the longest that the run may take, once it is compiled;
        `options.trace_level`: with `RunOptions.FULL_TRACE` (or any but `NO_TRACE`), `run_metadata`
        gets the times and tensors of every step. A program is compiled anew for its first traced
        run; runs that are not traced are as fast as ever.

        Raises `RuntimeError` when the session is closed, `TypeError` for fetches or feeds of other
        types, `ValueError` for unknown names, other graphs and shapes that do not fit,
        `DeadlineExceededError` for a run that takes too long.
        """
        feeds = feed_dict or {}
        timeout = self._timeout
        if options is not None:
            from flowc.run.traces import tells  # late: hardly any run is traced

            if run_metadata is not None and tells(options):
                return self._run_with_metadata(fetches, feeds, options, run_metadata)
            if options.timeout_in_ms:
                timeout = max(0, options.timeout_in_ms)
        try:
            asked = tuple(fetches) if type(fetches) is list else fetches
            version = self._variables.version
            key = (version, asked, type(fetches), *feeds, *map(form_of_array, feeds.values()))
            call = self._calls.get(key)
        except (AttributeError, TypeError):
            call, key = None, None
        try:
            if call is not None and not self._closed:
                try:
                    return call(feeds.values(), timeout)
                except (Outdated, NegativeSizeError):
                    pass
            return self._open_dispatcher.run(fetches, feeds, key, timeout)
        except FlowcError as found:
            self._raise_told(found, fetches, feeds)

    def _run_into(
        self,
        fetches: list[Tensor],
        feeds: dict[Tensor, np.ndarray],
        into: Sequence[np.ndarray] = (),
    ) -> Any:
        """`run`, whose results are written to the arrays of `into` where they have their shapes and
        dtypes, and these are given back then. It may take no longer than the run that asks."""
        timeout = self._timeout or time_left()
        version = self._variables.version
        key = (version, (*fetches,), list, *feeds, *map(form_of_array, feeds.values()))
        call = None if self._closed else self._calls.get(key)
        try:
            if call is not None:
                try:
                    return call(feeds.values(), timeout, into)
                except (Outdated, NegativeSizeError):
                    pass
            return self._open_dispatcher.run(fetches, feeds, key, timeout)
        except FlowcError as found:
            self._raise_told(found, fetches, feeds)

    def _raise_told(self, found: FlowcError, fetches: Any, feeds: Mapping[Any, Any]) -> NoReturn:
        """Raises the error, which says what is known of its node."""
        from flowc.run.run_faults import explained_fault  # late: a run without a fault needs it not

        def check_sizes() -> None:
            asked = Fetches(self._graph, fetches)
            programs = self._dispatcher.programs
            segment = programs.asked(asked.tensors, asked.operations)
            programs.check_sizes(segment, feed_arrays(self._graph, feeds))

        def run(operations: list[Operation]) -> None:
            self._open_dispatcher.run(operations, feeds, None, self._timeout)

        error = explained_fault(found, self._graph, check_sizes, run)
        if error is found:
            raise found
        raise error from None

    def _run_with_metadata(self, fetches: Any, feeds: Any, options: Any, run_metadata: Any) -> Any:
        """A traced run, which fills in a `RunMetadata`."""
        from flowc.run.step_stats import metadata_of_run  # late: who needs no message does without
        from flowc.run.traces import Trace

        trace = Trace()
        if options.trace_level:
            results = self.run_traced(trace, fetches, feeds, options)
        else:
            results = self.run(fetches, feeds, options)
        asked: list[Operation] = []
        if options.trace_level:
            found = Fetches(self._graph, fetches)
            fed = {tensor.op for tensor, _ in feed_items(self._graph, feeds)}
            asked = [
                op for op in (*(t.op for t in found.tensors), *found.operations) if op not in fed
            ]
        written = metadata_of_run(self._graph, trace, options.output_partition_graphs, asked)
        run_metadata.ParseFromString(written)
        return results

    def run_traced(self, trace: Trace, fetches: Any, feeds: Any, options: Any = None) -> Any:
        """`run`, which notes in `trace` when each step began and ended."""
        if self._traced is None:
            self._traced = self._beside(self._graph, replace(self._options, traced=True))
        return traced_by(trace, self._traced.run, fetches, feeds, options)

    def repeating(self, operation: Operation) -> Callable[[], None]:
        """What runs an operation that is to be run again and again: each call runs it once, or
        several times. It raises what `run` raises."""
        from flowc.run.queue_blocks import RepeatedRun, RunsOfSession  # late: they load records

        def host_run() -> HostRun:
            if self._closed:
                raise RuntimeError(CLOSED)
            return self._state.host_run(self._timeout)

        runs = RunsOfSession(self.run, host_run, lambda graph: self._inner(graph, False))
        return RepeatedRun(operation, runs)

    def make_callable(
        self,
        fetches: Any,
        feed_list: Sequence[Any] | None = None,
        accept_options: bool = False,
        *,
        on_device: bool = False,
    ) -> Callable[..., Any]:
        """A function that runs the fetches with its arguments as the values of `feed_list`.

        With `accept_options` it takes `options` and `run_metadata` by name. `on_device`: results
        are `DeviceArray`s in the memory of the Session's GPU, which other libraries take without a
        copy (strings are arrays of the host). It raises what `run` raises, `ValueError` for another
        number of arguments and for both settings, and `UsageError` where the Session has no GPU.
        """
        if feed_list is not None and not isinstance(feed_list, list | tuple):
            raise TypeError(
                f"Argument `feed_list` must be a list or tuple. Received: feed_list={feed_list}"
            )
        keys = list(feed_list or ())
        if on_device and not self._options.has_gpu:
            raise UsageError("no GPU to leave results on", hint='Session(device="cuda")')
        if on_device and accept_options:
            raise ValueError("accept_options and on_device are for two functions")
        fetches = [*fetches] if type(fetches) is list else fetches
        Fetches(self._graph, fetches)  # says what cannot be fetched
        asked = tuple(fetches) if type(fetches) is list else fetches
        known = (asked, type(fetches), *keys)  # as `run` looks for it
        if on_device:
            known = ("on a GPU", form_of_fetches(fetches), *keys)

        def call(*values: Any, **settings: Any) -> Any:
            if len(values) != len(keys):
                raise InvalidArgumentError(
                    f"You must feed a value for each of the {len(keys)} tensors of `feed_list`, "
                    f"found {len(values)}"
                )
            if settings and not accept_options:
                raise TypeError(f"unexpected arguments: {', '.join(settings)}")
            key = None
            try:
                key = (self._variables.version, *known, *map(form_of_array, values))
                found = None if settings or self._closed else self._calls.get(key)
            except (AttributeError, TypeError):
                key = found = None
            if found is not None:
                try:
                    return found(values, self._timeout)
                except (Outdated, NegativeSizeError):
                    pass
                except FlowcError as error:
                    self._raise_told(error, fetches, dict(zip(keys, values)))
            feeds = dict(zip(keys, values))
            if not on_device:
                return self.run(fetches, feeds, **settings)
            try:
                dispatcher = self._open_dispatcher
                return dispatcher.run_on_device(fetches, feeds, self._timeout, stays=True, key=key)
            except FlowcError as error:
                self._raise_told(error, fetches, feeds)

        return call

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> str:
        """Begins one step of the graph that is computed in several calls of `partial_run`: these
        may fetch `fetches` and feed `feeds`, each once. Returns the step's handle. Raises as `run`,
        and `InvalidArgumentError` where there is nothing to fetch."""
        if self._closed:
            raise RuntimeError(CLOSED)
        return self._partial_runs.begin(fetches, feeds)

    def partial_run(
        self, handle: str, fetches: Any, feed_dict: Mapping[Any, Any] | None = None
    ) -> Any:
        """Computes some fetches of a step from what it has been fed so far. Raises as `run`, and
        `InvalidArgumentError` for a handle of no step, for what the step does not have, and for
        what needs more feeds."""
        return self._partial_runs.run(handle, fetches, feed_dict or {})

    @cached_property
    def _partial_runs(self) -> PartialRuns:
        from flowc.run.partial_runs import PartialRuns  # late: hardly ever needed

        return PartialRuns(self._graph, self._dispatcher.run_part)

    def variable_values(self) -> dict[str, np.ndarray]:
        """Copies of the variables that runs have assigned, by name."""
        return self._variables.values()

    def close(self) -> None:
        """Frees the programs and the variables; the session cannot run after it."""
        self._closed = True
        self._state.close()
        self._dispatcher.clear()

    def __enter__(self) -> Session:
        with ExitStack() as context:
            context.enter_context(self.graph.as_default())
            context.enter_context(self.as_default())
            self._contexts.append(context.pop_all())
        return self

    def __exit__(self, *error: Any) -> None:
        self._contexts.pop().__exit__(*error)
        self.close()

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Makes this the default session of the thread; its graph becomes the default graph only
        where the session itself is entered, or `graph.as_default()`."""
        with default_session(self):
            yield self


class InteractiveSession(Session):
    """A Session that is the default one from the start, until it is closed; so is its graph where
    one is given. Raises as `Session`."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: Any = None, **settings: Any
    ) -> None:
        super().__init__(target, graph, config, **settings)
        with ExitStack() as default:
            if graph is not None:
                default.enter_context(graph.as_default())
            default.enter_context(self.as_default())
            self._default: ExitStack | None = default.pop_all()

    def close(self) -> None:
        super().close()
        default, self._default = self._default, None
        if default is not None:
            default.close()
