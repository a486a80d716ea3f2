"""The functions of a graph, for host steps that call them while a run is under way.

In: a function's name, arrays. Out: its results. A function is opened as a graph of its own and run
like any other: compiled once for each shape of its arguments, or computed by Python alone.

Invariant: functions have the variables of their Session. One that draws random numbers, and has no
variable, begins its streams anew for each set of streams that asks for it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError, InvalidModelError, UnsupportedError
from flowc.graph import Graph, Tensor
from flowc.graph.attrs import FunctionRef
from flowc.graph.function import Function
from flowc.ir.capability import ALL
from flowc.ir.host_run import BatchedFunction, HostFunction, NativeCall, StepKernel, held

if TYPE_CHECKING:
    from flowc.extract.batched_functions import BatchedBody

Array = np.ndarray[Any, Any]
# What an iterator may be saved with, although TensorFlow has it as stateful.
HARMLESS = {"Assert", "Print", "PrintV2", "Timestamp"}
HARMLESS |= {f"LookupTable{what}{version}" for what in ("Find", "Size") for version in ("", "V2")}
_HELD_AS_OBJECTS = (dtypes.string, dtypes.variant, dtypes.resource)
LEADING_BACK = frozenset({"NextIteration", "RefNextIteration"})
WORTH_COMPILING = 4096  # elements that Python takes a tenth of a second for, or longer
Run = Callable[..., list[Any]]  # of tensors, arrays that are fed, and places for the results


@dataclass(frozen=True, slots=True)
class _Opened:
    """`args`: those that calls give. `results`: the numbers of those that are arguments as they
    came, else tensors. `run`: computes tensors in a Session of this graph."""

    graph: Graph
    args: list[Tensor]
    results: list[Tensor | int]
    has_streams: bool

    def bound(self, run: Run) -> HostFunction:
        args, results = self.args, self.results
        computed = [t for t in results if isinstance(t, Tensor)]

        def call(arrays: Sequence[Any], into: Sequence[Array] = ()) -> list[Any]:
            if len(arrays) != len(args):
                raise InvalidArgumentError(
                    f"a function of {len(args)} arguments is called with {len(arrays)}"
                )
            places = into if len(computed) == len(results) else ()
            try:
                found = run(computed, dict(zip(args, arrays)), places) if computed else []
            except (TypeError, ValueError):
                _check_dtypes(args, arrays)
                raise
            if len(computed) == len(results):
                return [held(value) for value in found]
            values = iter(found)
            return [arrays[t] if isinstance(t, int) else held(next(values)) for t in results]

        return call

    @property
    def tensors(self) -> list[Tensor]:
        """The results as tensors."""
        return [self.args[t] if isinstance(t, int) else t for t in self.results]

    def bound_batched(self, body: BatchedBody, run_many: Run, run: Run) -> BatchedFunction:
        args, given, found = self.args, list(body.found), list(body.found.values())
        cuts = {t: i for i, t in enumerate(given)}

        def stacked(arrays: Sequence[Any]) -> list[Any]:
            return run_many(found, dict(zip(body.args, arrays)))

        left = [t for t in self.tensors if t not in cuts]
        if not left:
            places = [cuts[t] for t in self.tensors]

            def ordered(arrays: Sequence[Any]) -> list[Any]:
                values = stacked(arrays)
                return [values[i] for i in places]

            return BatchedFunction(ordered, None)
        shared = [arg for arg, rank in zip(args, body.ranks) if rank is None]

        def rest(arrays: Sequence[Any]) -> list[Any]:
            values = iter(run(left, dict(zip([*given, *shared], arrays))))
            return [arrays[cuts[t]] if t in cuts else held(next(values)) for t in self.tensors]

        return BatchedFunction(stacked, rest)


def _check_dtypes(args: Sequence[Tensor], arrays: Sequence[Any]) -> None:
    """Refuses what is of another dtype than the argument that it is given for."""
    for i, (arg, value) in enumerate(zip(args, arrays)):
        found = dtypes.string if isinstance(value, bytes) else dtypes.as_dtype(value.dtype)
        wanted = arg.base_dtype or found
        if wanted is not found and not (found is dtypes.string and wanted in _HELD_AS_OBJECTS):
            raise InvalidArgumentError(
                f"Expects arg[{i}] to be {wanted.name} but {found.name} is provided"
            )


class CalledFunctions:
    """`session`: makes what runs a graph of this Session, with new streams of random numbers where
    it is asked to, for so many calls at once."""

    def __init__(self, graph: Graph, session: Callable[[Graph, bool, int], Run]) -> None:
        self._graph = graph
        self._session = session
        self._lock = threading.Lock()
        self._found: dict[Any, tuple[_Opened, Run]] = {}
        self._batched: dict[Any, tuple[BatchedBody, Run] | None] = {}
        self._kernels: dict[StepKernel, NativeCall] = {}
        self._elements: Counter[StepKernel] = Counter()

    def find(
        self, name: str, handles: Mapping[int, str], streams: dict[Any, Run], calls: int = 1
    ) -> HostFunction:
        key = (name, calls, *handles.items())
        with self._lock:
            opened, run = self._runner(key, name, handles, streams, calls)
            return opened.bound(run)

    def stateful(self, name: str) -> str | None:
        from flowc.graph.op_info import is_stateful  # late: most Sessions call no function

        function = self._graph.functions.get(name)
        if function is None:
            return None
        types = [n.type for f in _called(function, self._graph) for n in f.body.nodes]
        return next((t for t in types if is_stateful(t) and t not in HARMLESS), None)

    def kernel(self, wanted: StepKernel, elements: int) -> NativeCall | None:
        found = self._kernels.get(wanted)
        if found is not None:
            return found
        with self._lock:
            self._elements[wanted] += elements
            if self._elements[wanted] < WORTH_COMPILING:
                return None
            if wanted not in self._kernels:
                from flowc.cache.step_kernels import open_kernel  # late: as compiling is

                self._kernels[wanted] = open_kernel(wanted)
            return self._kernels[wanted]

    def find_batched(
        self,
        name: str,
        handles: Mapping[int, str],
        streams: dict[Any, Run],
        ranks: Sequence[int | None],
        calls: int = 1,
    ) -> BatchedFunction | None:
        key = (name, calls, *handles.items())
        with self._lock:
            opened, run = self._runner(key, name, handles, streams, calls)
            if (key, *ranks) not in self._batched:
                self._batched[key, *ranks] = self._many(opened, ranks)
            found = self._batched[key, *ranks]
        return None if found is None else opened.bound_batched(*found, run)

    def _many(self, opened: _Opened, ranks: Sequence[int | None]) -> tuple[BatchedBody, Run] | None:
        from flowc.extract.batched_functions import batched_body

        body = batched_body(opened.args, opened.tensors, ranks)
        return None if body is None else (body, self._session(body.graph, False, 1))

    def _runner(
        self, key: Any, name: str, handles: Mapping[int, str], streams: dict[Any, Run], calls: int
    ) -> tuple[_Opened, Run]:
        """The function, and what runs it with these random streams."""
        found = self._found.get(key)
        if found is None:
            opened = self._open(name, handles)
            found = self._found[key] = opened, self._session(opened.graph, False, calls)
        opened, run = found
        if not opened.has_streams:
            return opened, run
        if key not in streams:
            streams[key] = self._session(opened.graph, True, calls)
        return opened, streams[key]

    def _open(self, name: str, handles: Mapping[int, str]) -> _Opened:
        function = self._graph.functions.get(name)
        if function is None:
            raise InvalidModelError(f"the model lacks the function {name!r}, which a node calls")
        graph = Graph()
        graph.functions = self._graph.functions
        graph.allowed = frozenset(ALL)  # who asked for the function has checked what it calls
        graph.variable_values = self._graph.variable_values
        scope = f"Function/{name}/"  # what draws random numbers is known by its name
        args: list[Tensor] = []
        given: list[Tensor] = []
        for i, arg in enumerate(function.args):
            if i in handles:
                args.append(self._handle(graph, handles[i], name))
                continue
            assert arg.dtype is not None
            attrs = {"dtype": arg.dtype, "shape": None}
            types = [(arg.dtype, None)]
            made = graph.add_operation("Placeholder", (), attrs, f"{scope}{arg.name}", (), types)
            args.append(made.outputs[0])
            given.append(made.outputs[0])
        from flowc.graph.op_info import has_trait  # late, as in `stateful`

        results = self._results(graph, function, args, scope)
        places = {tensor: i for i, tensor in enumerate(given)}
        types = [op.type for op in graph.get_operations()]
        types += [node.type for f in _called(function, graph) for node in f.body.nodes]
        has_streams = any(has_trait(t, "random") for t in types)
        has_streams &= not any(has_trait(t, "variable") for t in types)
        return _Opened(graph, given, [places.get(t, t) for t in results], has_streams)

    def _results(
        self, graph: Graph, function: Function, args: Sequence[Tensor], scope: str
    ) -> list[Tensor]:
        if any(node.type in LEADING_BACK for node in function.body.nodes):
            # Loops of TensorFlow 1 lead back: a call, which is extracted in place.
            types = [(t, None) for r in function.results for t in r.types({}) if t is not None]
            call = graph.add_operation(function.name, args, {}, f"{scope}call", output_types=types)
            return list(call.outputs)
        from flowc.graph.gradients.function_bodies import open_body  # late: it loads the records

        results, controls = open_body(graph, function, args, {}, scope)
        if not controls:
            return results
        # What has to run besides, each time that a result is computed.
        return [
            graph.add_operation(
                "Identity", [t], {"T": t.dtype}, f"{scope}result", controls
            ).outputs[0]
            for t in results
        ]

    def _handle(self, graph: Graph, node: str, function: str) -> Tensor:
        """What made a handle outside, made again: it means the same thing in every graph."""
        if node not in self._graph:
            raise UnsupportedError(
                f"the function {function!r} captures the handle of '{node}', which is no node of "
                "the graph",
                hint="make what it stands for outside of all functions",
            )
        op = self._graph.get_operation_by_name(node)
        if node in graph:
            return graph.get_operation_by_name(node).outputs[0]
        types = [(t.dtype, t.shape.sizes) for t in op.outputs if t.dtype is not None]
        made = graph.add_operation(op.type, (), dict(op.attrs), f"{node}/", output_types=types)
        made.encoded = op.encoded
        return made.outputs[0]


def _called(function: Function, graph: Graph) -> list[Function]:
    """The functions that a function calls, itself too."""
    found = {function.name: function}
    waiting = [function]
    while waiting:
        for node in waiting.pop().body.nodes:
            names = [node.type]
            for value in node.attrs.values():
                several = value if isinstance(value, list | tuple) else (value,)
                names += [ref.name for ref in several if isinstance(ref, FunctionRef)]
            for name in names:
                if name in graph.functions and name not in found:
                    found[name] = graph.functions[name]
                    waiting.append(found[name])
    return list(found.values())
