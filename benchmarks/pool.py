"""Times the thread pool: what one fork-join costs, and what threads gain on work of several sizes.

Run: python benchmarks/pool.py [most threads]. The first table is microseconds for an empty job,
from a tight loop (workers spin) and with 1 ms between jobs (workers sleep). The second is the
speed-up over one thread for jobs of a given length.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

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

F64 = ir.DoubleType()


def caller_text(triple: str) -> str:
    """`jobs(sums, total, grain, threads, times)`: jobs where an index costs 100 dependent adds."""
    module = ir.Module("caller")
    module.triple = triple
    module.data_layout = data_layout(triple)
    args = {"sums": PTR, "dims": PTR, "begin": I64, "end": I64, "worker": I64}
    kernel = FunctionWriter(module, "kernel", VOID, args)
    sums, _, begin, end, _ = kernel.args
    total = kernel.variable(ir.Constant(F64, 0.0))
    with kernel.count(kernel.b.mul(kernel.b.sub(end, begin), i64(100))):
        total.set(kernel.b.fadd(total.get(), ir.Constant(F64, 1.5)))
    kernel.store(total.get(), sums, begin)
    kernel.give()
    args = {"sums": PTR, "total": I64, "grain": I64, "threads": I64, "times": I64}
    jobs = FunctionWriter(module, "jobs", VOID, args, linkage="")
    sums, total_, grain, threads, times = jobs.args
    kind = ir.FunctionType(VOID, [PTR, PTR, PTR, I64, I64, I64])
    parallel_for = declare(module, "flowc_parallel_for", kind)
    with jobs.count(times):
        jobs.b.call(parallel_for, [as_pointer(kernel.function), sums, sums, total_, grain, threads])
    jobs.give()
    return str(module)


def microseconds(run: Callable[[], Any], times: int = 7) -> float:
    """The median time of a run."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append((time.perf_counter() - start) * 1e6)
    return statistics.median(found)


def main(most: int) -> None:
    machine = target_named("native").processor.target_machine()
    texts = [native_module_text(machine.triple), caller_text(machine.triple)]
    module = optimized_module(texts, machine, speed=2)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *[ctypes.c_int64] * 4)
    jobs = kind(engine.get_function_address("jobs"))
    sums = (ctypes.c_double * (1 << 20))()

    widths = sorted({1, 2, *(2**k for k in range(2, 11) if 2**k <= most), most})
    print(f"{os.cpu_count()} cores; load {os.getloadavg()[0]:.1f}")
    print("fork-join of one tiny chunk per thread, microseconds")
    print("threads   back to back   1 ms apart")
    for threads in widths:
        steady = microseconds(lambda t=threads: jobs(sums, t, 1, t, 1000)) / 1000

        def apart(t: int = threads) -> None:
            jobs(sums, t, 1, t, 1)

        pauses = []
        for _ in range(50):
            time.sleep(0.001)
            pauses.append(microseconds(apart, 1))
        print(f"{threads:7}   {steady:12.2f}   {statistics.median(pauses):10.2f}")

    print("speed-up over one thread, 16 chunks per thread")
    print("job, us (1 thread)   " + "   ".join(f"{t:3} threads" for t in widths[1:]))
    for total in (64, 256, 1024, 4096, 65536):
        repeats = max(1, 200_000 // total)
        one = microseconds(lambda n=total, r=repeats: jobs(sums, n, n, 1, r)) / repeats
        gains = []
        for threads in widths[1:]:
            grain = max(1, total // (16 * threads))

            def run(n: int = total, g: int = grain, t: int = threads, r: int = repeats) -> None:
                jobs(sums, n, g, t, r)

            gains.append(one / (microseconds(run) / repeats))
        print(f"{one:18.1f}   " + "   ".join(f"{g:10.2f}x" for g in gains))
    # The workers must leave the code before the engine, which owns it, goes.
    ctypes.CFUNCTYPE(None)(engine.get_function_address("flowc_pool_stop"))()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else os.cpu_count() or 2)
