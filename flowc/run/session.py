"""Runs fetches of a Graph: compiles what it has not seen, then one native call a run.

In: fetches and feeds as TensorFlow's `Session.run` takes them. Out: NumPy arrays in the structure
of the fetches. A program is looked up by fetches, fed tensors, and the dtypes and shapes of feeds;
where shapes vary, one program comes to serve them all (`shape_specialization.py`).
"""

from __future__ import annotations

import threading
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from flowc import dtypes
from flowc.errors import FlowcError, NotFoundError, did_you_mean
from flowc.extract.assumed_ranks import OutputName
from flowc.graph import Graph, Tensor, get_default_graph
from flowc.graph.default import default_session
from flowc.graph.fetch_set import FetchSet
from flowc.graph.lazy_graph import UntouchedGraph
from flowc.ir.program_spec import ProgramSpec
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.run.fetches import Fetches, Rebuild, feed_array, only, operation_names
from flowc.run.host_ranks import HostRanks, Outdated
from flowc.run.host_steps import RunLog
from flowc.run.random_states import first_states
from flowc.run.shape_specialization import FeedShapes, FeedTypes, outline
from flowc.run.variables import HeldVariables

if TYPE_CHECKING:
    from flowc.cache.program_index import Request
    from flowc.run.executable import Executable


@dataclass(slots=True)
class _Program:
    """A compiled fetch set: which feeds go where, and the executable (None: there is nothing to
    do). `reads` and `writes` are the variables whose values follow the feeds and the fetches.
    `expects`: the types that the variables in it had when it was compiled, None for those that the
    session did not hold. `ranks`: what it assumes of what functions of Python return. `is_exact`:
    it serves one tuple of shapes of the feeds only."""

    executable: Executable | None
    spec: ProgramSpec
    feeds: list[Tensor]
    expects: dict[str, TensorType | None]
    ranks: HostRanks
    is_exact: bool
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    in_place: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        self.reads = tuple(v.name for v in self.spec.reads)
        self.writes = tuple(v.name for v in self.spec.writes)
        self.in_place = frozenset(v.name for v in self.spec.variables if self.spec.in_place(v))

    def suits(self, types: Mapping[str, TensorType]) -> bool:
        return not self.ranks.is_news and all(
            types.get(name) == expected for name, expected in self.expects.items()
        )


class _Call:
    """A program with all that the form of its feeds decides: their shapes, strides and dtypes."""

    __slots__ = ("contiguous", "executable", "layout", "rebuild")

    def __init__(
        self, executable: Executable, arrays: Sequence[np.ndarray], rebuild: Rebuild
    ) -> None:
        self.executable = executable
        self.layout = executable.layout_of(arrays)
        self.contiguous = all(a.flags.c_contiguous for a in arrays)
        self.rebuild = rebuild

    def __call__(self, arrays: Iterable[np.ndarray], timeout: float = 0) -> Any:
        if not self.contiguous:
            arrays = map(np.ascontiguousarray, arrays)
        results = self.executable.run_laid_out(self.layout, arrays, None, timeout)
        if self.layout.scalars:
            results = [r if r.ndim else r[()] for r in results]
        return self.rebuild(results)


class _StatefulCall:
    """A `_Call` of a program that reads or writes variables, whose types have a version."""

    __slots__ = ("_call", "_program", "_variables", "_version")

    def __init__(
        self, call: _Call, program: _Program, variables: HeldVariables, version: int
    ) -> None:
        self._call = call
        self._program = program
        self._variables = variables
        self._version = version

    def __call__(self, arrays: Iterable[np.ndarray], timeout: float = 0) -> Any:
        call, program = self._call, self._program
        given = list(arrays) if call.contiguous else [np.ascontiguousarray(a) for a in arrays]

        def run(values: Sequence[np.ndarray], buffers: Sequence[Any]) -> list[np.ndarray]:
            outputs = call.layout.outputs_ending_in(buffers)
            every = [*given, *values]
            return call.executable.run_laid_out(call.layout, every, outputs, timeout)

        results = self._variables.run(
            self._version, program.reads, program.writes, run, program.in_place
        )
        if results is None:
            raise Outdated
        return call.rebuild([r if r.ndim else r[()] for r in results])


_form = attrgetter("__class__", "shape", "strides", "dtype")
CALLS = 1024  # forms of fetches and feeds that are remembered


def _outline(type_: TensorType | None) -> np.ndarray:
    """Something with the dtype and shape of a variable's value."""
    assert type_ is not None
    return np.broadcast_to(np.zeros((), type_.dtype.numpy), type_.static_dims)


def _is_plain(
    feeds: Mapping[Any, Any], fed: Mapping[Tensor, np.ndarray], program: _Program
) -> bool:
    """Whether what the caller gave is what the program takes, in its order."""
    given = [(type(fed[t]), fed[t].dtype) for t in program.feeds]
    found = [(type(v), getattr(v, "dtype", None)) for v in feeds.values()]
    return given == found and list(fed) == program.feeds


def _is_flat(fetches: Any) -> bool:
    """Whether fetches are one element or a row of them: such are equal only if they are alike, and
    a named tuple inside another is not."""
    row = fetches if isinstance(fetches, (list, tuple)) else [fetches]
    return not any(isinstance(item, (list, tuple, Mapping)) for item in row)


class Session:
    """Runs parts of a Graph (the default graph, if none is given).

    `threads`: workers of one run (default: one a core). `options`: how programs are compiled.
    `random_seed`: what random nodes without seeds start from (default: other numbers in every
    Session). Any thread may call `run`. Raises `NotFoundError` for a target other than `""`.
    """

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        config: Any = None,
        *,
        threads: int | None = None,
        options: Options | None = None,
        random_seed: int | None = None,
    ) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph)}")
        if target:
            raise NotFoundError(
                f"No session factory registered for the given session options: {{target: "
                f'"{target}"}}: flowc runs in the process that calls it',
                hint="leave out the target",
            )
        self._graph = graph if graph is not None else get_default_graph()
        wanted = getattr(config, "intra_op_parallelism_threads", 0)
        self._threads = threads if threads is not None else wanted or None
        self._options = options if options is not None else Options()
        self._programs: dict[Any, _Program] = {}
        self._shapes: dict[Any, FeedShapes] = {}
        self._calls: dict[Any, _Call | _StatefulCall] = {}
        self._calls_version = 0
        self._random_seed = random_seed
        self._states: dict[str, np.ndarray] = {}
        self._ranks: dict[OutputName, int] = {}
        self._variables = HeldVariables(
            lambda: ChainMap(self._states, cast(Any, self._graph.variable_values))
        )
        self._compiling = threading.Lock()
        self._closed = False
        self._contexts: list[Any] = []

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def sess_str(self) -> str:
        return ""

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
        `options.timeout_in_ms`: the longest that the run may take, once it is compiled.

        Raises `RuntimeError` when the session is closed, `TypeError` for fetches or feeds of other
        types, `ValueError` for unknown names, other graphs and shapes that do not fit,
        `DeadlineExceededError` for a run that takes too long.
        """
        feeds = feed_dict or {}
        try:
            asked = tuple(fetches) if type(fetches) is list else fetches
            version = self._variables.version
            key = (version, asked, type(fetches), *feeds, *map(_form, feeds.values()))
            call = self._calls.get(key)
        except (AttributeError, TypeError):
            call, key = None, None
        timeout = 0 if options is None else max(0, options.timeout_in_ms)
        if call is None or self._closed:
            return self._run_slowly(fetches, feeds, key, timeout)
        try:
            return call(feeds.values(), timeout)
        except Outdated:
            return self._run_slowly(fetches, feeds, None, timeout)

    def _run_slowly(self, fetches: Any, feeds: Mapping[Any, Any], key: Any, timeout: float) -> Any:
        """Checks everything, compiles if need be, and remembers the call for `run`."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        request = self._request(fetches, feeds)
        if request is not None:
            found = request.executable(self._threads)
            if found is not None:
                rebuild = only if isinstance(fetches, str) else type(fetches)
                call = self._calls[key] = _Call(found, list(feeds.values()), rebuild)
                return call(feeds.values(), timeout)
        if not self._graph.version:
            raise RuntimeError(
                "The Session graph is empty. Add operations to the graph before calling run()."
            )
        wanted = Fetches(self._graph, fetches)
        fed = self._feeds(feeds)
        log = RunLog()
        while True:
            version, program = self._program(wanted, fed)
            if program.executable is None:
                return wanted.rebuild([])
            call = self._call(program, version, fed, wanted.rebuild)
            plain = _is_plain(feeds, fed, program) and key is not None and _is_flat(fetches)
            if plain and not program.ranks.open:
                self._remember(key, version, call)
                lasts = program.is_exact and not program.ranks.assumed
                if request is not None and isinstance(call, _Call) and lasts:
                    request.remember(list(wanted.tensors), program.feeds, program.executable)
            given = [fed[t] for t in program.feeds]
            with suppress(Outdated):
                return program.ranks.run(partial(call, timeout=timeout), given, log)

    def _call(
        self,
        program: _Program,
        version: int,
        fed: Mapping[Tensor, np.ndarray],
        rebuild: Rebuild,
    ) -> _Call | _StatefulCall:
        assert program.executable is not None
        given = [fed[t] for t in program.feeds]
        held = [_outline(program.expects[name]) for name in program.reads]
        call = _Call(program.executable, [*given, *held], rebuild)
        if not program.reads and not program.writes:
            return call
        call.contiguous = all(a.flags.c_contiguous for a in given)
        return _StatefulCall(call, program, self._variables, version)

    def _remember(self, key: Any, version: int, call: _Call | _StatefulCall) -> None:
        """Keeps a call for as long as the variables have the types that they have now."""
        if key[0] != version:
            return
        if self._calls_version != version or len(self._calls) >= CALLS:
            self._calls.clear()
            self._calls_version = version
        self._calls[key] = call

    def _request(self, fetches: Any, feeds: Any) -> Request | None:
        """What is asked of a loaded graph that nobody has looked at: it may be known from before,
        and the graph need not be read then."""
        if not isinstance(self._graph, UntouchedGraph) or self._variables.version:
            return None
        from flowc.cache.program_index import request_of

        return request_of(self._graph, fetches, feeds, self._options)

    def _feeds(self, feeds: Mapping[Any, Any]) -> dict[Tensor, np.ndarray]:
        found: dict[Tensor, np.ndarray] = {}
        if not isinstance(feeds, Mapping):
            raise TypeError(f"feed_dict must be a dict, found {type(feeds).__name__}")
        for key, value in feeds.items():
            if hasattr(key, "components"):
                found |= self._feeds(dict(zip(key.components(), value, strict=True)))
                continue
            tensor = self._feed_key(key)
            found[tensor] = feed_array(tensor, value)
        return found

    def _feed_key(self, key: Any) -> Tensor:
        try:
            tensor = self._graph.as_graph_element(key, allow_tensor=True, allow_operation=False)
        except (KeyError, ValueError, TypeError) as error:
            near = (
                did_you_mean(str(key), operation_names(self._graph))
                if isinstance(key, str)
                else None
            )
            text = error.args[0] if error.args else str(error)
            raise TypeError(
                f"Cannot interpret feed_dict key as Tensor: {text}" + (f" ({near})" if near else "")
            ) from None
        if not self._graph.is_feedable(tensor):
            raise ValueError(f"Tensor {tensor} may not be fed.")
        return tensor

    def _program(self, wanted: Fetches, fed: Mapping[Tensor, np.ndarray]) -> tuple[int, _Program]:
        """The program of a fetch set, and the version of the variables that it suits."""
        exact = {t: TensorType(dtypes.as_dtype(a.dtype), a.shape) for t, a in fed.items()}
        asked = (tuple(wanted.tensors), tuple(wanted.operations), self._options)
        with self._compiling:
            shapes = self._shapes.setdefault((*asked, outline(exact)), FeedShapes())
            types = shapes.to_compile(exact)
            if types is not exact:
                with suppress(FlowcError):
                    return self._suiting(asked, wanted, types)
            found = self._suiting(asked, wanted, exact)
            # Where only the exact shapes compile, the fetch set needs numbers for its sizes.
            shapes.always_exact |= types is not exact
            shapes.learn(exact)
            return found

    def _suiting(self, asked: Any, wanted: Fetches, types: FeedTypes) -> tuple[int, _Program]:
        """The program for these types of feeds, compiled if there is none for the variables."""
        key = (*asked, tuple(types.items()))
        while True:
            version, held = self._variables.types()
            found = self._programs.get(key)
            if found is not None and found.suits(held):
                return version, found
            ranks = HostRanks(self._ranks) if found is None else found.ranks
            self._programs[key] = self._compile(wanted, types, held, ranks)

    def _compile(
        self,
        wanted: Fetches,
        types: FeedTypes,
        held: Mapping[str, TensorType],
        ranks: HostRanks,
    ) -> _Program:
        from flowc.compiler import compile_fetches

        asked = FetchSet.of(wanted.tensors, types, wanted.operations)
        found = ranks.extracted(
            lambda assumed: compile_fetches(
                self._graph, asked, self._options, held=held, ranks=assumed, threads=self._threads
            )
        )
        reads = found.spec.reads
        new = [v for v in reads if v.is_random and v.name not in self._states]
        self._states |= first_states({v.name: v.first for v in new}, self._random_seed)
        self._variables.adopt(v.name for v in reads)
        expects = {name: held.get(name) for name in found.depends_on}
        expects |= {v.name: v.tensor.type for v in reads}
        exact = all(t.is_static for t in types.values())
        return _Program(found.executable, found.spec, list(types), expects, ranks, exact)

    def variable_values(self) -> dict[str, np.ndarray]:
        """Copies of the variables that runs have assigned, by name."""
        return self._variables.values()

    def close(self) -> None:
        """Frees the programs and the variables; the session cannot run after it."""
        self._closed = True
        self._variables.forget()
        self._programs.clear()
        self._shapes.clear()
        self._calls.clear()

    def __enter__(self) -> Session:
        context = self.as_default()
        context.__enter__()
        self._contexts.append(context)
        return self

    def __exit__(self, *error: Any) -> None:
        self._contexts.pop().__exit__(*error)
        self.close()

    @contextmanager
    def as_default(self) -> Iterator[Session]:
        """Makes this the default session (and its graph the default graph) of the thread."""
        with default_session(self):
            yield self


class InteractiveSession(Session):
    """A Session that is the default one (and its graph the default graph) from the start, until it
    is closed."""

    def __init__(
        self, target: str = "", graph: Graph | None = None, config: Any = None, **settings: Any
    ) -> None:
        super().__init__(target, graph, config, **settings)
        self._default = self.as_default()
        self._default.__enter__()

    def close(self) -> None:
        super().close()
        default, self._default = self._default, None
        if default is not None:
            default.__exit__(None, None, None)
