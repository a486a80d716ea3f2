"""Where values are while a plan runs: the arena, blocks, cells, scalars of the stack.

In: a Plan and the frame of its run. Out: addresses of places. Invariants: the run releases what it
acquired, however it ends; cells hold the addresses of different pieces of the arena at any time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from llvmlite import ir

from flowc.codegen.driver.device_memory import DeviceMemory
from flowc.codegen.driver.frame import STATUS_MEMORY, RunFrame, no_memory
from flowc.codegen.driver.size_limits import WORD
from flowc.codegen.driver.sizes import BYTES, MEMCPY, MEMCPY_TYPE, NULL
from flowc.codegen.driver.slot_values import SlotValues, total_of
from flowc.ir.dims import Dim
from flowc.ir.types import MOST_BYTES
from flowc.plan.plan import (
    ALIGNMENT,
    DEVICE,
    HOST,
    Arena,
    Cell,
    ConstantPlace,
    Heap,
    Input,
    Local,
    Output,
    Place,
    Plan,
    Side,
    bytes_of,
)
from flowc_runtime.native.writer import I1, I64, declare, i64

_TOO_MUCH = "no memory for this run: it needs {a} bytes more, and may take {b} (max_memory)"
_MISSING = "no memory for this run: {a} bytes could not be had"


class Memory:
    """The memory of one run. `weight_offset` says where constants stand among the weights."""

    def __init__(self, frame: RunFrame, plan: Plan, weight_offset: Callable[[Any], int]) -> None:
        self.frame = frame
        self.plan = plan
        self.device: DeviceMemory | None = None
        self.weight_offset = weight_offset
        self.acquire_block = frame.declare("flowc_arena_acquire", BYTES, [I64])
        self.release_block = frame.declare("flowc_arena_release", ir.VoidType(), [BYTES])
        words = I64.as_pointer()
        kinds = [BYTES.as_pointer(), I64, I64, words, words, I64]
        self.grow_block = frame.declare("flowc_arena_grow", I64, kinds)
        self.rows: dict[str, int] = {}
        count = plan.blocks + 1  # the arena is block 0
        self.blocks = [frame.variable(BYTES, "block") for _ in range(count)]
        for block in self.blocks:
            frame.b.store(NULL, block)
        # Bytes that the run may still take; the second word of `status` is 0 where all it can get.
        self.room = frame.variable(I64, "room")
        given = frame.b.load(frame.element(frame.status, 1))
        is_open = frame.b.icmp_signed("==", given, i64(0))
        frame.b.store(frame.b.select(is_open, i64(WORD), given), self.room)
        self.cells = [frame.variable(BYTES, "cell") for _ in plan.cells]
        self.locals = [frame.variable(ir.IntType(8 * size), "scalar") for size in plan.locals]

    def acquire_arena(self) -> None:
        """The arena: what cells hold, the slots, and each worker's scratch behind those slots that
        are in use when it is needed."""
        frame, b, plan = self.frame, self.frame.b, self.plan
        start: Dim = 0
        at_cells: list[Dim] = []
        for i, size in enumerate(plan.cells):
            at_cells.append(start)
            if plan.is_on(Cell(i), HOST):
                start = start + size
        numbers = [i for i in range(len(plan.slots)) if plan.is_on(Arena(i), HOST)]
        slots = [plan.slots[i] for i in numbers]
        most = total_of([start, *(slot.size for slot in slots)])
        frame.limit(most, WORD // 2, "the memory of a run")
        frame.limit(plan.scratch, MOST_BYTES, "the scratch memory of a worker")
        offsets, bytes_needed, self.scratch_offset = SlotValues(frame).place(
            slots, start, plan.scratch_times
        )
        self.slot_offsets = dict(zip(numbers, offsets))
        if plan.scratch != 0:
            scratch = b.mul(self.workers(), frame.dim(plan.scratch))
            bytes_needed = frame.larger(bytes_needed, b.add(self.scratch_offset, scratch))
        self.arena: ir.Value = NULL
        if most != 0 or plan.scratch != 0:
            self._take(bytes_needed)
            self.arena = b.call(self.acquire_block, [bytes_needed])
            b.store(self.arena, self.blocks[0])
            missing = b.icmp_unsigned("==", self.arena, NULL)
            frame.leave_if(missing, STATUS_MEMORY, no_memory(_MISSING, ""), [bytes_needed])
        for cell, offset in zip(self.cells, at_cells):
            b.store(b.gep(self.arena, [frame.dim(offset)]), cell)

    def release(self) -> None:
        b = self.frame.b
        if self.device is not None:
            self.device.release()
        for block in self.blocks:
            b.call(self.release_block, [b.load(block)])

    def workers(self) -> ir.Value:
        """How many workers may need scratch."""
        return self.frame.larger(self.frame.threads, i64(1))

    def scratch(self) -> ir.Value:
        return self.frame.b.gep(self.arena, [self.scratch_offset])

    # -- places

    def on(self, side: Side) -> Memory | DeviceMemory:
        """The memory of a side."""
        if side == HOST:
            return self
        assert self.device is not None
        return self.device

    def pointer(self, place: Place) -> Any:
        """The address of a place, where something was made before."""
        frame, b = self.frame, self.frame.b
        match place:
            case Input(i):
                return b.load(frame.element(frame.inputs, i))
            case Output(i):
                return b.load(frame.element(frame.outputs, i))
            case Arena(slot):
                return b.gep(self.arena, [self.slot_offsets[slot]])
            case Local(i):
                return b.bitcast(self.locals[i], BYTES)
            case Cell(i):
                return b.load(self.cells[i])
            case Heap(block):
                return b.load(self.blocks[block + 1])
            case ConstantPlace(array):
                return self.weight(array)

    def is_fixed(self, place: Place) -> bool:
        """Whether the place has one address throughout the run."""
        if isinstance(place, Output):
            return self._is_given(place.index)
        return not isinstance(place, (Cell, Heap))

    def weight(self, array: Any) -> ir.Value:
        return self.frame.b.gep(self.frame.weights, [i64(self.weight_offset(array))])

    def _is_given(self, output: int) -> bool:
        """Whether the caller gave the buffer of a result; else its size is not bounded, and the run
        allocates it with malloc."""
        return self.plan.bounded(bytes_of(self.plan.computation.results[output])) is not None

    def make(
        self,
        place: Place,
        size: Dim,
        *,
        kept: Dim | None = None,
        times: ir.Value | None = None,
    ) -> None:
        """Makes room for `size` bytes (or so many `times`) where the plan could not know the size.

        Of what is there `kept` bytes stay.
        """
        frame, b = self.frame, self.frame.b
        if self.device is not None and self.plan.is_on(place, DEVICE):
            self.device.make(place, size, kept=kept, times=times)
            if not self.plan.is_on(place, HOST):
                return
        match place:
            case Heap(block):
                frame.limit(size, MOST_BYTES, "a piece of memory")
                wanted = frame.dim(size) if times is None else b.mul(frame.dim(size), times)
                kept_bytes = None if kept is None else frame.dim(kept)
                self._make_block(self.blocks[block + 1], wanted, kept_bytes)
            case Output(i) if not self._is_given(i):
                malloc = frame.declare("malloc", BYTES, [I64])
                wanted = b.add(frame.dim(size), i64(ALIGNMENT))
                self._take(wanted)
                pointer = b.call(malloc, [wanted])
                b.store(pointer, frame.element(frame.outputs, i))
                missing = b.icmp_unsigned("==", pointer, NULL)
                frame.leave_if(missing, STATUS_MEMORY, no_memory(_MISSING, frame.node), [wanted])
            case _:
                pass

    def _make_block(self, variable: ir.Value, size: ir.Value, kept: ir.Value | None) -> None:
        """The block stays while it is large enough. In loops a new one is twice as large at least,
        so that what grows step by step is replaced rarely."""
        frame = self.frame
        if kept is None:
            kept = i64(0 if frame.loops else -1)
        frame.leave_without_memory_if(
            frame.b.call(
                self.grow_block,
                [variable, size, kept, self.room, frame.status, i64(self._rows_of(frame.node))],
            )
        )

    def _rows_of(self, node: str) -> int:
        """Where the error table says of a node that the run may not take so much; what it says
        where there is no memory is the next row."""
        if node not in self.rows:
            self.rows[node] = len(self.frame.errors)
            self.frame.errors += [no_memory(text, node) for text in (_TOO_MUCH, _MISSING)]
        return self.rows[node]

    def _take(self, size: ir.Value) -> None:
        """Counts bytes that the run takes, which ends it where they are too many."""
        frame, b = self.frame, self.frame.b
        room = b.load(self.room)
        left = b.sub(room, size)
        row = no_memory(_TOO_MUCH, frame.node)
        frame.leave_if(b.icmp_signed("<", left, i64(0)), STATUS_MEMORY, row, [size, room])
        b.store(left, self.room)

    def copy(self, target: ir.Value, source: ir.Value, size: ir.Value) -> None:
        memcpy = declare(self.frame.module, MEMCPY, MEMCPY_TYPE)
        self.frame.b.call(memcpy, [target, source, size, ir.Constant(I1, 0)])

    def exchange(self, moves: Sequence[tuple[Place, Place]]) -> None:
        """Gives places the pointers of others, all at once."""
        b = self.frame.b
        if self.device is not None:
            self.device.exchange([m for m in moves if self.plan.is_on(m[0], DEVICE)])
            moves = [m for m in moves if self.plan.is_on(m[0], HOST)]
        pointers = [b.load(self._variable(source)) for _, source in moves]
        for (target, _), pointer in zip(moves, pointers):
            b.store(pointer, self._variable(target))

    def _variable(self, place: Place) -> ir.Value:
        match place:
            case Cell(i):
                return self.cells[i]
            case Heap(block):
                return self.blocks[block + 1]
            case _:
                raise AssertionError(place)

    def load_scalar(self, place: Place, size: int) -> ir.Value:
        """The bytes of a scalar as one integer."""
        b = self.frame.b
        typed = b.bitcast(self.pointer(place), ir.IntType(8 * size).as_pointer())
        return b.load(typed, align=1)

    def store_scalar(self, place: Place, value: ir.Value) -> None:
        b = self.frame.b
        kind = cast(Any, value).type
        b.store(value, b.bitcast(self.pointer(place), kind.as_pointer()), align=1)
