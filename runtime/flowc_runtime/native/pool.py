"""The fork-join thread pool of every compiled program, emitted as LLVM IR over pthread and futex.

In: a module. Out: `flowc_parallel_for`, `flowc_run_begin`, `flowc_run_end` and `flowc_pool_stop` in
it, and the pool's state as internal globals. Invariant: `flowc_parallel_for` returns after every
index of [0, total) was computed exactly once, with all writes visible; which thread computed an
index is not observable.

One job runs at a time. Who finds the pool busy computes alone, so programs stay reentrant. A job is
open while chunks may be left; workers come to it when they wake, take a ticket (their worker
number) and draw chunks of their own part of the range, so that kernels one after another find in
the cache of their core what they read; then they help the others. Chunks are large at first, so
that few are drawn, and small at the end, so that all end together. The caller draws chunks too,
closes the job when none is left, and waits only for the workers that came: a thread that was not
scheduled delays nobody.

Workers look for a job for as long as a run is on its way, until the last one is a millisecond ago,
and some microseconds beyond its end, for the next run may follow; then they sleep. It costs more to
wake them than a small job is worth: that one has those that are awake. Every other run that is on
its way uses a core, so that a job has one thread less for it.

The gate is one word: active workers in bits 0-15, WAITING and OPEN above them, and the number of
the job in bits 32-63. Workers sleep on its upper half, the caller on its lower half.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from flowc_runtime.native.writer import (
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    WriterLoop,
    as_pointer,
    i32,
    i64,
    new_global,
)

MOST_THREADS = 1024
ACTIVE_MASK = 0xFFFF
WAITING = 1 << 16
OPEN = 1 << 17
STACK_BYTES = 8 << 20

# Fields of the pool, as i64 indices; groups that different threads write are a cache line apart.
GATE, TICKETS, SLEEPERS, STOP, RUNS = 0, 8, 16, 24, 56
KERNEL, BUFFERS, DIMS, TOTAL, GRAIN, LIMIT, FLOAT_MODE = 40, 41, 42, 43, 44, 45, 46
LOCK, PROCESS, CREATED = 48, 49, 50
POOL_WORDS = 64
LINE_WORDS = 8  # of a cache line

MONOTONIC = 1  # of `clock_gettime`
PATIENCE, PATIENCE_IN_RUN = 50_000, 1_000_000  # nanoseconds that a worker looks for a job
PAUSES = 2  # between two looks at the clock
WORTH_WAKING = 8  # chunks that a job is worth

KERNEL_POINTER = ir.FunctionType(VOID, [PTR, PTR, I64, I64, I64]).as_pointer()

# SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV stay deliverable; all else goes to the program's threads.
_BLOCKED_SIGNALS = ~(1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10)


@dataclass(frozen=True, slots=True)
class Machine:
    """What the pool must know of a target."""

    futex: int  # number of the futex system call
    pause: str  # intrinsic that tells the core that it spins
    pause_args: tuple[ir.Constant, ...]
    float_mode: bool  # whether the rounding and subnormal mode is MXCSR


MACHINES = {
    "x86_64": Machine(202, "llvm.x86.sse2.pause", (), True),
    "aarch64": Machine(98, "llvm.aarch64.hint", (i32(1),), False),
}


class PoolEmitter:
    """Emits the pool's functions into one module."""

    def __init__(self, module: ir.Module, machine: Machine) -> None:
        self.module = module
        self.machine = machine
        words, handles = ir.ArrayType(I64, POOL_WORDS), ir.ArrayType(I64, MOST_THREADS)
        cursors = ir.ArrayType(I64, MOST_THREADS * LINE_WORDS)
        self.state = as_pointer(new_global(module, "flowc_pool", words, align=64))
        self.handles = as_pointer(new_global(module, "flowc_pool_threads", handles, align=64))
        self.cursors = as_pointer(new_global(module, "flowc_pool_cursors", cursors, align=64))

    def emit(self) -> ir.Function:
        """All functions; gives the one that stops the pool."""
        self._drain()
        self._leave()
        self._worker()
        self._adopt()
        self._grow()
        self._open_job()
        self._close_job()
        self._parallel_for()
        self._run_begin()
        self._run_end()
        return self._stop()

    # -- pieces of code used by several functions --------------------------------------------

    def _field(self, w: FunctionWriter, index: int) -> Any:
        return w.element(self.state, i64(index))

    def _pause(self, w: FunctionWriter) -> None:
        args = self.machine.pause_args
        signature = ir.FunctionType(VOID, [a.type for a in args])
        found = self.module.globals.get(self.machine.pause)
        w.b.call(found or ir.Function(self.module, signature, self.machine.pause), args)

    def _futex_wait(self, w: FunctionWriter, half: int, expected: Any) -> None:
        address = w.element(self.state, i64(2 * GATE + half), I32)
        wait_private = i64(128)
        number = i64(self.machine.futex)
        w.call("syscall", number, address, wait_private, expected, i64(0), i64(0), i64(0))

    def _futex_wake(self, w: FunctionWriter, half: int, count: Any) -> None:
        address = w.element(self.state, i64(2 * GATE + half), I32)
        number, wake_private = i64(self.machine.futex), i64(129)
        w.call("syscall", number, address, wake_private, count, i64(0), i64(0), i64(0))

    def _now(self, w: FunctionWriter, time: Any) -> Any:
        """Nanoseconds; `time` is memory for the answer of the system."""
        w.call("clock_gettime", i32(MONOTONIC), time)
        seconds = w.b.mul(w.load(time, i64(0)), i64(1_000_000_000))
        return w.b.add(seconds, w.load(time, i64(1)))

    def _spin_or(
        self, w: FunctionWriter, loop: WriterLoop, time: Any, since: Any, patience: Any
    ) -> None:
        """Goes back to the loop's top after a pause until that long after `since`; then falls
        through."""
        for _ in range(PAUSES):
            self._pause(w)
        waited = w.b.sub(self._now(w, time), since.get())
        with w.when(w.compare("<", waited, patience)):
            loop.again()

    # -- the functions -----------------------------------------------------------------------

    def _drain(self) -> None:
        """Computes chunks of the open job until none is left: three quarters of what is left of
        this worker's own part of the range, time and again, then half of what is left of the parts
        of the others. What neighbours share is computed once a chunk, so that few are best."""
        w = FunctionWriter(self.module, "flowc_pool_drain", VOID, {"worker": I64})
        (worker,) = w.args
        kernel = w.b.load(self._field(w, KERNEL), typ=KERNEL_POINTER)
        buffers, dims = (w.b.load(self._field(w, f), typ=PTR) for f in (BUFFERS, DIMS))
        total, grain, limit = (w.b.load(self._field(w, f), typ=I64) for f in (TOTAL, GRAIN, LIMIT))
        with w.count(limit) as step:
            after = w.b.add(worker, step)
            is_past = w.compare(">=", after, limit)
            part = w.b.select(is_past, w.b.sub(after, limit), after)
            cursor = self._cursor(w, part)
            stop = self._begin_of_part(w, w.b.add(part, i64(1)), total, limit)
            with w.loop() as loop:
                begin = w.atomic_load(cursor, "monotonic")
                loop.leave_if(w.compare(">=", begin, stop))
                left = w.b.sub(stop, begin)
                kept = w.b.lshr(left, w.b.select(w.compare("==", step, i64(0)), i64(2), i64(1)))
                end = w.minimum(w.b.add(begin, w.maximum(w.b.sub(left, kept), grain)), stop)
                with w.when(w.swap_if(cursor, begin, end)):
                    w.b.call(kernel, [buffers, dims, begin, end, worker])
        w.give()

    def _cursor(self, w: FunctionWriter, part: Any) -> Any:
        """Where the first step is that nobody has drawn of a worker's part."""
        return w.element(self.cursors, w.b.mul(part, i64(LINE_WORDS)))

    def _begin_of_part(self, w: FunctionWriter, part: Any, total: Any, limit: Any) -> Any:
        extra = w.minimum(part, w.b.urem(total, limit))
        return w.b.add(w.b.mul(part, w.b.udiv(total, limit)), extra)

    def _leave(self) -> None:
        """A worker leaves the job; the last one of a closed job wakes the waiting caller."""
        w = FunctionWriter(self.module, "flowc_pool_leave", VOID, {})
        old = w.atomic("sub", self._field(w, GATE), i64(1))
        last = w.compare("==", w.b.and_(old, i64(ACTIVE_MASK | WAITING)), i64(WAITING | 1))
        with w.when(last):
            self._futex_wake(w, 0, i64(1))
        w.give()

    def _worker(self) -> None:
        """A pool thread: waits for a job that it has not seen, works on it, and again."""
        w = FunctionWriter(self.module, "flowc_pool_worker", PTR, {"start": PTR})
        gate = self._field(w, GATE)
        seen = w.variable(w.b.ptrtoint(w.args[0], I64))
        with w.loop():
            self._await_job(w, gate, seen)
            ticket = w.b.add(w.atomic("add", self._field(w, TICKETS), i64(1), "monotonic"), i64(1))
            limit = w.b.load(self._field(w, LIMIT), typ=I64)
            with w.when(w.compare("<", ticket, limit)):
                self._take_float_mode(w)
                w.call("flowc_pool_drain", ticket)
            w.call("flowc_pool_leave")
        w.b.unreachable()

    def _await_job(self, w: FunctionWriter, gate: Any, seen: Any) -> None:
        """Ends when this worker is counted as active in a job that is new to it."""
        time = w.block(16)
        since = w.variable(self._now(w, time))
        with w.loop() as loop:
            now = w.atomic_load(gate)
            number = w.b.lshr(now, i64(32))
            stop = w.atomic_load(self._field(w, STOP))
            with w.when(w.compare("!=", stop, i64(0))):
                w.give(NULL)
            is_open = w.compare("!=", w.b.and_(now, i64(OPEN)), i64(0))
            is_new = w.compare("!=", number, seen.get())
            with w.when(w.b.and_(is_open, is_new)):
                entered = w.swap_if(gate, now, w.b.add(now, i64(1)))
                with w.when(entered):
                    seen.set(number)
                    loop.leave()
                loop.again()
            runs = w.atomic_load(self._field(w, RUNS), "monotonic")
            is_run = w.compare(">", runs, i64(0))
            patience = w.b.select(is_run, i64(PATIENCE_IN_RUN), i64(PATIENCE))
            self._spin_or(w, loop, time, since, patience)
            w.atomic("add", self._field(w, SLEEPERS), i64(1), "seq_cst")
            self._futex_wait(w, 1, number)
            w.atomic("sub", self._field(w, SLEEPERS), i64(1), "seq_cst")
            since.set(self._now(w, time))

    def _take_float_mode(self, w: FunctionWriter) -> None:
        """The caller's subnormal and rounding mode, so that results do not depend on threads."""
        if self.machine.float_mode:
            signature = ir.FunctionType(VOID, [PTR])
            load = ir.Function(self.module, signature, "llvm.x86.sse.ldmxcsr")
            w.b.call(load, [self._field(w, FLOAT_MODE)])

    def _adopt(self) -> None:
        """Makes the pool this process's own at first use and after a fork: 1 when it is."""
        w = FunctionWriter(self.module, "flowc_pool_adopt", I32, {})
        own = w.b.zext(w.call("getpid"), I64)
        process = self._field(w, PROCESS)
        known = w.atomic_load(process)
        with w.when(w.compare("==", known, own)):
            w.give(i32(1))
        # A fork copied the state but no worker. Exactly one thread resets it, marked by -own.
        adopting = w.b.neg(own)
        with w.when(w.compare("==", known, adopting)):
            w.give(i32(0))
        with w.when(w.b.not_(w.swap_if(process, known, adopting))):
            w.give(i32(0))
        gate = self._field(w, GATE)
        number = w.b.and_(w.atomic_load(gate), i64(~0xFFFFFFFF))
        w.atomic_store(number, gate)
        for field in (SLEEPERS, STOP, CREATED, LOCK, RUNS):
            w.atomic_store(i64(0), self._field(w, field))
        w.atomic_store(own, process)
        w.give(i32(1))

    def _grow(self) -> None:
        """Creates workers until `count` exist, or the system gives no more."""
        w = FunctionWriter(self.module, "flowc_pool_grow", VOID, {"count": I64})
        (count,) = w.args
        created = self._field(w, CREATED)
        with w.when(w.compare(">=", w.b.load(created, typ=I64), count)):
            w.give()
        blocked, before, attributes = w.block(128), w.block(128), w.block(128)
        w.store(i64(_BLOCKED_SIGNALS), blocked, i64(0))
        for index in range(1, 16):
            w.store(i64(-1), blocked, i64(index))
        w.call("pthread_sigmask", i32(2), blocked, before)
        w.call("pthread_attr_init", attributes)
        w.call("pthread_attr_setstacksize", attributes, i64(STACK_BYTES))
        last = w.b.lshr(w.atomic_load(self._field(w, GATE)), i64(32))
        start = w.b.inttoptr(last, PTR)
        body = as_pointer(self.module.globals["flowc_pool_worker"])
        with w.loop() as loop:
            have = w.b.load(created, typ=I64)
            loop.leave_if(w.compare(">=", have, count))
            failed = w.call(
                "pthread_create", w.element(self.handles, have), attributes, body, start
            )
            loop.leave_if(w.compare("!=", failed, i32(0)))
            w.b.store(w.b.add(have, i64(1)), created)
        w.call("pthread_attr_destroy", attributes)
        w.call("pthread_sigmask", i32(2), before, NULL)
        w.give()

    def _open_job(self) -> None:
        """Publishes the job, whose fields are set, and wakes up to `wakes` sleeping workers."""
        w = FunctionWriter(self.module, "flowc_pool_open", VOID, {"wakes": I64})
        (wakes,) = w.args
        gate = self._field(w, GATE)
        number = w.b.add(w.b.lshr(w.atomic_load(gate), i64(32)), i64(1))
        w.atomic("xchg", gate, w.b.or_(w.b.shl(number, i64(32)), i64(OPEN)), "seq_cst")
        self._wake_sleepers(w, wakes)
        w.give()

    def _wake_sleepers(self, w: FunctionWriter, count: Any) -> None:
        sleepers = w.atomic_load(self._field(w, SLEEPERS), "seq_cst")
        with w.when(w.compare(">", w.minimum(sleepers, count), i64(0))):
            self._futex_wake(w, 1, count)

    def _close_job(self) -> None:
        """Lets nobody in any more, and waits for the workers that are in."""
        w = FunctionWriter(self.module, "flowc_pool_close", VOID, {})
        gate = self._field(w, GATE)
        before = w.atomic("and", gate, i64(~OPEN))
        with w.when(w.compare("==", w.b.and_(before, i64(ACTIVE_MASK)), i64(0))):
            w.give()
        time = w.block(16)
        since = w.variable(self._now(w, time))
        with w.loop() as loop:
            now = w.atomic_load(gate)
            loop.leave_if(w.compare("==", w.b.and_(now, i64(ACTIVE_MASK)), i64(0)))
            self._spin_or(w, loop, time, since, i64(PATIENCE))
            waiting = w.b.or_(now, i64(WAITING))
            with w.when(w.swap_if(gate, now, waiting)):
                self._futex_wait(w, 0, w.b.and_(waiting, i64(0xFFFFFFFF)))
        w.give()

    def _parallel_for(self) -> None:
        args = {"kernel": KERNEL_POINTER, "buffers": PTR, "dims": PTR}
        args |= {"total": I64, "grain": I64, "threads": I64}
        w = FunctionWriter(self.module, "flowc_parallel_for", VOID, args, linkage="hidden")
        kernel, buffers, dims, total, grain, threads = w.args

        def alone() -> None:
            w.b.call(kernel, [buffers, dims, i64(0), total, i64(0)])
            w.give()

        is_known = w.compare("!=", grain, i64(0))
        worth_of_chunk = w.maximum(w.b.neg(grain), i64(1))
        grain = w.maximum(grain, i64(1))
        others = w.b.sub(w.atomic_load(self._field(w, RUNS), "monotonic"), i64(1))
        threads = w.b.sub(threads, w.maximum(others, i64(0)))
        with w.when(w.b.or_(w.compare("<=", threads, i64(1)), w.compare("<=", total, grain))):
            alone()
        with w.when(w.compare("==", w.call("flowc_pool_adopt"), i32(0))):
            alone()
        lock = self._field(w, LOCK)
        with w.when(w.compare("!=", w.atomic("xchg", lock, i64(1), "acquire"), i64(0))):
            alone()
        chunks = w.b.add(w.b.sdiv(w.b.sub(total, i64(1)), grain), i64(1))
        limit = w.minimum(w.minimum(threads, chunks), i64(MOST_THREADS))
        worth = w.b.mul(chunks, worth_of_chunk)
        is_small = w.b.and_(is_known, w.compare("<", worth, i64(WORTH_WAKING)))
        created = w.b.load(self._field(w, CREATED), typ=I64)
        awake = w.b.sub(created, w.atomic_load(self._field(w, SLEEPERS), "monotonic"))
        with w.when(w.b.and_(is_small, w.compare("<=", awake, i64(0)))):
            w.atomic_store(i64(0), lock)
            alone()
        wakes = w.b.select(is_small, i64(0), w.b.sub(limit, i64(1)))
        w.call("flowc_pool_grow", wakes)
        job = {KERNEL: kernel, BUFFERS: buffers, DIMS: dims, TOTAL: total, GRAIN: grain}
        job |= {LIMIT: limit, TICKETS: i64(0)}
        for field, value in job.items():
            w.b.store(value, self._field(w, field))
        with w.count(limit) as part:
            w.b.store(self._begin_of_part(w, part, total, limit), self._cursor(w, part))
        if self.machine.float_mode:
            signature = ir.FunctionType(VOID, [PTR])
            store = ir.Function(self.module, signature, "llvm.x86.sse.stmxcsr")
            w.b.call(store, [self._field(w, FLOAT_MODE)])
        w.call("flowc_pool_open", wakes)
        w.call("flowc_pool_drain", i64(0))
        w.call("flowc_pool_close")
        w.atomic_store(i64(0), lock)
        w.give()

    def _run_begin(self) -> None:
        """A run of up to that many threads is on its way. `wakes`: how many workers it is sure to
        have enough to do for; they wake while it begins."""
        args = {"threads": I64, "wakes": I64}
        w = FunctionWriter(self.module, "flowc_run_begin", VOID, args, linkage="hidden")
        threads, wakes = w.args
        with w.when(w.compare("<=", threads, i64(1))):
            w.give()
        with w.loop() as loop:
            loop.leave_if(w.compare("!=", w.call("flowc_pool_adopt"), i32(0)))
            self._pause(w)
        w.atomic("add", self._field(w, RUNS), i64(1), "monotonic")
        self._wake_sleepers(w, w.minimum(wakes, w.b.sub(threads, i64(1))))
        w.give()

    def _run_end(self) -> None:
        w = FunctionWriter(self.module, "flowc_run_end", VOID, {"threads": I64}, linkage="hidden")
        with w.when(w.compare(">", w.args[0], i64(1))):
            w.atomic("sub", self._field(w, RUNS), i64(1), "monotonic")
        w.give()

    def _stop(self) -> ir.Function:
        """Ends all workers, unless a job runs (the process exits under it) or none is ours."""
        w = FunctionWriter(self.module, "flowc_pool_stop", VOID, {}, linkage="hidden")
        own = w.b.zext(w.call("getpid"), I64)
        with w.when(w.compare("!=", w.atomic_load(self._field(w, PROCESS)), own)):
            w.give()
        lock = self._field(w, LOCK)
        with w.when(w.compare("!=", w.atomic("xchg", lock, i64(1), "acquire"), i64(0))):
            w.give()
        stop, gate, created = (self._field(w, f) for f in (STOP, GATE, CREATED))
        w.atomic_store(i64(1), stop, "seq_cst")
        w.atomic("add", gate, i64(1 << 32), "seq_cst")
        self._futex_wake(w, 1, i64(MOST_THREADS))
        with w.count(w.b.load(created, typ=I64)) as index:
            w.call("pthread_join", w.load(self.handles, index), NULL)
        w.b.store(i64(0), created)
        w.atomic_store(i64(0), stop)
        w.atomic_store(i64(0), lock)
        w.give()
        return w.function
