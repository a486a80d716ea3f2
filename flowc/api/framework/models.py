"""Models as a whole: load, import, compile, write.

In: files, GraphDefs and Graphs. Out: Graphs, callable programs, libraries, files.
"""

from __future__ import annotations

import os
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flowc.graph import Graph
from flowc_runtime.notebook import table_of

if TYPE_CHECKING:
    from flowc.extract.interface import Interface
    from flowc.ir.program_spec import ProgramSpec, TensorSpec
    from flowc.options import Options
    from flowc.run.executable import Executable
    from flowc.run.state import RunState

PathLike = str | os.PathLike[str]


def load_graph(
    path: PathLike,
    checkpoint: PathLike | None = None,
    tags: Any = None,
    signature: str | None = None,
    *,
    allow: str | Iterable[str] = (),
    allow_links: bool = False,
) -> Graph:
    """Reads a model: a GraphDef or MetaGraphDef file, or a SavedModel folder, in every form.

    `checkpoint`: where the variables' values are, if not beside the model. `tags`, `signature`:
    those of a SavedModel to take. `allow`: what the model's nodes may do beyond computing, of
    `"files"`, `"network"` and `"python"`; else a run that needs such a node raises
    `PermissionDeniedError`. `allow_links`: follow links out of the model's folder. Raises
    `NotFoundError`, `InvalidModelError` (`DataLossError` for damage) and `UnknownNameError`.
    """
    from flowc.importer import load_graph as load

    return load(path, checkpoint, tags, signature, allow=allow, allow_links=allow_links)


def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Adds the nodes of a GraphDef (a message, its bytes or a path) to the default graph under the
    prefix `name` (`import` for None). Returns what `return_elements` names. What these nodes may do
    beyond computing is what `Graph.allow` says of the graph. Raises `ValueError` for names, inputs
    and attrs that do not fit, `TypeError` for arguments of another kind."""
    from flowc.importer.importing import import_graph_def as import_nodes

    return import_nodes(graph_def, input_map, return_elements, name)


def initialize(graph: Graph, operations: Any) -> None:
    """Runs operations that assign variables (names, or as `Session.run` takes them): their values
    become the graph's, as those of a checkpoint are."""
    from flowc.run.session import Session

    with Session(graph=graph) as session:
        session.run(operations)
        found = session.variable_values()
    graph.variable_values = ChainMap(found, graph.variable_values)  # type: ignore[arg-type]


def load(path: PathLike) -> Any:
    """Opens a library that `compile` wrote: a model that is called with arrays. Raises `LoadError`
    where the file is none, or one of another version."""
    from flowc_runtime import load as load_library

    return load_library(path)


class Program:
    """A compiled part of a graph: call it with arrays by position or by name.

    `inputs` and `outputs` are the tensors' names; `threads` may differ between programs. Variables
    that it assigns begin with the graph's values and live as long as it does. Calling it raises
    `InvalidArgumentError` for arrays that do not fit, and for what the run finds.
    """

    def __init__(
        self,
        executable: Executable | None,
        spec: ProgramSpec,
        interface: Interface,
        state: RunState,
    ) -> None:
        self._executable = executable
        self._interface = interface
        self._state = state
        self._variables = state.variables
        from flowc.run.variables import Access

        self._spec = spec
        self._access = Access.of(spec)
        state.begin(spec.reads)
        self.inputs: tuple[str, ...] = tuple(t.name for t in spec.fed)
        self.outputs: tuple[str, ...] = tuple(t.name for t in spec.fetched)

    def _repr_html_(self) -> str:
        sides = {"inputs": self._spec.fed, "outputs": self._spec.fetched}
        rows = {s: [(p.name, str(p)[len(p.name) + 1 :]) for p in x] for s, x in sides.items()}
        return table_of("Program", rows)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """One array for one output, else a tuple. Raises `TypeError` for missing or unknown inputs
        and for complex numbers as real ones, `ValueError` (`InvalidArgumentError`) for shapes that
        do not fit."""
        results = self.run(dict(zip(self.inputs, arrays, strict=False)) | named, len(arrays))
        return results[0] if len(results) == 1 else tuple(results)

    def run(self, feeds: Mapping[str, Any], positional: int = 0) -> list[np.ndarray]:
        """The outputs for arrays by name."""
        if positional > len(self.inputs):
            raise TypeError(f"the program takes {len(self.inputs)} inputs, found {positional}")
        known = {self._short(n): a for n, a in feeds.items()}
        missing = [n for n in self.inputs if n not in known]
        unknown = [n for n in known if n not in self.inputs]
        if missing or unknown:
            raise TypeError(
                f"the program's inputs are {', '.join(self.inputs) or 'none'}"
                + (f"; missing: {', '.join(missing)}" if missing else "")
                + (f"; unknown: {', '.join(unknown)}" if unknown else "")
            )
        feeds_of = zip(self._interface.feeds, self.inputs)
        arrays = [_as_input(known[n], f.type.dtype.numpy, n) for f, n in feeds_of]
        if self._executable is None:
            return []
        calls = self._executable.calls
        if calls is None or not calls.may_block:
            return self._run(self._executable, arrays)
        from flowc.run.host_steps import host_run

        with host_run(self._state.host_run(0)):
            return self._run(self._executable, arrays)

    def _run(self, executable: Executable, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        if not self._access.touched:
            return executable.run(arrays)
        return self._run_with_variables(executable, arrays)

    def _run_with_variables(
        self, executable: Executable, arrays: Sequence[np.ndarray]
    ) -> list[np.ndarray]:
        def run(values: list[Any], buffers: list[Any], addresses: Any) -> list[np.ndarray]:
            every = [np.asarray(a, order="C") for a in (*arrays, *values)]
            layout = executable.layout_of(every)
            outputs = layout.outputs_ending_in(buffers)
            given = addresses if self._access.on_device else None
            return executable.run_laid_out(layout, every, outputs, addresses=given)

        while True:
            version = self._variables.version
            results = self._variables.run(version, self._access, run)
            if results is not None:
                return list(results)

    def _short(self, name: str) -> str:
        for feed in self._interface.feeds:
            if name in (feed.name, feed.tensor.name, feed.tensor.op.name):
                return feed.name
        return name

    def ports(self, kind: Literal["input", "output"]) -> tuple[TensorSpec, ...]:
        """The inputs or outputs with their dtypes and dims, of which those with names are open."""
        return self._spec.fed if kind == "input" else self._spec.fetched

    def __repr__(self) -> str:
        ports = (self._spec.fed, self._spec.fetched)
        return f"<flowc.Program {' -> '.join(', '.join(map(str, p)) or 'nothing' for p in ports)}>"


def _as_input(value: Any, dtype: Any, name: str) -> np.ndarray:
    array = np.asarray(value)
    if array.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        kinds = f"{array.dtype} cannot become {np.dtype(dtype)}"
        raise TypeError(f"input {name!r}: elements of type {kinds}")
    return np.asarray(value, dtype)


def compile(
    graph_or_path: Graph | PathLike,
    feeds: Any = None,
    fetches: Any = None,
    out: PathLike | None = None,
    *,
    target: str = "native",
    checkpoint: PathLike | None = None,
    tags: Any = None,
    signature: str | None = None,
    allow: str | Iterable[str] = (),
    init: Any = None,
    threads: int | None = None,
    weights: Literal["embed", "file", "map"] = "embed",
    allow_links: bool = False,
    constants: Mapping[str, Any] | None = None,
    max_memory: int | None = None,
    exact: bool = False,
    tune: bool = False,
) -> Any:
    """Compiles a graph or a model file.

    `feeds`: specs such as `x=f32[batch,784]`, or names, tensors, or a dict from them to shapes;
    `fetches`: names, tensors or operations. Both default to the signature, else to the placeholders
    and sinks. `constants`: inputs by name that have one value in every run, and are no inputs then.
    `allow`, `allow_links`: as for `load_graph`. `init`: operations to run first; what they assign
    are the first values of variables. With `out`, writes the shared library (and its C
    header beside it) and returns it loaded; else returns a `Program` in memory. `weights`: inside
    the library, in a file beside it, or there and mapped (`"map"`): processes share it then, and
    nobody may cut it while they run. `max_memory`: the
    bytes that compiling may make beside the weights that the model has (default: what the machine
    has). `exact`: products and convolutions add up the very products of their elements, which may
    take longer. `tune`: convolutions are computed in the way that takes the least time on this
    machine, measured once and kept in the cache. Raises `UsageError`, `UnknownNameError`,
    `UnsupportedError`, `ResourceExhaustedError`.
    """
    from flowc.compiler import compile_library
    from flowc.extract.set_inputs import choose_interface_with
    from flowc.options import Options

    if isinstance(graph_or_path, Graph):
        graph = graph_or_path
    else:
        graph = load_graph(
            graph_or_path,
            checkpoint,
            tags,
            signature,
            allow=allow,
            allow_links=allow_links,
        )
    if init is not None:
        initialize(graph, init)
    interface = choose_interface_with(graph, feeds, fetches, signature, constants or {})
    options = Options(target=target, max_memory=max_memory, exact=exact, tune=tune)
    if out is None:
        return compile_in_memory(graph, interface, options, threads)
    from flowc.aot import write_library

    path = Path(out)
    program = compile_library(graph, interface, options)
    header, linked = path.with_suffix(".h"), None
    if program.symbols:
        from flowc.extending.linked import linked_symbols

        linked = linked_symbols(program)
    write_library(
        program, path, weights=weights, header=header, threads=threads or 0, linked=linked
    )
    return load(path)


def compile_in_memory(
    graph: Graph, interface: Interface, options: Options, threads: int | None
) -> Program:
    """What `compile` returns without a file, with any options."""
    from flowc.compiler import compile_fetches
    from flowc.run.session import Session

    found = compile_fetches(graph, interface, options, threads=threads)
    fed = replace(interface, feeds=tuple(f for f in interface.feeds if f.value is None))
    state = Session(graph=graph, threads=threads, options=options).state
    return Program(found.executable, found.spec, fed, state)


def write_graph(graph_or_graph_def: Any, logdir: PathLike, name: str, as_text: bool = True) -> str:
    """Writes a GraphDef as text or binary, whole or not at all. Returns the path. Raises `OSError`
    where it cannot be written."""
    from flowc.files.safe_write import replacing

    message = graph_or_graph_def
    if isinstance(message, Graph):
        message = message.as_graph_def()
    folder = Path(logdir)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    if as_text:
        data = str(message).encode()
    else:
        data = message.SerializeToString()
    with replacing(path, len(data)) as file:
        file.write(data)
    return os.path.join(logdir, name)
