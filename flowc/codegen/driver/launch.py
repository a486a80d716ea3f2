"""Launches of kernels: their tables, the call that the target makes, the faults that they report.

In: the launches of a cluster. Out: LLVM IR in the frame of the run. In a loop every launch has
tables of its own, whose entries that never change are written once, before the run's first step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from llvmlite import ir

from flowc.codegen.compiled import ErrorRow
from flowc.codegen.driver.device_memory import FAULT_WORDS, DeviceMemory
from flowc.codegen.driver.frame import STATUS_INVALID, RunFrame
from flowc.codegen.driver.memory import Memory
from flowc.codegen.driver.size_limits import WORD
from flowc.codegen.driver.sizes import BYTES, NULL
from flowc.codegen.kernels.kernel import (
    INTERPRETER,
    CalledPart,
    Launch,
    Operand,
    PackedConstant,
)
from flowc.codegen.target import Target
from flowc.dataclass import dataclass
from flowc.errors import InternalError
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, Symbol, ceildiv, symbols_of
from flowc.ir.lowering import own_class
from flowc.plan.plan import ALIGNMENT, DEVICE, HOST, Region, Run
from flowc_runtime.native.pool import WORTH_WAKING as WORTH_OF_JOB
from flowc_runtime.native.writer import I64, VOID, data_constant, declare, i64

WORTH_WAKING = 32  # chunks of all kernels of a run
KERNEL_TYPE = ir.FunctionType(VOID, [BYTES.as_pointer(), I64.as_pointer(), I64, I64, I64])
EPILOGUE_TYPE = ir.FunctionType(VOID, [BYTES.as_pointer(), I64.as_pointer(), I64, I64, I64, I64])


def workers_of(launches: Iterable[Launch]) -> int | None:
    """How many of the pool's threads a run is to wake when it begins; None where no kernel has use
    for any: its range is one chunk, or worth so little that it would wake nobody, as the run does,
    so that all are asleep, and to look for them takes half a microsecond."""
    shared = [x for x in launches if x.chunks != 1]
    if not shared:
        return None
    known = [(x.chunks, x.worth) for x in shared if x.chunks is not None and x.worth is not None]
    if sum(worth - 1 for _, worth in known) < WORTH_WAKING:
        is_small = len(known) == len(shared) and max(w for _, w in known) < WORTH_OF_JOB
        return None if is_small else 0
    return max(chunks for chunks, _ in known) - 1


@dataclass(frozen=True, slots=True)
class _Tables:
    """The pointers and the ints that a kernel is given. `are_known`: the ints are a constant of the
    program, to which nothing is written."""

    buffers: Any
    ints: Any
    are_known: bool = False

    @classmethod
    def of(cls, frame: RunFrame, buffers: int, ints: int) -> _Tables:
        made = frame.variable(BYTES, "buffers", max(buffers, 1))
        return cls(made, frame.variable(I64, "ints", max(ints, 1)))

    @classmethod
    def of_device(cls, frame: RunFrame, buffers: int, ints: int) -> _Tables:
        """The same of a kernel on a device: one array, with a word more for what the call adds."""
        words = frame.variable(I64, "parameters", buffers + ints + 1)
        with frame.b.goto_entry_block():
            pointers = frame.b.bitcast(words, BYTES.as_pointer())
            return cls(pointers, frame.b.gep(words, [i64(buffers)]))

    def knowing(self, frame: RunFrame, ints: Sequence[Dim]) -> _Tables:
        """The tables of a launch with these ints, which are not written where all are numbers."""
        for number in ints:
            if not isinstance(number, int):
                return self
            frame.limit(number, WORD, "a size")
        kind = ir.ArrayType(I64, len(ints))
        row = data_constant(frame.module, ir.Constant(kind, list(ints)), "ints")
        return _Tables(self.buffers, row.bitcast(I64.as_pointer()), are_known=True)


@dataclass(frozen=True, slots=True)
class _Nested:
    """The tables of what a kernel calls: of its epilogue, and of other kernels."""

    epilogue: _Tables
    called: tuple[tuple[_Tables, _Nested], ...] = ()


def _ints_of(launch: Launch) -> list[Dim]:
    """What its table of ints holds: behind them the bytes of a worker's scratch memory."""
    return [*launch.ints, ceildiv(launch.scratch, ALIGNMENT) * ALIGNMENT]


class Launcher:
    """Emits launches. `bind(size, value)` is told the sizes that kernels find."""

    def __init__(
        self,
        frame: RunFrame,
        memory: Memory,
        every: Iterable[Launch],
        target: Target,
        bind: Callable[[Symbol, ir.Value], None],
    ) -> None:
        self.frame = frame
        self.memory = memory
        self.target = target
        self.bind = bind
        launches = list(every)
        after = [x.epilogue for x in launches if x.epilogue is not None]
        self.tables = _Tables.of(
            frame,
            max((len(x.operands) for x in launches), default=0),
            max((len(x.ints) + 1 for x in launches), default=0),
        )
        self.late_tables = _Tables.of(
            frame,
            max((len(e.operands) for e in after), default=0),
            max((len(e.ints) for e in after), default=0),
        )
        self.fault_numbers: dict[Launch, int] = {}  # of launches on the device, in their order
        self._packed: dict[Any, PackedConstant] = {}  # of each layout the first
        self.unseen: list[Launch] = []  # those whose faults nobody has looked for
        self.sees = False  # whether the open region looks for faults
        self.found = frame.variable(
            I64, "found", max((len(x.sizes) for x in launches), default=0) or 1
        )
        self.status = frame.variable(I64, "kernel_status", 4)
        for i in range(4):
            frame.b.store(i64(0), frame.element(self.status, i))

    def begin(self) -> None:
        """Ends the part of the run that stands before every step."""
        frame = self.frame
        self.prologue = frame.b.block
        self.first_env, self.first_known = dict(frame.env), dict(frame.known)
        self.first_limits = frame.limits.copy()
        block = frame.function.append_basic_block("steps")
        frame.b.branch(block)
        frame.b.position_at_end(block)

    def emit(self, region: Region, step: Run, launch: Launch) -> None:
        frame = self.frame
        if step.node in self.memory.plan.on_device:
            tables = _Tables.of_device(frame, len(launch.operands), len(launch.ints) + 1)
        else:
            tables = self._tables(launch, None if frame.loops else self.tables)
        late = self._late_tables(launch, None if frame.loops else self.late_tables)
        called = tuple(self._called(region, step, x) for x in launch.calls)
        self._fill_both(region, step, launch, tables, _Nested(late, called))
        self.target.emit_call(frame, launch, tables.buffers, tables.ints)
        self._after(launch)

    def _tables(self, launch: Launch, common: _Tables | None = None) -> _Tables:
        """The tables of a launch: those that launches have in common, or some of its own."""
        ints = _ints_of(launch)
        tables = common or _Tables.of(self.frame, len(launch.operands), len(ints))
        return tables.knowing(self.frame, ints)

    def _late_tables(self, launch: Launch, common: _Tables | None = None) -> _Tables:
        """The same for the epilogue of a launch."""
        epilogue = launch.epilogue
        if epilogue is None:
            return self.late_tables
        tables = common or _Tables.of(self.frame, len(epilogue.operands), len(epilogue.ints))
        return tables.knowing(self.frame, epilogue.ints)

    def _called(self, region: Region, step: Run, launch: Launch) -> tuple[_Tables, _Nested]:
        """The tables of a kernel that another one calls."""
        assert not launch.errors and not launch.sizes, launch.kernel.source
        tables = self._tables(launch)
        nested = _Nested(self._late_tables(launch))
        self._fill_both(region, step, launch, tables, nested)
        return tables, nested

    def _fill_both(
        self, region: Region, step: Run, launch: Launch, tables: _Tables, nested: _Nested
    ) -> None:
        """Writes the tables of a kernel and of its epilogue."""
        epilogue = launch.epilogue
        if epilogue is not None:
            late = nested.epilogue
            self._fill(region, step, launch, late, epilogue.operands, epilogue.ints, nested)
        assert len(launch.operands) == len(launch.kernel.buffers), launch.kernel.source
        self._fill(region, step, launch, tables, launch.operands, _ints_of(launch), nested)

    def _fill(
        self,
        region: Region,
        step: Run,
        launch: Launch,
        tables: _Tables,
        operands: Sequence[Operand],
        ints: Sequence[Dim],
        nested: _Nested,
    ) -> None:
        """Writes the two tables of a kernel; in a loop, what is always the same outside of it."""
        frame, b = self.frame, self.frame.b

        def write_pointer(i: int, operand: Operand) -> None:
            pointer = self._operand(region, step, launch, operand, nested)
            b.store(pointer, frame.element(tables.buffers, i))

        def write_int(i: int, dim: Dim) -> None:
            b.store(frame.dim(dim), frame.element(tables.ints, i))

        changing_operands = list(enumerate(operands))
        changing_ints = [] if tables.are_known else list(enumerate(ints))
        if frame.loops:
            fixed = [i for i, o in changing_operands if self._is_fixed(region, step, launch, o)]
            early = [i for i, d in changing_ints if self._is_early(d)]
            with b.goto_block(self.prologue), frame.scope():
                # What later blocks computed is not there yet.
                frame.env, frame.known = self.first_env, self.first_known
                frame.limits = self.first_limits
                for i in fixed:
                    write_pointer(i, operands[i])
                for i in early:
                    write_int(i, ints[i])
            changing_operands = [x for x in changing_operands if x[0] not in fixed]
            changing_ints = [x for x in changing_ints if x[0] not in early]
        for i, operand in changing_operands:
            write_pointer(i, operand)
        for i, dim in changing_ints:
            write_int(i, dim)

    def _is_early(self, dim: Dim) -> bool:
        """Whether the inputs alone decide a size, and no check of it could end the run."""
        is_given = symbols_of(dim).keys() <= self.first_env.keys()
        return is_given and self.first_limits.of(dim) <= WORD

    def _is_fixed(self, region: Region, step: Run, launch: Launch, operand: Operand) -> bool:
        """Whether an operand has one address throughout the run."""
        if isinstance(operand, Value):
            return self.memory.is_fixed(region.place_of(operand))
        on_device = step.node in self.memory.plan.on_device
        if isinstance(operand, str) and operand == "scratch" and not on_device:
            return step.late_scratch is None
        if isinstance(operand, str) and operand in ("scratch", "workspace"):
            if step.workspace is None:
                return True
            return self.memory.is_fixed(step.workspace) and self._is_early(launch.workspace_offset)
        return True

    def _operand(
        self, region: Region, step: Run, launch: Launch, operand: Operand, nested: _Nested
    ) -> Any:
        b = self.frame.b
        on_device = step.node in self.memory.plan.on_device
        memory = self.memory.on(DEVICE if on_device else HOST)
        if isinstance(operand, Value):
            return memory.pointer(region.place_of(operand))
        if isinstance(operand, np.ndarray):
            return memory.weight(operand)
        if isinstance(operand, PackedConstant):
            same = self._packed.setdefault(operand.layout, operand)
            return memory.weight(same.content)
        if isinstance(operand, CalledPart):
            return self._part(launch.calls[operand.call], operand, nested)
        match operand:
            case "scratch" | "workspace" if on_device:
                # A grid of no threads needs none.
                return NULL if step.workspace is None else memory.pointer(step.workspace)
            case "status" if isinstance(memory, DeviceMemory):
                return memory.fault_words(self._fault_number(launch))
            case "scratch" if step.late_scratch is not None:
                return memory.pointer(step.late_scratch)
            case "scratch" if not on_device:
                return self.memory.scratch()
            case "workspace" if step.workspace is not None:
                start = memory.pointer(step.workspace)
                offset = launch.workspace_offset
                return start if offset == 0 else b.gep(start, [self.frame.dim(offset)])
            case "streamed":
                return NULL
            case "interpreter":
                return b.bitcast(self.frame.interpreter, BYTES)
            case "status":
                return b.bitcast(self.status, BYTES)
            case "sizes" if launch.sizes:
                return b.bitcast(self.found, BYTES)
            case "epilogue" if launch.epilogue is not None:
                key = launch.epilogue.kernel.key
                return b.bitcast(declare(self.frame.module, key, EPILOGUE_TYPE), BYTES)
            case "epilogue_buffers":
                return b.bitcast(nested.epilogue.buffers, BYTES)
            case "epilogue_ints":
                return b.bitcast(nested.epilogue.ints, BYTES)
            case _:
                raise InternalError(f"a kernel of {step.node!r} has no operand {operand}")

    def _part(self, called: Launch, operand: CalledPart, nested: _Nested) -> Any:
        """The address of a kernel that another one calls, or of one of its tables."""
        tables, own = nested.called[operand.call]
        match operand.part:
            case "function":
                found = declare(self.frame.module, called.kernel.key, KERNEL_TYPE)
            case "buffers":
                found = tables.buffers
            case "ints":
                found = tables.ints
            case "epilogue_buffers":
                found = own.epilogue.buffers
        return self.frame.b.bitcast(found, BYTES)

    def _after(self, launch: Launch) -> None:
        frame, b = self.frame, self.frame.b
        if any(x is INTERPRETER for x in launch.operands):
            frame.leave_if_ended()
        if launch in self.fault_numbers:
            self.unseen.append(launch)
        elif launch.errors:
            self._leave_if_faulty(launch, self.status)
        for i, size in enumerate(launch.sizes):
            self.bind(size, b.load(frame.element(self.found, i)))

    def _leave_if_faulty(self, launch: Launch, words: Any) -> None:
        """Ends the run where the words of a launch report a fault."""
        frame, b = self.frame, self.frame.b
        fault = b.load(words)
        first = len(frame.errors)
        node = launch.nodes[0] if launch.nodes else ""
        for e in launch.errors:
            own, message = own_class(e.message)
            frame.errors.append(ErrorRow(message, e.node or node, own or launch.fault))
        with frame.where_it_leaves(b.icmp_signed("!=", fault, i64(0))):
            values = [b.load(frame.element(words, i)) for i in (1, 2, 3)]
            frame.leave(STATUS_INVALID, b.add(fault, i64(first - 1)), values)

    # -- faults on a device, which are looked for where the host waits for it anyway

    def _fault_number(self, launch: Launch) -> int:
        return self.fault_numbers.setdefault(launch, len(self.fault_numbers))

    @contextmanager
    def faults_of_region(self) -> Iterator[None]:
        """Within a region that may not run, or run several times: its checks for faults do not
        count as made behind it, nor those before it as made inside."""
        before, self.unseen = self.unseen, []
        sees, self.sees = self.sees, False
        yield
        self.unseen = before + self.unseen
        self.sees = sees or self.sees

    def sees_earlier(self) -> bool:
        """Whether the open region has checked for faults, and has launched kernels after that check
        which may report more."""
        return self.sees and bool(self.unseen)

    def check_faults(self) -> bool:
        """Waits for the device and ends the run where a launch reported a fault. False where there
        is none to look for."""
        self.sees = True
        device = self.memory.device
        if not self.unseen or device is None:
            return False
        words = device.read_faults()
        for launch in self.unseen:
            number = self.fault_numbers[launch] * FAULT_WORDS
            self._leave_if_faulty(launch, self.frame.element(words, number))
        self.unseen = []
        return True
