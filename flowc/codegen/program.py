"""A fused Computation as machine code: plan, kernels, driver, weights, metadata.

In: a Computation after all passes. Out: a CompiledProgram, which a Session loads into memory and
aot.py links into a library. Invariant: equal Computations, options and versions give equal bytes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import field, replace
from functools import cache
from itertools import chain

import numpy as np

from flowc import dtypes
from flowc.codegen.compiled import (
    COPY,
    CompiledProgram,
    HostCall,
    ProgramMetadata,
    TracedStep,
    Work,
    joined,
    packed,
)
from flowc.codegen.driver.driver import Driver, DriverTables, emit_driver, size_symbols
from flowc.codegen.driver.scalars import is_direct
from flowc.codegen.kernels.kernel import Kernel, Launch
from flowc.codegen.kernels.sharing.alike import AlikeLaunches
from flowc.codegen.kernels.sharing.launch_divisors import with_divisors_of_launch
from flowc.codegen.kernels.sharing.launch_literals import SharedLiterals
from flowc.codegen.kernels.sharing.launch_sizes import (
    as_written,
    is_brief,
    is_small,
    moves_by_routines,
    with_sizes_of_launch,
)
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.llvm.processor import Processor
from flowc.codegen.packed import Packed, memory_of
from flowc.codegen.string_table import Texts
from flowc.codegen.target import Kept, Target, made_anew
from flowc.codegen.work import work_of
from flowc.codegen.worker_threads import WorkerThreads
from flowc.dataclass import dataclass
from flowc.files.process import usable_cores
from flowc.ir.bodies import nodes_within
from flowc.ir.computation import Computation, Node
from flowc.ir.dims import Dim, maximum
from flowc.ir.program_spec import Alias, ProgramSpec, TensorSpec, VariableSpec
from flowc.plan.plan import ALIGNMENT, Copy, Input, Needs, Plan, Step, Transfer, bytes_of
from flowc.plan.planner import make_plan
from flowc.plan.transfers import crossing_places, place_on_devices

KernelCompiler = Callable[[Kernel], tuple[bytes, ...]]

MOST_THREADS = 4  # that compile one program


@dataclass(slots=True)
class Stages:
    """What a compilation made on its way, for `--emit` and reports."""

    plan: Plan | None = None
    kernels: dict[str, Kernel] = field(default_factory=dict)
    driver: Driver | None = None
    seconds: dict[str, float] = field(default_factory=dict)


class _Weights:
    """Gives constants their places among the weights; views of the same memory share one. Of texts
    there are the numbers, by which `texts` holds them."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, np.ndarray | Packed]] = []
        self.offsets: dict[object, int] = {}
        self.size = 0
        self.texts = Texts()
        self.kept: list[np.ndarray | Packed] = []

    def offset(self, array: np.ndarray | Packed) -> int:
        key = memory_of(array) if isinstance(array, np.ndarray) else id(array)
        if key not in self.offsets:
            self.offsets[key] = self.size
            numbers = array
            if array.dtype.hasobject and isinstance(array, np.ndarray):
                numbers = self.texts.numbers(array)
            self.kept.append(array)
            self.pieces.append((self.size, numbers))
            self.size += -(-numbers.nbytes // ALIGNMENT) * ALIGNMENT
        return self.offsets[key]


def launches_of(
    c: Computation,
    target: Target,
    on_device: Collection[Node] = (),
    *,
    shares_sizes: bool = False,
    made: Callable[[tuple[Launch, ...]], None] = lambda _: None,
) -> dict[Node, tuple[Launch, ...]]:
    """The kernels of every cluster, also of those in the bodies of loops and branches. Most scalars
    need none: the driver computes them. `shares_sizes`: what is small and runs once a run has
    kernels for any sizes, in which LLVM looks for no vectors where there are few elements; so has
    what routines move. `made` is told the launches of each cluster as they are made."""
    found: dict[Node, tuple[Launch, ...]] = {}
    small, others = AlikeLaunches(), AlikeLaunches()
    literals = SharedLiterals(target.host)

    def for_any_sizes(node: Node) -> tuple[Launch, ...]:
        found = for_any_divisors(node)
        shared = (literals.of(with_sizes_of_launch(x, target.host)) for x in found)
        return tuple(map(as_written, shared) if is_brief(node) else shared)

    def for_known_sizes(node: Node) -> tuple[Launch, ...]:
        found = for_any_divisors(node)
        return tuple(literals.of(with_needed_sizes(x)) for x in found)

    def with_needed_sizes(launch: Launch) -> Launch:
        if not shares_sizes or not moves_by_routines(launch):
            return launch
        return with_sizes_of_launch(launch, target.host)

    def for_any_divisors(node: Node) -> Iterator[Launch]:
        found = target.host.launches(node)
        return (with_divisors_of_launch(x, target.host) for x in found)

    stack = [c]
    while stack:
        region = stack.pop()
        for node in region.nodes:
            match node.op.name:
                case "cluster" if node in on_device:
                    found[node] = target.launches(node)
                case "cluster" if is_direct(node):
                    found[node] = ()
                case "cluster" if shares_sizes and region is c and is_small(node):
                    found[node] = small.of(node, for_any_sizes)
                case "cluster":
                    algorithm = target.host.algorithms.get(node)
                    found[node] = others.of(node, for_known_sizes, algorithm)
                case "while":
                    stack += [node.attrs["condition"], node.attrs["body"]]
                case "if":
                    stack += [node.attrs["then"], node.attrs["otherwise"]]
                case _:
                    pass
            made(found.get(node, ()))
    return found


def compile_program(
    c: Computation,
    target: Target,
    compile_kernel: KernelCompiler,
    spec: ProgramSpec,
    stages: Stages | None = None,
    keeps_values: bool = False,
    traced: bool = False,
    runtime: Callable[[], bytes] | None = None,
) -> CompiledProgram:
    """Machine code for a fused Computation.

    `compile_kernel` gives the objects of one kernel (from a cache or new); `spec` says what the
    inputs and outputs are. `keeps_values`: the first values of variables are among the weights;
    `traced`: runs note the times of their steps; `runtime` waits for what every program has.
    """
    stages = stages if stages is not None else Stages()
    clock = time.perf_counter()
    # A caller's strings are not where the run has their numbers.
    own = [a for a in spec.aliases if spec.inputs[a.input].dtype is not dtypes.string]
    kernels = stages.kernels
    pending: list[Future[tuple[bytes, ...]]] = []

    def compiled_as_made(launches: tuple[Launch, ...]) -> None:
        for kernel in (k for x in launches for k in x.kernels if k.key not in kernels):
            kernels[kernel.key] = kernel
            if not keeps_values:
                pending.append(threads.submit(compile_kernel, kernel))

    with compiling_threads() as threads:
        if runtime is None:
            runtime = threads.submit(native_object, target.processor, made_anew).result
        on_device = target.on_device(c)
        # A library is compiled once, and called often.
        launches = launches_of(
            c, target, on_device, shares_sizes=not keeps_values, made=compiled_as_made
        )
        if keeps_values:  # who counts the kernels of a library knows how many there are
            pending += [threads.submit(compile_kernel, kernel) for kernel in kernels.values()]
        plan = make_plan(c, {n: needs_of(x) for n, x in launches.items()}, own)
        kept = [] if keeps_values else [(v.input, v.output) for v in spec.reads]
        place_on_devices(plan, on_device, [(i, k) for i, k in kept if i is not None])
        weights = _Weights()
        sizes, input_sizes = size_symbols(plan)
        tables = DriverTables(sizes, input_sizes, weights.offset, lambda: weights.size)
        driver = emit_driver(plan, launches, tables, target, traced)
        stages.plan, stages.driver = plan, driver
        stages.seconds["plan"] = time.perf_counter() - clock
        loops = any(n.op.name == "while" for node in c.nodes for n in nodes_within(node))
        speed = 1 if loops else 0
        driven = threads.submit(driver_object, driver.text, target.processor, speed=speed)
        # Packed and copied while kernels are compiled. First values come to those of a library.
        pieces = [] if keeps_values else joined(weights.pieces, weights.size)
        # What kernels share is equal bytes.
        compiled = chain.from_iterable(p.result() for p in pending)
        made = (*dict.fromkeys(compiled), driven.result())
        if on_device:
            made += (cuda_object(target.processor),)
    stages.seconds["code"] = time.perf_counter() - clock - stages.seconds["plan"]
    if keeps_values:
        spec = _with_initial_values(spec, weights)
        pieces = packed(weights.pieces)
    symbols = {k.symbol for k in kernels.values() if k.symbol is not None}
    symbols |= {name for o in spec.objects for name in o.functions.names}
    metadata = _metadata(c, _planned(spec, plan), tables, driver, weights)
    if on_device:
        metadata = _with_device(metadata, plan, () if keeps_values else on_device)
    steps = tuple(_traced_step(step, launches) for step in driver.steps)
    return CompiledProgram(
        made, pieces, replace(metadata, steps=steps), runtime(), tuple(sorted(symbols))
    )


def _planned(spec: ProgramSpec, plan: Plan) -> ProgramSpec:
    """The spec with what the plan decides: outputs that are where inputs were, and variables that
    stay on a device."""
    resident = [v.input is not None and Input(v.input) in plan.resident for v in spec.variables]
    variables = tuple(replace(v, on_device=on) for v, on in zip(spec.variables, resident))
    return replace(spec, variables=variables, aliases=tuple(Alias(*p) for p in plan.in_place))


def _metadata(
    c: Computation, spec: ProgramSpec, tables: DriverTables, driver: Driver, weights: _Weights
) -> ProgramMetadata:
    """What who runs a program has to know of it, where there is no device."""
    return ProgramMetadata(
        spec=spec,
        sizes=tuple(map(str, tables.sizes)),
        input_sizes=tables.input_sizes,
        constraints=tuple((str(a), str(b)) for a, b in c.constraints),
        errors=tuple(driver.errors),
        weights_bytes=weights.size,
        calls=tuple(map(_host_call, driver.calls)),
        strings=tuple(weights.texts.as_rows()) if has_texts(c) else None,
    )


def _with_device(metadata: ProgramMetadata, plan: Plan, named: Iterable[Node]) -> ProgramMetadata:
    """The same of a program that a device runs a part of. `named`: the clusters whose nodes the
    metadata lists, if any."""
    names = _names_on_device(named, metadata.spec.variables) if named else ()
    return replace(metadata, has_device=True, crossing=crossing_places(plan), on_device=names)


def compiling_threads() -> WorkerThreads:
    """Threads that compile. Numba holds the interpreter and LLVM does not: while LLVM compiles some
    kernels, Numba reads the next, which takes about a third of the time that LLVM then needs. What
    ends the compilation early, as a signal does, waits for none: each ends with the kernel it is
    at."""
    return WorkerThreads(min(max(2, usable_cores()), MOST_THREADS), "flowc-compile")


def _with_initial_values(spec: ProgramSpec, weights: _Weights) -> ProgramSpec:
    """The spec with where, among the weights, the first values of variables and objects are."""

    def offset(first: np.ndarray | None) -> int | None:
        return None if first is None else weights.offset(first)

    return replace(
        spec,
        variables=tuple(replace(v, initial=offset(v.first)) for v in spec.variables),
        objects=tuple(replace(o, initial=offset(o.first)) for o in spec.objects),
    )


def _names_on_device(
    clusters: Iterable[Node], variables: Iterable[VariableSpec]
) -> tuple[str, ...]:
    """The nodes of the graph that clusters of the device compute, and the variables there."""
    inner = (node for cluster in clusters for node in cluster.attrs["body"].nodes)
    found = {name for node in inner if node.op.name != "const" for name in node.origin}
    return tuple(sorted(found | {v.name for v in variables if v.on_device}))


def needs_of(launches: Sequence[Launch]) -> Needs:
    """Memory for the launches of one cluster, which run one after another."""
    scratch: Dim = 0
    workspace: Dim = 0
    for x in launches:
        of_worker, of_all = x.memory
        scratch = maximum(scratch, (of_worker + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT)
        workspace = maximum(workspace, of_all)
    return Needs(scratch, workspace)


def driver_object(text: str, processor: Processor, *, speed: int = 1) -> bytes:
    """Compiles a driver. What runs once a run is emitted as it shall be: LLVM's passes over it take
    a quarter of a second for 200 kernels and gain nothing. They pay where the driver loops, but for
    those that look for vectors in it."""
    return compile_module([text], processor, speed=speed, loops=speed == 0)


def native_object(processor: Processor, kept: Kept) -> bytes:
    """The pool and the arena, compiled for a processor."""

    def make() -> tuple[bytes, ...]:
        from flowc_runtime.native import native_module_text

        text = native_module_text(processor.triple)
        return (compile_module([text], processor, speed=2, loops=False),)

    (found,) = kept("pool and arena", make)
    return found


@cache
def cuda_object(processor: Processor) -> bytes:
    """What opens the CUDA driver and calls it, compiled for the processor of the host."""
    from flowc_runtime.native import cuda_module_text

    return compile_module([cuda_module_text(processor.triple)], processor, speed=2)


def has_texts(c: Computation) -> bool:
    """Whether a run holds strings."""
    values = (v for top in c.nodes for n in nodes_within(top) for v in (*n.inputs, *n.outputs))
    return any(v.type.dtype is dtypes.string for v in values)


def _traced_step(step: Step, launches: Mapping[Node, Sequence[Launch]]) -> TracedStep:
    """What tells a reader of a trace which step it was."""
    if isinstance(step, Copy | Transfer):
        node, outputs = step.value.node, (step.value,)
        kind, kernels, work = COPY, (COPY,), Work(0, 2 * bytes_of(step.value))
    else:
        node, outputs = step.node, step.node.outputs
        kind, work = node.op.name, work_of(node)
        kernels = tuple(x.kernel.shown for x in launches.get(node, ())) or ("driver",)
    made = tuple(TensorSpec.of(node.name, v.type) for v in outputs)
    return TracedStep(kind, node.origin or (node.name,), made, kernels, work)


def _host_call(node: Node) -> HostCall:
    """What a Session must know to compute a node in Python."""
    return HostCall(
        node.attrs["op"],
        node.name,
        dict(node.attrs["settings"]),
        [(v.type.dtype.short, v.type.rank) for v in node.inputs],
        [(v.type.dtype.short, v.type.rank) for v in node.outputs],
    )
