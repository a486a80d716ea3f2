"""The driver: one native function that runs a whole Plan.

In: a Plan and the launches of its clusters. Out: LLVM IR text that exports `flowc_program_run`,
`flowc_program_output_dims` and `flowc_program_output_bounds`, and the table of errors. It is
emitted with llvmlite directly: a straight line of kernel calls costs milliseconds to compile.

    i32 flowc_program_run(i8** inputs, i8** outputs, i64* sizes, i8* weights, i64 threads,
                          i64* status, i8* interpreter)

`sizes` holds the inputs' sizes when it is called and all sizes when it returns. An output of
unbounded size is allocated with malloc by the run, which stores its address in `outputs`.
`interpreter`: the table by which the run asks Python for signals, after large kernels and where
loops start again; NULL where Python did not start it. When it is called, the first word of `status`
is the deadline of the run, 0 for none, and the second the most bytes that it may take, 0 for any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import zip_longest
from typing import Any

from llvmlite import ir

from flowc.codegen.compiled import ErrorRow
from flowc.codegen.driver.constant_copies import copy_constants, joined_copies
from flowc.codegen.driver.control_flow import emit_branch, emit_loop
from flowc.codegen.driver.device_memory import SCALAR_BYTES, DeviceMemory
from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.driver.host_calls import emit_host_call
from flowc.codegen.driver.launch import Launcher, workers_of
from flowc.codegen.driver.memory import Memory
from flowc.codegen.driver.output_dims import emit_output_dims
from flowc.codegen.driver.run_sizes import RunSizes
from flowc.codegen.driver.scalars import emit_direct, memory_type
from flowc.codegen.driver.trace import StepTrace
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.target import Target
from flowc.dataclass import dataclass
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, Symbol, substitute, symbols_of
from flowc.passes.analysis.aliasing import updated_input
from flowc.plan.plan import (
    DEVICE,
    HOST,
    Branch,
    CallHost,
    Copy,
    Input,
    Loop,
    Place,
    Plan,
    ReadSizes,
    Region,
    Run,
    Side,
    Step,
    Transfer,
    WriteSizes,
    bytes_of,
)


@dataclass(slots=True)
class Driver:
    """`text`: LLVM IR. `errors`: rows of the error table, in the order of their numbers.
    `calls`: the nodes that Python computes, in the order of theirs; `steps`: those whose times the
    run notes, in the order of theirs."""

    text: str
    errors: list[ErrorRow] = field(default_factory=list[ErrorRow])
    calls: list[Node] = field(default_factory=list[Node])
    steps: list[Step] = field(default_factory=list[Step])


@dataclass(frozen=True, slots=True)
class DriverTables:
    """What the driver needs to know beside the plan: the size symbols in table order, how many of
    them the inputs define, where each constant's bytes stand among the weights, and how many bytes
    those have by now."""

    sizes: tuple[Symbol, ...]
    input_sizes: int
    weight_offset: Callable[[Any], int]
    weights_bytes: Callable[[], int] = lambda: 0


class DriverEmitter:
    def __init__(
        self,
        plan: Plan,
        launches: Mapping[Node, Sequence[Launch]],
        tables: DriverTables,
        target: Target,
        traced: bool,
    ) -> None:
        self.plan = plan
        self.traced = traced
        self.launches = launches
        self.target = target
        self.tables = tables
        self.module = ir.Module("flowc_driver")
        self.region = plan.top
        self.calls: list[Node] = []
        self.steps: list[Step] = []

    def emit(self) -> Driver:
        frame = self.frame = RunFrame(self.module)
        self.b = frame.b
        self.sizes = RunSizes(frame, self.plan, self.tables.sizes)
        self.memory = Memory(frame, self.plan, self.tables.weight_offset)
        self.device: DeviceMemory | None = None
        if self.plan.on_device:
            self.device = self.memory.device = frame.device = self._device_memory()
        every = [x for launches in self.launches.values() for x in launches]
        on_host = (found for n, found in self.launches.items() if n not in self.plan.on_device)
        wakes = workers_of(x for found in on_host for x in found)
        if wakes is None:
            frame.alone()
        else:
            frame.call_workers(wakes)
        self.launcher = Launcher(frame, self.memory, every, self.target, self.sizes.bind)
        for i, size in enumerate(self.tables.sizes[: self.tables.input_sizes]):
            frame.bind(size, self.b.load(frame.element(frame.sizes, i)))
        self.sizes.check()
        self.trace = StepTrace(frame) if self.traced else None
        self.memory.acquire_arena()
        if self.device is not None:
            self.device.begin()
        self.launcher.begin()
        self._steps()
        if self.device is not None:
            self.synchronize()
        self.b.branch(frame.exit)
        if self.device is not None:
            self.device.finish(self.tables.weights_bytes())
        self.b.position_at_end(frame.exit)
        self.memory.release()
        frame.finish()
        emit_output_dims(self.module, "dims", self.plan, self.tables.sizes, lambda d: d)
        emit_output_dims(self.module, "bounds", self.plan, self.tables.sizes, self.plan.bounded)
        return Driver(str(self.module), frame.errors, self.calls, self.steps)

    # -- steps

    def _steps(self) -> None:
        steps = list(joined_copies(self.region))
        for step, following in zip_longest(steps, steps[1:]):
            if isinstance(step, list):
                copy_constants(self.frame, self.memory, step)
            elif self.trace is None or isinstance(step, ReadSizes | WriteSizes):
                self._step(step)
            else:
                self._traced_step(self.trace, step)
            # The last of several downloads waits for all; the run's last ones, for its end.
            is_last = following is None and self.region is self.plan.top
            if _is_download(step) and not is_last and not _is_download(following):
                self.synchronize()

    def _traced_step(self, trace: StepTrace, step: Step) -> None:
        start = trace.now()
        self._step(step)
        if self.device is not None and isinstance(step, Run) and not self.device.is_idle:
            self.device.wait()
        trace.note(len(self.steps), start)
        self.steps.append(step)

    def _step(self, step: Step) -> None:
        copies = isinstance(step, Copy | Transfer)
        self.frame.node = step.value.node.name if copies else step.node.name
        match step:
            case Run():
                self._run(step)
            case CallHost(node):
                emit_host_call(
                    len(self.calls), node, self.region, self.frame, self.memory, self.sizes
                )
                self.calls.append(node)
            case ReadSizes(node):
                self._read_sizes(node)
            case WriteSizes(node):
                self._write_sizes(node)
            case Copy(value, target, side):
                self._copy(value, target, bytes_of(value), side)
            case Transfer():
                self._transfer(step)
            case Loop():
                emit_loop(self, step)
            case Branch():
                emit_branch(self, step)

    def nested(self, node: Node, region: Region, then: Callable[[], None]) -> None:
        """A region of a loop or branch, and what follows it where its sizes are known."""
        outer, self.region = self.region, region
        with (
            self.frame.scope(),
            self.sizes.of_region(node, region),
            self.launcher.faults_of_region(),
        ):
            self._device_is_busy()
            self.sizes.check()
            self._steps()
            then()
            self._device_is_busy()
        self.region = outer

    def _device_is_busy(self) -> None:
        """Nobody knows what it was asked where blocks meet."""
        if self.device is not None:
            self.device.is_idle = False

    def _run(self, step: Run) -> None:
        node, region, memory = step.node, self.region, self.memory
        on_device = node in self.plan.on_device
        changed = updated_input(node)
        for i, value in enumerate(node.outputs):
            place = region.places[value]
            if on_device and isinstance(place, Input):
                self.synchronize()  # what a variable holds changes only where no fault was found
            if i or changed is None:
                # A size that the kernel finds is not known yet: there is room for its bound.
                found = {size: bound for size, bound in node.sizes if bound is not None}
                memory.make(place, substitute(bytes_of(value), found))
            elif region.place_of(changed) != place:
                memory.make(place, bytes_of(value))
                self._copy_common(changed, value, DEVICE if on_device else HOST)
            elif bytes_of(changed) != bytes_of(value):
                memory.make(place, bytes_of(value), kept=bytes_of(changed))
        if step.workspace is not None:
            memory.make(step.workspace, step.needs.workspace)
        if step.late_scratch is not None:
            memory.make(step.late_scratch, step.needs.scratch, times=memory.workers())
        for launch in self.launches[node]:
            self.launcher.emit(region, step, launch)
            self.sizes.check()
        if node.attrs["kind"] == "native" and not on_device:
            self.frame.poll()  # nothing tells how much work it was
        if not self.launches[node]:
            self._compute(node)

    def _compute(self, node: Node) -> None:
        """A cluster of scalars without a kernel."""

        def address(value: Value) -> Any:
            kind = memory_type(value.type.dtype).as_pointer()
            return self.b.bitcast(self.memory.pointer(self.region.place_of(value)), kind)

        found = emit_direct(self.b, node, lambda v: self.b.load(address(v)))
        for value, scalar in zip(node.outputs, found):
            self.b.store(scalar, address(value))

    def _copy_common(self, changed: Value, value: Value, side: Side) -> None:
        """What an updated value starts from: as much of the old one as both hold."""
        old, new = self.frame.dim(bytes_of(changed)), self.frame.dim(bytes_of(value))
        size = old if bytes_of(changed) == bytes_of(value) else self.frame.smaller(old, new)
        memory = self.memory.on(side)
        source = memory.pointer(self.region.place_of(changed))
        memory.copy(memory.pointer(self.region.places[value]), source, size)

    def _copy(self, value: Value, target: Place, size: Dim, side: Side = HOST) -> None:
        self.memory.make(target, size)
        memory = self.memory.on(side)
        source = memory.pointer(self.region.place_of(value))
        memory.copy(memory.pointer(target), source, self.frame.dim(size))

    def _transfer(self, step: Transfer) -> None:
        device, host = self.memory.device, self.memory
        assert device is not None
        size = bytes_of(step.value)
        if step.source != step.target:
            host.make(step.target, size)
        if step.side == DEVICE:
            source, target = host.pointer(step.source), device.pointer(step.target)
            if self.frame.loops and isinstance(size, int) and size <= SCALAR_BYTES:
                device.set_scalar(target, source, size)
            else:
                is_first = self._is_given(step)
                device.upload(target, source, self.frame.dim(size), is_first=is_first)
            return
        source, target = device.pointer(step.source), host.pointer(step.target)
        device.download(target, source, self.frame.dim(size))

    def _is_given(self, step: Transfer) -> bool:
        """Whether what is brought is as the caller gave it, so that its place on the device is
        nobody else's."""
        changed = [Input(i) for i, _ in self.plan.in_place]
        is_input = isinstance(step.source, Input) and step.source == step.target
        return is_input and self.region is self.plan.top and step.source not in changed

    def _device_memory(self) -> DeviceMemory:
        faulty = [x for n in self.plan.on_device for x in self.launches[n] if x.errors]
        return DeviceMemory(self.frame, self.plan, self.tables.weight_offset, len(faulty))

    def synchronize(self) -> None:
        """Waits until the device has done all that it was asked, and ends the run where it found a
        fault since the last time."""
        assert self.device is not None
        if not self.launcher.check_faults() and not self.device.is_idle:
            self.device.wait()

    def _read_sizes(self, node: Node) -> None:
        (value,) = node.inputs
        self.sizes.read(node, self.memory.pointer(self.region.place_of(value)))

    def _write_sizes(self, node: Node) -> None:
        place = self.region.places[node.output]
        self.memory.make(place, bytes_of(node.output))
        self.sizes.write(node, self.memory.pointer(place))


def _is_download(step: Step | list[Any] | None) -> bool:
    return isinstance(step, Transfer) and step.side == HOST


def emit_driver(
    plan: Plan,
    launches: Mapping[Node, Sequence[Launch]],
    tables: DriverTables,
    target: Target,
    traced: bool = False,
) -> Driver:
    """The driver of a plan. `launches`: for each cluster node the uses of its kernels; `traced`:
    whether it notes the times of its steps."""
    return DriverEmitter(plan, launches, tables, target, traced).emit()


def size_symbols(plan: Plan) -> tuple[tuple[Symbol, ...], int]:
    """All size symbols in table order, those of the inputs first, and how many those are."""
    first = symbols_of(*(d for p in plan.computation.parameters for d in p.output.dims))
    late = [size for size in plan.top.bounds if size not in first]
    return (*first, *late), len(first)
