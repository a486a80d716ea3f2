"""Where values are on a device while a plan runs, and what the driver asks the device to do.

In: a Plan some of whose places are on the device, and the frame of its run. Out: LLVM IR that
calls `flowc_cuda_*` (`flowc_runtime.native.cuda`). Invariants: everything that the run acquired is
released, however it ends, after the device has done what it was asked; the device works in the
order of the calls.

One arena of the device holds what the plan's slots, cells, scalars, inputs and outputs have there,
the words in which kernels report faults behind them. The weights are uploaded once a program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.compiled import ErrorRow
from flowc.codegen.driver.frame import STATUS_MEMORY, RunFrame
from flowc.codegen.driver.size_limits import WORD
from flowc.codegen.driver.sizes import BYTES, NULL
from flowc.codegen.driver.slot_values import SlotValues, total_of
from flowc.ir.dims import Dim, ceildiv, maximum
from flowc.ir.types import MOST_BYTES
from flowc.plan.plan import (
    ALIGNMENT,
    DEVICE,
    Arena,
    Cell,
    ConstantPlace,
    Heap,
    Input,
    Local,
    Output,
    Place,
    Plan,
    bytes_of,
    most_assigned,
)
from flowc_runtime.native.cuda_calls import (
    FORKED,
    NO_DEVICE,
    NO_DRIVER,
    NO_IMAGE,
    OUT_OF_MEMORY,
)
from flowc_runtime.native.cuda_runs import RUN_WORDS
from flowc_runtime.native.writer import I32, I64, i32, i64

STATUS_DEVICE = 7
WEIGHTS_SIZE = "flowc_weights_size"  # what is known when all of the driver is emitted
SCALAR_BYTES = 16  # of the largest
FAULT_WORDS = 4  # of a launch: the number of its fault, and what the message says

_FAILURES = {
    NO_DRIVER: (STATUS_DEVICE, "UnavailableError", "no CUDA driver: libcuda.so.1 is not there"),
    NO_DEVICE: (STATUS_DEVICE, "UnavailableError", "the CUDA driver finds no GPU"),
    FORKED: (
        STATUS_DEVICE,
        "FailedPreconditionError",
        "the GPU was used before this process was forked, and cannot be used in the child",
    ),
    NO_IMAGE: (
        STATUS_DEVICE,
        "UnavailableError",
        "this program has no code for the architecture of this GPU",
    ),
    OUT_OF_MEMORY: (STATUS_MEMORY, "ResourceExhaustedError", "no memory on the GPU for this run"),
}
_OTHER = (STATUS_DEVICE, "UnknownError", "the CUDA driver reports error {a}")


class DeviceMemory:
    """The device's side of the memory of one run. `faults`: how many launches may report some."""

    def __init__(
        self, frame: RunFrame, plan: Plan, weight_offset: Callable[[Any], int], faults: int
    ) -> None:
        self.frame = frame
        self.plan = plan
        self.weight_offset = weight_offset
        self.failed = frame.function.append_basic_block("device_failed")
        self.result = frame.variable(I32, "device_result")
        words = frame.variable(I64, "device_run", RUN_WORDS)
        for i in range(RUN_WORDS):
            frame.b.store(i64(0), frame.element(words, i))
        self.run = frame.b.bitcast(words, BYTES)
        self.fault_count = faults
        self.found_faults = frame.variable(I64, "faults", max(1, faults * FAULT_WORDS))
        count = plan.blocks + 1  # the arena is block 0
        self.blocks = [frame.variable(BYTES, "device_block") for _ in range(count)]
        self.rooms = [frame.variable(I64, "device_room") for _ in range(count)]
        self.open_outputs = {
            k: frame.variable(BYTES, "device_output")
            for k in self._on_device(Output)
            if not self._is_bounded(k)
        }
        for block in (*self.blocks, *self.open_outputs.values()):
            frame.b.store(NULL, block)
        for room in self.rooms:
            frame.b.store(i64(-1), room)
        self.cells = [frame.variable(BYTES, "device_cell") for _ in plan.cells]
        self.offsets: dict[Place, ir.Value] = {}
        self.is_idle = False  # whether it has done all that it was asked where code is emitted

    def _on_device(self, kind: type[Input | Output]) -> Iterator[int]:
        for place, sides in self.plan.sides.items():
            if isinstance(place, kind) and DEVICE in sides:
                yield place.index

    def _is_bounded(self, output: int) -> bool:
        return self.plan.bounded(bytes_of(self.plan.computation.results[output])) is not None

    # -- begin and end

    def begin(self) -> None:
        """Starts the run on the device, and takes an arena in its memory."""
        frame, b = self.frame, self.frame.b
        size: Any = ir.GlobalVariable(frame.module, I64, WEIGHTS_SIZE)
        size.global_constant, size.linkage = True, "internal"
        self.check("begin", frame.weights, b.load(size))
        self.weights = b.inttoptr(
            b.call(frame.declare("flowc_cuda_weights", I64, []), []), BYTES, name="device_weights"
        )
        total: Dim = 0
        for place, size in self._pieces():
            if place not in self.plan.resident and self.plan.is_on(place, DEVICE):
                self.offsets[place] = frame.dim(total)
                total = total + ceildiv(maximum(size, 0), ALIGNMENT) * ALIGNMENT
        self.faults_at = frame.dim(total)
        total = total + ceildiv(self.fault_count * FAULT_WORDS * 8, ALIGNMENT) * ALIGNMENT
        self.spare_at = frame.dim(total)
        spare = most_assigned(self.plan.top) * SCALAR_BYTES + ALIGNMENT
        total = total + ceildiv(spare, ALIGNMENT) * ALIGNMENT
        slots = {Arena(i): slot for i, slot in enumerate(self.plan.slots)}
        slots = {place: slot for place, slot in slots.items() if self.plan.is_on(place, DEVICE)}
        most = total_of([total, *(slot.size for slot in slots.values())])
        frame.limit(most, WORD // 2, "the memory of a run on a GPU")
        offsets, end, _ = SlotValues(frame).place([*slots.values()], total)
        self.offsets |= dict(zip(slots, offsets))
        self._acquire(self.blocks[0], end)
        self.arena = b.load(self.blocks[0])
        if self.fault_count:
            self.check("zero", self.fault_words(0), i64(self.fault_count * FAULT_WORDS * 8))
        for i, cell in enumerate(self.cells):
            if Cell(i) in self.offsets:
                b.store(b.gep(self.arena, [self.offsets[Cell(i)]]), cell)
            else:
                b.store(NULL, cell)

    def _pieces(self) -> Iterator[tuple[Place, Dim]]:
        plan = self.plan
        yield from ((Cell(i), size) for i, size in enumerate(plan.cells))
        yield from ((Local(i), size) for i, size in enumerate(plan.locals))
        for i, parameter in enumerate(plan.computation.parameters):
            yield Input(i), bytes_of(parameter.output)
        for k, result in enumerate(plan.computation.results):
            bound = plan.bounded(bytes_of(result))
            if bound is not None:
                yield Output(k), bound

    def release(self) -> None:
        """Waits for the device, whatever the run came to, and gives back what the run has."""
        b = self.frame.b
        b.call(self._function("finish", [BYTES]), [self.run])
        for block in (*self.blocks, *self.open_outputs.values()):
            b.call(self._function("release", [BYTES]), [b.load(block)])

    def finish(self, weights_bytes: int) -> None:
        """Emits what follows where the device failed, and says how large the weights are."""
        frame, b = self.frame, self.frame.b
        frame.module.globals[WEIGHTS_SIZE].initializer = i64(weights_bytes)
        b.position_at_end(self.failed)
        found = b.load(self.result)
        wide = b.sext(found, I64)
        for number, (status, kind, message) in _FAILURES.items():
            is_it = b.icmp_signed("==", found, i32(number))
            frame.leave_if(is_it, status, ErrorRow(message, "", kind), [wide])
        status, kind, message = _OTHER
        always = b.icmp_signed("!=", found, i32(0))
        frame.leave_if(always, status, ErrorRow(message, "", kind), [wide])
        b.unreachable()

    # -- calls

    def _function(self, name: str, kinds: Sequence[ir.Type]) -> Any:
        return self.frame.declare(f"flowc_cuda_{name}", I32, kinds)

    def check(self, name: str, *arguments: Any) -> None:
        """Calls a function of the device's runtime for this run, which ends where it fails."""
        b = self.frame.b
        arguments = (self.run, *arguments)
        self.is_idle = name == "wait"
        code = b.call(self._function(name, [a.type for a in arguments]), arguments)
        b.store(code, self.result)
        stay = self.frame.function.append_basic_block("device_did")
        b.cbranch(b.icmp_signed("!=", code, i32(0)), self.failed, stay)
        b.position_at_end(stay)

    def upload(self, target: Any, source: Any, size: Any, *, is_first: bool = False) -> None:
        """`is_first`: nothing that was asked before touches the target."""
        self.check("bring" if is_first else "upload", target, source, size)

    def set_scalar(self, target: Any, source: Any, size: int) -> None:
        """An upload of few bytes whose values are part of what the device is asked: those that
        count iterations are the same in every run."""
        name, step = ("set_word", 4) if size % 4 == 0 else ("set", 1)
        for at in range(0, size, step):
            offset = [i64(at)]
            self.check(name, self.frame.b.gep(target, offset), self.frame.b.gep(source, offset))

    def download(self, target: Any, source: Any, size: Any) -> None:
        """Starts a copy to the host, which has arrived after `wait`."""
        self.check("download", target, source, size)

    def copy(self, target: Any, source: Any, size: Any) -> None:
        self.check("copy", target, source, size)

    def wait(self) -> None:
        self.check("wait")

    # -- places

    def pointer(self, place: Place) -> Any:
        """The address of a place on the device, where something was made before."""
        b = self.frame.b
        match place:
            case ConstantPlace(array):
                return self.weight(array)
            case Cell(i):
                return b.load(self.cells[i])
            case Heap(block):
                return b.load(self.blocks[block + 1])
            case Output(k) if k in self.open_outputs:
                return b.load(self.open_outputs[k])
            case Input(i) if place in self.plan.resident:
                return b.load(self.frame.element(self.frame.inputs, i))
            case Output(k) if place in self.plan.resident:
                return b.load(self.frame.element(self.frame.outputs, k))
            case _:
                return b.gep(self.arena, [self.offsets[place]])

    def weight(self, array: Any) -> Any:
        return self.frame.b.gep(self.weights, [i64(self.weight_offset(array))])

    def fault_words(self, number: int) -> Any:
        """The words in which a launch reports a fault."""
        offset = self.frame.b.add(self.faults_at, i64(number * FAULT_WORDS * 8))
        return self.frame.b.gep(self.arena, [offset])

    def read_faults(self) -> Any:
        """The words of all launches, read back."""
        b = self.frame.b
        words = b.bitcast(self.found_faults, BYTES)
        self.download(words, self.fault_words(0), i64(self.fault_count * FAULT_WORDS * 8))
        self.wait()
        return self.found_faults

    def make(self, place: Place, size: Dim, *, kept: Dim | None, times: Any | None) -> None:
        """Makes room where the plan could not know the size."""
        frame, b = self.frame, self.frame.b
        if isinstance(place, Heap | Output):
            frame.limit(size, MOST_BYTES, "a piece of memory")
        if isinstance(place, Output) and place.index in self.open_outputs:
            self._acquire(self.open_outputs[place.index], b.add(frame.dim(size), i64(ALIGNMENT)))
            return
        if not isinstance(place, Heap):
            return
        variable, room = self.blocks[place.block + 1], self.rooms[place.block + 1]
        wanted = frame.dim(size) if times is None else b.mul(frame.dim(size), times)
        # Sizes are computed where all that comes later sees them.
        copied = None if kept is None else frame.dim(kept)
        capacity = b.load(room)
        with b.if_then(b.icmp_signed("<", capacity, wanted), likely=False):
            taken = wanted
            if frame.loops or kept is not None:
                taken = frame.larger(wanted, b.shl(capacity, i64(1)))
            old = b.load(variable)
            self._acquire(variable, b.add(taken, i64(ALIGNMENT)))
            b.store(taken, room)
            if copied is not None:
                is_there = b.icmp_unsigned("!=", old, NULL)
                with b.if_then(is_there):
                    self.copy(b.load(variable), old, copied)
            self.check("flush")  # what is to be done with it
            b.call(self._function("release", [BYTES]), [old])

    def _acquire(self, variable: Any, size: Any) -> None:
        """Memory of the device; the variable is NULL where there is none."""
        self.frame.b.store(NULL, variable)
        self.check("acquire", self.frame.b.bitcast(variable, BYTES), size)

    def exchange(self, moves: Sequence[tuple[Place, Place]]) -> None:
        """Gives places the pointers of others, all at once."""
        b = self.frame.b
        pairs: list[tuple[Any, Any]] = []
        for target, source in moves:
            pairs += zip(self._variables(target), self._variables(source), strict=True)
        values = [b.load(source) for _, source in pairs]
        for (target, _), value in zip(pairs, values):
            b.store(value, target)

    def _variables(self, place: Place) -> tuple[Any, ...]:
        match place:
            case Cell(i):
                return (self.cells[i],)
            case Heap(block):
                return self.blocks[block + 1], self.rooms[block + 1]
            case _:
                raise AssertionError(place)

    def assign(self, pairs: Sequence[tuple[Place, Place, int]]) -> None:
        """Scalars of a loop take others' bytes, all at once."""
        sources = [self.pointer(source) for _, source, _ in pairs]
        if len(pairs) > 1:
            for i, (_, _, size) in enumerate(pairs):
                offset = self.frame.b.add(self.spare_at, i64(i * SCALAR_BYTES))
                between = self.frame.b.gep(self.arena, [offset])
                self.copy(between, sources[i], i64(size))
                sources[i] = between
        for (target, _, size), source in zip(pairs, sources):
            self.copy(self.pointer(target), source, i64(size))
