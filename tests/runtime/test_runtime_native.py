"""The thread pool and the arena, compiled in memory and called directly."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from llvmlite import ir

from flowc.codegen.link.jit import engine_of
from flowc.codegen.llvm.compile import optimized_module
from flowc.codegen.targets import target_named
from flowc_runtime.native import data_layout, native_module_text
from flowc_runtime.native.writer import (
    I64,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    declare,
    i64,
)

PROCESSOR = target_named("native").processor


def _caller_text() -> str:
    """`many(buffers, total, grain, threads, times)`: that many jobs, whose kernel adds 1 to each of
    its elements of buffers[0] and notes the largest worker number in buffers[1][worker]."""
    module = ir.Module("caller")
    module.triple = PROCESSOR.triple
    module.data_layout = data_layout(PROCESSOR.triple)
    args = {"buffers": PTR, "dims": PTR, "begin": I64, "end": I64, "worker": I64}
    kernel = FunctionWriter(module, "kernel", VOID, args)
    buffers, _, begin, end, worker = kernel.args
    counts, workers = (kernel.load(buffers, i64(n), PTR) for n in range(2))
    with kernel.count(kernel.b.sub(end, begin)) as step:
        place = kernel.element(counts, kernel.b.add(begin, step))
        kernel.atomic("add", place, i64(1), "monotonic")
    kernel.atomic("add", kernel.element(workers, worker), i64(1), "monotonic")
    kernel.give()

    args = {"buffers": PTR, "total": I64, "grain": I64, "threads": I64, "times": I64}
    many = FunctionWriter(module, "many", VOID, args, linkage="")
    buffers, total, grain, threads, times = many.args
    kind = ir.FunctionType(VOID, [PTR, PTR, PTR, I64, I64, I64])
    parallel_for = declare(module, "flowc_parallel_for", kind)
    with many.count(times):
        job = [as_pointer(kernel.function), buffers, buffers, total, grain, threads]
        many.b.call(parallel_for, job)
    many.give()
    return str(module)


class Native:
    """The runtime's functions in this process."""

    def __init__(self) -> None:
        text = native_module_text(PROCESSOR.triple)
        machine = PROCESSOR.target_machine()
        module = optimized_module([text, _caller_text()], machine, speed=2)
        self.engine = engine_of([machine.emit_object(module)])
        p, n = ctypes.c_void_p, ctypes.c_int64
        self.many = self._function("many", None, p, n, n, n, n)
        self.begin = self._function("flowc_run_begin", None, n, n)
        self.end = self._function("flowc_run_end", None, n)
        self._stop = self._function("flowc_pool_stop", None)
        self.acquire = self._function("flowc_arena_acquire", p, n)
        self.release = self._function("flowc_arena_release", None, p)
        self.clear = self._function("flowc_arena_clear", None)

    def _function(self, name: str, result: Any, *args: Any) -> Any:
        return ctypes.CFUNCTYPE(result, *args)(self.engine.get_function_address(name))

    def stop(self) -> None:
        """Ends the workers, and waits until the system lists them no more: it does so for a moment
        after they were joined, on a busy machine a longer one."""
        self._stop()
        assert _settles(lambda: not _worker_switches())

    def count(self, total: int, grain: int, threads: int, times: int) -> np.ndarray[Any, Any]:
        """Runs the jobs and checks them; gives how many ranges each worker computed."""
        counts, workers = np.zeros(total, np.int64), np.zeros(1024, np.int64)
        table = (ctypes.c_void_p * 2)(counts.ctypes.data, workers.ctypes.data)
        self.many(table, total, grain, threads, times)
        assert (counts == times).all()
        assert not workers[max(threads, 1) :].any()
        return workers


OTHERS: set[str] = set()  # threads of the process that are not this pool's


@pytest.fixture(scope="module")
def native() -> Iterator[Native]:
    OTHERS.update(os.listdir("/proc/self/task"))
    made = Native()
    yield made
    made.stop()


@pytest.mark.parametrize("threads", [0, 1, 2, 3, 4, 9])
@pytest.mark.parametrize(("total", "grain"), [(0, 1), (1, 1), (7, 1), (100, 7), (64, 64), (65, 64)])
def test_every_index_is_computed_once(native: Native, threads: int, total: int, grain: int) -> None:
    native.count(total, grain, threads, 50)


def test_serial_when_one_range_or_one_thread(native: Native) -> None:
    assert native.count(100, 100, 4, 10)[0] == 10
    assert native.count(100, 1, 1, 10)[0] == 10


def test_a_grain_below_one_counts_as_one(native: Native) -> None:
    native.count(20, 0, 3, 5)
    native.count(20, -4, 3, 5)


def test_jobs_of_changing_width(native: Native) -> None:
    for threads in (1, 5, 2, 8, 3, 2, 6):
        native.count(40, 1, threads, 20)


def test_many_threads_at_once(native: Native) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for _ in range(100):
                native.count(37, 3, 4, 5)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def _settles(state: Callable[[], bool]) -> bool:
    """Whether it gets there."""
    for _ in range(6000):
        if state():
            return True
        time.sleep(0.01)
    return False


def test_stop_joins_all_workers_and_the_pool_starts_again(native: Native) -> None:
    native.stop()
    for _ in range(10):
        native.count(100, 1, 4, 3)
        assert len(_worker_switches()) == 3
        native.stop()


def test_chunks_are_large_first_and_small_at_the_end(native: Native) -> None:
    """Of its own part a thread draws three quarters of what is left, of the others' parts half."""
    draws = {}
    for kept in (4, 2):
        draws[kept], left = 0, 250
        while left:
            draws[kept], left = draws[kept] + 1, left - min(left, max(5, left - left // kept))
    assert draws == {4: 4, 2: 7}
    drawn = native.count(1000, 5, 4, 10).sum()
    assert 10 * 4 * draws[4] <= drawn <= 10 * 4 * draws[2]


def test_every_other_run_takes_a_thread(native: Native) -> None:
    for runs, workers in ((1, 4), (2, 3), (3, 2), (4, 1), (9, 1)):
        for _ in range(runs):
            native.begin(4, 0)
        assert not native.count(64, 1, 4, 20)[workers:].any()
        for _ in range(runs):
            native.end(4)


def test_a_run_of_one_thread_is_not_counted(native: Native) -> None:
    for _ in range(9):
        native.begin(1, 0)
    native.count(64, 1, 4, 20)
    native.stop()
    native.count(64, 1, 2, 1)
    assert len(_worker_switches()) == 1
    for _ in range(9):
        native.end(1)


def _worker_switches() -> dict[str, int]:
    """How often each of the pool's threads slept."""
    found = {}
    for task in set(os.listdir("/proc/self/task")) - OTHERS:
        try:
            with open(f"/proc/self/task/{task}/status") as file:
                lines = dict(row.split(":", 1) for row in file if ":" in row)
        except (FileNotFoundError, ProcessLookupError):
            continue  # it ended meanwhile
        # They have signals blocked that Python's threads have not.
        if int(lines["SigBlk"], 16) & 1 << (2 - 1):
            found[task] = int(lines["voluntary_ctxt_switches"])
    return found


def _all_sleep() -> bool:
    """Whether all workers are asleep, or get there: those that are do not sleep once more."""

    def sleeping() -> bool:
        before = _worker_switches()
        time.sleep(0.01)
        states = []
        for task in before:
            with open(f"/proc/self/task/{task}/stat") as file:
                states.append(file.read().rsplit(")", 1)[1].split()[0])
        return _worker_switches() == before and set(states) == {"S"}

    return _settles(sleeping)


def test_a_small_job_wakes_nobody_and_starts_nobody(native: Native) -> None:
    native.stop()
    assert native.count(35, 5, 4, 10)[0] == 10
    assert not _worker_switches()
    native.count(36, 5, 4, 10)
    assert len(_worker_switches()) == 3
    assert _all_sleep()
    before = _worker_switches()
    native.count(35, 5, 4, 10)
    assert _worker_switches() == before


def test_nobody_knows_what_a_step_of_grain_zero_costs(native: Native) -> None:
    native.stop()
    native.count(2, 0, 4, 10)
    assert len(_worker_switches()) == 1


def test_few_steps_wake_workers_where_each_is_worth_it(native: Native) -> None:
    native.stop()
    native.count(3, -2, 4, 10)
    assert not _worker_switches()
    native.count(3, -3, 4, 10)
    assert len(_worker_switches()) == 2


def test_workers_sleep_in_a_long_run_and_wake_when_one_begins(native: Native) -> None:
    native.begin(4, 0)
    native.count(100, 1, 4, 3)
    assert _all_sleep()
    native.end(4)
    before = _worker_switches()
    native.begin(4, 3)
    native.end(4)
    all_woke = sum(before.values()) + 3
    assert _settles(lambda: sum(_worker_switches().values()) >= all_woke)


def test_a_forked_child_has_its_own_pool(native: Native) -> None:
    for _ in range(20):
        native.count(64, 1, 4, 3)
        child = os.fork()
        if child == 0:
            ok = False
            try:
                native.count(64, 1, 4, 20)
                ok = len(os.listdir("/proc/self/task")) == 4
                native.stop()
                ok = ok and _settles(lambda: len(os.listdir("/proc/self/task")) == 1)
            finally:
                os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
        native.count(64, 1, 4, 3)


def test_a_child_forked_while_another_thread_computes(native: Native) -> None:
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            native.count(64, 1, 3, 20)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                try:
                    native.count(64, 1, 3, 20)
                    os._exit(0)
                finally:
                    os._exit(1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        done.set()
        thread.join()


def test_signals_go_to_the_programs_threads(native: Native) -> None:
    native.count(64, 1, 4, 3)
    own = str(os.getpid())
    blocked = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/status") as file:
            line = next(row for row in file if row.startswith("SigBlk"))
        if task != own:
            blocked.append(int(line.split()[1], 16))
    interrupt, fault = 1 << (2 - 1), 1 << (11 - 1)
    workers = [mask for mask in blocked if mask & interrupt]
    assert len(workers) >= 3
    assert not any(mask & fault for mask in workers)


def test_arena_blocks_are_aligned_and_reused(native: Native) -> None:
    native.clear()
    first = native.acquire(1000)
    assert first % 64 == 0
    ctypes.memset(first, 1, 1000)
    second = native.acquire(1000)
    assert second != first
    native.release(first)
    assert native.acquire(900) == first
    native.release(first)
    native.release(second)
    native.clear()


def test_a_large_block_does_not_serve_small_requests(native: Native) -> None:
    native.clear()
    large = native.acquire(64 << 20)
    native.release(large)
    small = native.acquire(100)
    assert small != large
    native.release(small)
    assert native.acquire(60 << 20) == large
    native.release(large)
    native.clear()


def test_idle_blocks_go_back_to_the_system(native: Native) -> None:
    native.clear()
    size = 64 << 20
    block = native.acquire(size)
    ctypes.memset(block, 1, size)
    native.release(block)
    with_block = _resident_bytes()
    for _ in range(2000):
        native.release(native.acquire(64))
    assert _resident_bytes() < with_block - size // 2
    native.clear()


def _resident_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("size", [-1, 1 << 48, (1 << 63) - 1])
def test_absurd_requests_give_null(native: Native, size: int) -> None:
    assert native.acquire(size) is None


def test_releasing_null_does_nothing(native: Native) -> None:
    native.release(None)


def test_blocks_are_never_shared(native: Native) -> None:
    held: set[int] = set()
    guard = threading.Lock()
    clashes: list[int] = []

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(300):
            block = native.acquire(int(random.integers(1, 200_000)))
            with guard:
                if block in held:
                    clashes.append(block)
                held.add(block)
            with guard:
                held.discard(block)
            native.release(block)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes
    native.clear()


def test_the_text_is_the_same_in_every_process() -> None:
    code = (
        "import hashlib; from flowc_runtime.native import native_module_text as t;"
        "print(hashlib.sha256(t('x86_64-unknown-linux-gnu').encode()).hexdigest())"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_other_processors() -> None:
    text = native_module_text("aarch64-unknown-linux-gnu")
    module = llvm.parse_assembly(text)
    module.verify()
    assert "x86" not in text
    with pytest.raises(ValueError, match="riscv64"):
        native_module_text("riscv64-unknown-linux-gnu")
