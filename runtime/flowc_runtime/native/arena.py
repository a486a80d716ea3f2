"""Blocks of scratch memory for runs, kept between runs in a lock-free cache.

In: a module. Out: `flowc_arena_acquire`, `flowc_arena_release`, `flowc_arena_grow` and
`flowc_arena_clear` in it.
Invariant: a block belongs to exactly one run or one slot; whoever exchanges a slot's pointer for
NULL owns the block. So a steady stream of runs allocates nothing and touches no fresh pages, and
two runs never share a block. A block that 256 releases in a row found idle goes back to the system.

A block starts with a 64-byte header that holds its size; the caller gets the address after it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc_runtime.native.writer import (
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    i32,
    i64,
    new_global,
)

SLOTS = 32
HEADER = 64
IDLE_RELEASES = 256
HUGE_PAGE = 2 << 20
MOST_BYTES = 1 << 47
NO_MEMORY = 5  # how a run ends that cannot have the memory that it needs

# A slot: pointer, size of its block (a hint that may lag), clock at its release.
POINTER, SIZE, STAMP, SLOT_WORDS = 0, 1, 2, 8
CLOCK = SLOTS * SLOT_WORDS


class ArenaEmitter:
    """Emits the arena's functions into one module."""

    def __init__(self, module: ir.Module) -> None:
        self.module = module
        words = ir.ArrayType(I64, CLOCK + 8)
        self.state = as_pointer(new_global(module, "flowc_arena", words, align=64))

    def emit(self) -> ir.Function:
        """All functions; gives the one that frees every cached block."""
        clear = self._clear()
        self._allocate()
        self._keep()
        self._acquire()
        self._release()
        self._grow()
        return clear

    def _slot(self, w: FunctionWriter, index: Any) -> Any:
        return w.element(self.state, w.b.mul(index, i64(SLOT_WORDS)))

    def _take(self, w: FunctionWriter, slot: Any) -> Any:
        """The slot's block, which is the caller's from now on, or NULL."""
        return w.b.inttoptr(w.atomic("xchg", slot, i64(0)), PTR)

    def _allocate(self) -> None:
        """A new block of `size` bytes, header included, or NULL."""
        w = FunctionWriter(self.module, "flowc_arena_allocate", PTR, {"size": I64})
        (size,) = w.args
        is_large = w.compare(">=", size, i64(2 * HUGE_PAGE))
        place = w.variable(NULL)
        align = w.b.select(is_large, i64(HUGE_PAGE), i64(64))
        failed = w.call("posix_memalign", place.slot, align, size)
        with w.when(w.compare("!=", failed, i32(0))):
            w.give(NULL)
        block = place.get()
        with w.when(is_large):
            huge_pages = i32(14)  # MADV_HUGEPAGE: fewer page faults in the first run
            w.call("madvise", block, w.b.and_(size, i64(-HUGE_PAGE)), huge_pages)
        w.store(size, block, i64(0))
        w.give(block)

    def _keep(self) -> None:
        """Puts a block into an empty slot, or frees it when there is none."""
        w = FunctionWriter(self.module, "flowc_arena_keep", VOID, {"block": PTR, "clock": I64})
        block, clock = w.args
        with w.count(i64(SLOTS)) as index:
            slot = self._slot(w, index)
            is_empty = w.compare("==", w.atomic_load(slot, "monotonic"), i64(0))
            with w.when(is_empty):
                # Size and stamp are hints: they may be written for a block that loses the race.
                w.atomic_store(w.load(block, i64(0)), w.element(slot, i64(SIZE)), "monotonic")
                w.atomic_store(clock, w.element(slot, i64(STAMP)), "monotonic")
                with w.when(w.swap_if(slot, i64(0), w.b.ptrtoint(block, I64))):
                    w.give()
        w.call("free", block)
        w.give()

    def _acquire(self) -> None:
        name = "flowc_arena_acquire"
        w = FunctionWriter(self.module, name, PTR, {"bytes": I64}, linkage="hidden")
        (wanted,) = w.args
        with w.when(w.b.icmp_unsigned(">", wanted, i64(MOST_BYTES))):
            w.give(NULL)
        size = w.b.and_(w.b.add(wanted, i64(HEADER + 4095)), i64(-4096))
        most = w.b.add(w.b.mul(size, i64(4)), i64(1 << 20))
        with w.count(i64(SLOTS)) as index:
            slot = self._slot(w, index)
            hint = w.atomic_load(w.element(slot, i64(SIZE)), "monotonic")
            with w.when(w.b.and_(w.compare(">=", hint, size), w.compare("<=", hint, most))):
                block = self._take(w, slot)
                with w.when(w.compare("!=", block, NULL)):
                    with w.when(w.compare(">=", w.load(block, i64(0)), size)):
                        w.give(w.element(block, i64(HEADER // 8)))
                    clock = w.atomic_load(w.element(self.state, i64(CLOCK)), "monotonic")
                    w.call("flowc_arena_keep", block, clock)
        made = w.call("flowc_arena_allocate", size)
        with w.when(w.compare("==", made, NULL)):
            # Memory is short: idle blocks may be what is missing.
            w.call("flowc_arena_clear")
            second = w.call("flowc_arena_allocate", size)
            with w.when(w.compare("==", second, NULL)):
                w.give(NULL)
            w.give(w.element(second, i64(HEADER // 8)))
        w.give(w.element(made, i64(HEADER // 8)))

    def _release(self) -> None:
        name = "flowc_arena_release"
        w = FunctionWriter(self.module, name, VOID, {"address": PTR}, linkage="hidden")
        (address,) = w.args
        with w.when(w.compare("==", address, NULL)):
            w.give()
        clock = w.atomic("add", w.element(self.state, i64(CLOCK)), i64(1), "monotonic")
        oldest = self._slot(w, w.b.urem(clock, i64(SLOTS)))
        stamp = w.atomic_load(w.element(oldest, i64(STAMP)), "monotonic")
        with w.when(w.compare(">", w.b.sub(clock, stamp), i64(IDLE_RELEASES))):
            w.call("free", self._take(w, oldest))
        w.call("flowc_arena_keep", w.element(address, i64(-HEADER // 8)), clock)
        w.give()

    def _grow(self) -> None:
        """Has `bytes` in the block whose address is in `place`: the block that is there if it is
        large enough, else a new one, to which `kept` bytes are copied (-1: none). Where `kept` is
        not -1, a new one is twice as large at least, so that what grows step by step is replaced
        rarely. Size 0 needs a block, too.

        Gives 0, or a number above it where the run, which may take `room` bytes more, cannot have
        the memory: `status` holds this number, `row` where it may not and the row behind where
        there is none, how many bytes it needs, and how many it may take.
        """
        names = {"place": PTR, "bytes": I64, "kept": I64, "room": PTR, "status": PTR, "row": I64}
        w = FunctionWriter(self.module, "flowc_arena_grow", I64, names, linkage="hidden")
        place, size, kept, room, status, row = w.args
        old = w.load(place, i64(0), PTR)
        capacity = w.variable(i64(-1))
        with w.when(w.compare("!=", old, NULL)):
            whole = w.load(old, i64(-HEADER // 8))
            capacity.set(w.b.sub(whole, i64(HEADER)))
        has = capacity.get()
        with w.when(w.compare(">=", has, size)):
            w.give(i64(0))
        twice = w.maximum(size, w.b.shl(has, i64(1)))
        wanted = w.b.select(w.compare("<", kept, i64(0)), size, twice)
        more = w.b.sub(wanted, w.maximum(has, i64(0)))
        may_take = w.load(room, i64(0))
        left = w.b.sub(may_take, more)

        def refuse(row: Any, bytes: Any) -> None:
            for i, word in enumerate((i64(NO_MEMORY), row, bytes, may_take)):
                w.store(word, status, i64(i))
            w.give(i64(NO_MEMORY))

        with w.when(w.compare("<", left, i64(0))):
            refuse(row, more)
        made = w.call("flowc_arena_acquire", wanted)
        with w.when(w.compare("==", made, NULL)):
            refuse(w.b.add(row, i64(1)), wanted)
        w.store(left, room, i64(0))
        with w.when(w.compare(">", kept, i64(0))):
            w.call("memcpy", made, old, kept)
        w.call("flowc_arena_release", old)
        w.store(made, place, i64(0))
        w.give(i64(0))

    def _clear(self) -> ir.Function:
        """Frees every block that no run holds."""
        w = FunctionWriter(self.module, "flowc_arena_clear", VOID, {}, linkage="hidden")
        with w.count(i64(SLOTS)) as index:
            w.call("free", self._take(w, self._slot(w, index)))
        w.give()
        return w.function
