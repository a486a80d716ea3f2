"""The spine: what is asked of a graph as machine code, from memory, from disk, or compiled.

In: a Graph, a fetch set, options. Out: an Executable, or a CompiledProgram for a library. A fetch
set is extracted to a Computation, which goes through the passes, the plan and code generation.
Sessions, `flowc.compile`, libraries and the command line all come this way.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field, replace
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

import numpy as np

from flowc.cache.store import KernelCache, find_program, kernel_cache, pending_program_key
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.link.loaded import as_images
from flowc.codegen.targets import target_here, target_named
from flowc.dataclass import dataclass
from flowc.errors import UNFED, InternalError, InvalidArgumentError, UnsupportedError, as_raised
from flowc.files.cache_folder import cache_folder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import ProgramSpec
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc_runtime.machine import memory_of_machine

if TYPE_CHECKING:
    from flowc.codegen.program import Stages
    from flowc.codegen.target import Target
    from flowc.extract.program import RankOf
    from flowc.extract.size_unification import Fetched
    from flowc.graph import Graph
    from flowc.graph.fetch_set import FetchSet
    from flowc.passes.pipeline import Watcher
    from flowc.run.executable import Executable


def _new_stages() -> Stages:
    from flowc.codegen.program import Stages

    return Stages()


@dataclass(slots=True)
class Report:
    """What a compilation did: seconds a stage, counts, and what `--emit` shows."""

    nodes_in: int = 0
    clusters: int = 0
    fused: Computation | None = None
    stages: Stages = field(default_factory=_new_stages)

    @property
    def seconds(self) -> dict[str, float]:
        return self.stages.seconds


@dataclass(frozen=True, slots=True)
class CompiledFetches:
    """A fetch set, ready to run (None: there is nothing to do). `depends_on`: the variables that it
    would be another program without."""

    spec: ProgramSpec
    depends_on: tuple[str, ...]
    executable: Executable | None


YOUNG_OBJECTS = 300_000
_OF_MANY_MODULES = ("flowc.codegen.program", "numba")  # what these import
OBJECTS_OF_NODE = 60  # of a large program, that live as long as its compilation

Given = ParamSpec("Given")
Compiled = TypeVar("Compiled")
Program = TypeVar("Program", "Graph", Computation)
Compilation = Callable[Concatenate[Program, Given], Compiled]


def _collects_rarely(
    compilation: Compilation[Program, Given, Compiled],
) -> Compilation[Program, Given, Compiled]:
    """The compilation of a graph or a Computation, in which Python looks for cycles rarely."""

    @wraps(compilation)
    def rarely(program: Program, *given: Given.args, **named: Given.kwargs) -> Compiled:
        is_lowered = isinstance(program, Computation)
        nodes = len(program.nodes) if is_lowered else len(program.get_operations())
        with _collecting_rarely(max(YOUNG_OBJECTS, OBJECTS_OF_NODE * nodes)):
            return compilation(program, *given, **named)

    return rarely


@contextmanager
def _collecting_rarely(young: int) -> Iterator[None]:
    """Has Python look for cycles after as many new objects as the compilation of some ten kernels
    makes (`young`), and only among these. By default it looks every 700 of them, and goes through
    all of Numba again and again: a tenth of the time that compiling takes. Whoever finds the
    threshold raised leaves it, so that it comes back to what it was also where several threads
    compile; what the caller has frozen stays frozen."""
    before = gc.get_threshold()
    if not 0 < before[0] < young:
        yield
        return
    freezes = not gc.get_freeze_count()
    known = sum(name in sys.modules for name in _OF_MANY_MODULES)
    if freezes:
        gc.freeze()
    gc.set_threshold(young, 2, before[2])
    try:
        yield
    finally:
        if freezes and known < sum(name in sys.modules for name in _OF_MANY_MODULES):
            # Once or twice a process: nearly all that is new are modules, and to look through these
            # takes longer than to compile a kernel.
            gc.freeze()
        else:
            gc.collect(1)  # what Numba leaves, while nothing else is looked through
        if freezes:
            gc.unfreeze()
        gc.set_threshold(*before)


@_collects_rarely
def compile_fetches(
    graph: Graph,
    wanted: FetchSet,
    options: Options,
    *,
    held: Mapping[str, TensorType] | None = None,
    ranks: RankOf | None = None,
    threads: int | None = None,
) -> CompiledFetches:
    """The program of a fetch set, ready to run. `held`: types of the variables whose values the
    caller keeps; `ranks`: of outputs of which the graph tells none.

    Raises as `extract_program` and `compile_computation`.
    """
    from flowc.extract.size_unification import extract_fetches

    with _faults_reported(graph, wanted):
        _, found = extract_fetches(graph, wanted, held, ranks)
        c, spec = found.computation, found.spec
        if not spec.outputs and all(n.op.name == "parameter" for n in c.nodes):
            return CompiledFetches(spec, found.depends_on, None)
        if found.assumes_ranks:
            # A run that may end in the middle and be repeated changes nothing in place.
            spec = replace(spec, aliases=())
        executable = load_executable(c, options, spec, threads)
        # First values are the graph's, and no part of a program that comes from the cache.
        spec = spec.with_memory_of(executable.spec)
        return CompiledFetches(spec, found.depends_on, executable)


@contextmanager
def _faults_reported(graph: Graph, wanted: FetchSet) -> Iterator[None]:
    """What fails in the block other than by an error of flowc or the system is an `InternalError`,
    and what reproduces it is written down."""
    try:
        yield
    except Exception as error:
        found = as_raised(error, "compiling")
        if isinstance(found, InternalError):
            from flowc.files.fault_report import write_report  # late: hardly ever needed

            request = f"feeds {[(f.name, str(f.type)) for f in wanted.feeds]}\nfetches "
            request += f"{[f.name for f in wanted.fetches]}\ntargets {wanted.targets}"
            write_report(found, request, lambda: graph.as_graph_def().SerializeToString())
        if found is error:
            raise
        raise found from error


@contextmanager
def _unfed_named(wanted: FetchSet) -> Iterator[None]:
    """Adds to the error for a placeholder without a feed the names of all that have to be fed."""
    try:
        yield
    except InvalidArgumentError as error:
        if error.message.startswith(UNFED):
            from flowc.extract.cuts import feeds_missing

            error.hint = f"feed it too: {feeds_missing(wanted)}"
        raise


def load_executable(
    c: Computation, options: Options, spec: ProgramSpec, threads: int | None = None
) -> Executable:
    """The program of a Computation, ready to run: from disk where it is known, else compiled."""
    folder, key = cache_folder(), ""
    if folder is None:
        program = as_images(compile_computation(c, options, spec))
    else:
        compile_it: Callable[[], CompiledProgram] = lambda: compile_computation(c, options, spec)
        key_of, is_new = pending_program_key(c, options, spec)
        if is_new:  # passes run while the weights are hashed
            compile_it = _begun(c, options, spec, Report(), kernel_cache())
        key = key_of()
        program = find_program(folder, key, compile_it)
    from flowc.run.executable import open_program

    return open_program(program, threads, key)


@_collects_rarely
def compile_library(
    graph: Graph,
    wanted: Fetched,
    options: Options,
    *,
    extracted: Callable[[Fetched], None] = lambda _: None,
    report: Report | None = None,
    watch: Watcher | None = None,
    kernels: KernelCache | None = None,
) -> CompiledProgram:
    """Machine code for a fetch set whose variables live in instances and begin with the values that
    the graph has. `extracted` is told the fetch set with the names that its sizes have.

    Raises as `extract_program` and `compile_computation`, and `UnsupportedError` for a variable
    whose shape differs from run to run, and for what only Python can compute.
    """
    from flowc.extract.instance_objects import objects_of_instances
    from flowc.extract.size_unification import extract_fetches

    with _faults_reported(graph, wanted), _unfed_named(wanted):
        unified, found = extract_fetches(graph, wanted)
        extracted(unified)
        spec = _with_first_values(found.spec, graph.variable_values)
        c, spec = objects_of_instances(found.computation, spec, graph.variable_values)
        return compile_computation(
            c,
            options,
            spec,
            report=report,
            watch=watch,
            kernels=kernels,
            for_library=True,
        )


@_collects_rarely
def check_library(
    graph: Graph,
    wanted: Fetched,
    options: Options,
    extracted: Callable[[Fetched], None] = lambda _: None,
) -> None:
    """Raises what `compile_library` would raise before it makes any code."""
    from flowc.extract.instance_objects import objects_of_instances
    from flowc.extract.size_unification import extract_fetches

    with _faults_reported(graph, wanted), _unfed_named(wanted):
        unified, found = extract_fetches(graph, wanted)
        extracted(unified)
        spec = _with_first_values(found.spec, graph.variable_values)
        c, _ = objects_of_instances(found.computation, spec, graph.variable_values)
        _fused(c, options, Report(), None, True)


@_collects_rarely
def compile_computation(
    c: Computation,
    options: Options,
    spec: ProgramSpec,
    *,
    report: Report | None = None,
    watch: Watcher | None = None,
    kernels: KernelCache | None = None,
    for_library: bool = False,
) -> CompiledProgram:
    """Machine code for a Computation. `spec`: what its inputs and outputs are; `for_library`: it
    holds the first values of variables, and without Python there are no host steps.

    Raises `UnsupportedError`, `ShapeError` and other user errors with the node at fault, and
    `ResourceExhaustedError` for what takes more than `options.max_memory`.
    """
    report = report if report is not None else Report()
    store = kernels if kernels is not None else kernel_cache()
    return _begun(c, options, spec, report, store, watch, for_library)()


def _begun(
    c: Computation,
    options: Options,
    spec: ProgramSpec,
    report: Report,
    store: KernelCache,
    watch: Watcher | None = None,
    for_library: bool = False,
) -> Callable[[], CompiledProgram]:
    """Runs the passes; the call that is left to be made makes code of what they leave. Raises as
    `compile_computation`."""
    # Late: what comes from the cache does without the compiler.
    from flowc.codegen.program import compile_program

    find_target = target_named if for_library else target_here
    target = find_target(options.target, options.exact)
    runtime = _runtime(target, store)
    fused = _fused(c, options, report, watch, for_library)
    if for_library:
        from flowc.passes.idle_random_states import drop_idle_random_states

        fused, spec = drop_idle_random_states(fused, spec, options)
        report.fused = fused

    def compiled() -> CompiledProgram:
        chosen = target
        if options.tune:
            from flowc.cache.tuning import tuned

            clock = time.perf_counter()
            chosen = tuned(target, fused, store)
            report.seconds["tuning"] = time.perf_counter() - clock
        compile_kernel = lambda k: store.objects_of(k, chosen)
        return compile_program(
            fused,
            chosen,
            compile_kernel,
            spec,
            report.stages,
            for_library,
            options.traced,
            runtime,
        )

    return compiled


def _runtime(target: Target, store: KernelCache) -> Callable[[], bytes]:
    """A call that waits for the pool and the arena, which are compiled while passes run."""
    from flowc.codegen.program import native_object
    from flowc.codegen.worker_threads import WorkerThreads

    threads = WorkerThreads(1, "flowc-runtime")
    return threads.submit(native_object, target.processor, store.parts_for(target)).result


def _fused(
    c: Computation, options: Options, report: Report, watch: Watcher | None, for_library: bool
) -> Computation:
    """What the passes make of a Computation. Raises as `compile_computation`."""
    # Late: what comes from the cache does without the compiler.
    from flowc.passes.check_sizes import check_constants
    from flowc.passes.pipeline import run_passes

    clock = time.perf_counter()
    report.nodes_in = len(c.nodes)
    most = memory_of_machine()
    if options.max_memory is not None:
        most = min(most, options.max_memory)
    fused = run_passes(c, replace(options, max_memory=most, for_library=for_library), watch)
    check_constants(fused, most)
    if for_library:
        _refuse_host_steps(fused)
    report.fused = fused
    report.clusters = sum(n.op.name == "cluster" for n in fused.nodes)
    report.seconds["passes"] = time.perf_counter() - clock
    return fused


def _refuse_host_steps(c: Computation) -> None:
    """A library runs where there is no Python."""
    from flowc.extract.host_steps import host_steps

    found = host_steps(c)
    if found:
        lines = [f"  {op} ({len(names)}): {', '.join(names[:3])}" for op, names in found.items()]
        raise UnsupportedError(
            "a library cannot call Python, which computes these nodes:\n" + "\n".join(lines),
            node=next(iter(found.values()))[0],
            hint="run the model in a Session, fetch tensors that do not need these nodes, or feed "
            "the tensors that they compute",
            problems=[(op, len(names), tuple(names)) for op, names in found.items()],
        )


def _with_first_values(spec: ProgramSpec, initial: Mapping[str, np.ndarray]) -> ProgramSpec:
    """The spec with the values that variables have in a new instance, where they have any."""
    found = []
    for variable in spec.variables:
        tensor = variable.tensor
        after = tensor if variable.output is None else spec.outputs[variable.output]
        if not tensor.is_static or tensor.type != after.type:
            raise UnsupportedError(
                f"variable '{tensor.name}' changes its shape ({tensor.type} -> {after.type}), and "
                "a library's variables keep theirs",
                node=tensor.name,
                hint="give the feeds fixed sizes, or run the model in a Session",
            )
        value = variable.first if variable.is_random else initial.get(tensor.name)
        if value is not None and value.shape != tensor.static_dims:
            value = None  # what was saved does not fit what is assigned: there is nothing to read
        found.append(replace(variable, first=value))
    return replace(spec, variables=tuple(found))
