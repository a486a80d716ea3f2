"""What a processor reaches at best: multiply-adds in registers, and reading memory.

In: a processor with its vectors, and how many threads. Out: operations and bytes a second, measured
in some tenths of a second. Invariant: both loops do nothing else, so that no kernel is faster,
other than one whose operands a cache holds.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np

from flowc.codegen.link.jit import open_functions
from flowc.codegen.llvm.compile import compile_module
from flowc.codegen.llvm.processor import Processor
from flowc.dataclass import dataclass

CHAINS = 12  # independent sums: more than latency x units needs, fewer than the registers
ROUNDS = 500_000
READ_BYTES = 64 << 20  # more than caches hold
READINGS = 7
_CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)


@dataclass(frozen=True, slots=True)
class Peaks:
    """What all threads reach together: operations (a multiply-add is two) and bytes a second."""

    operations: float
    bytes: float

    def seconds(self, operations: float, moved: float) -> float:
        """The least that takes."""
        return max(operations / self.operations, moved / self.bytes)


def measured_peaks(processor: Processor, lanes: int, fma: bool, threads: int) -> Peaks:
    """For f32, of which a vector has so many."""
    text = _loop_text("multiply_adds", lanes, reads=False, fma=fma)
    text += _loop_text("read", lanes, reads=True, fma=fma)
    if fma:
        vector = f"<{lanes} x float>"
        text += f"declare {vector} @llvm.fma.v{lanes}f32({vector}, {vector}, {vector})\n"
    code = compile_module([text], processor, speed=2)
    _engine, (multiply_adds, read) = open_functions([code], ("multiply_adds", "read"))
    spaces = [np.ones(READ_BYTES, np.uint8) for _ in range(threads)]
    count = READ_BYTES // (CHAINS * lanes * 4)
    operations = 2 * CHAINS * lanes * ROUNDS * threads
    moved = CHAINS * lanes * 4 * count * threads
    return Peaks(
        operations / _least_seconds(_CALL(multiply_adds), spaces, ROUNDS),
        moved / _least_seconds(_CALL(read), spaces, count),
    )


def _least_seconds(call: Callable[[int, int], None], spaces: list[np.ndarray], count: int) -> float:
    """From when all threads begin to when the last has ended."""
    barrier = Barrier(len(spaces))

    def timed(space: np.ndarray) -> tuple[float, float]:
        barrier.wait()
        start = time.perf_counter()
        call(space.ctypes.data, count)
        return start, time.perf_counter()

    found: list[float] = []
    with ThreadPoolExecutor(len(spaces)) as pool:
        for _ in range(READINGS):
            starts, ends = zip(*pool.map(timed, spaces))
            found.append(max(ends) - min(starts))
    return min(found)


def _loop_text(name: str, lanes: int, *, reads: bool, fma: bool) -> str:
    """LLVM IR of a loop that advances CHAINS independent sums of vectors. The function takes an
    address and the number of iterations. `reads`: every addition loads its operand from memory;
    otherwise the operand stays in a register."""
    vector = f"<{lanes} x float>"
    lines = [f"define void @{name}(ptr %p, i64 %count) {{", "entry:"]
    lines += [f"  %factor = load {vector}, ptr %p, align 4", "  br label %loop", "loop:"]
    lines.append("  %i = phi i64 [0, %entry], [%next, %loop]")
    for k in range(CHAINS):
        lines.append(f"  %sum{k} = phi {vector} [zeroinitializer, %entry], [%new{k}, %loop]")
    for k in range(CHAINS):
        if reads:
            lines.append(f"  %at{k} = mul i64 %i, {CHAINS}")
            lines.append(f"  %place{k} = add i64 %at{k}, {k}")
            lines.append(f"  %from{k} = getelementptr {vector}, ptr %p, i64 %place{k}")
            lines.append(f"  %x{k} = load {vector}, ptr %from{k}, align 4")
            lines.append(f"  %new{k} = fadd {vector} %sum{k}, %x{k}")
        elif fma:
            operands = f"{vector} %factor, {vector} %factor, {vector} %sum{k}"
            lines.append(f"  %new{k} = call {vector} @llvm.fma.v{lanes}f32({operands})")
        else:
            lines.append(f"  %product{k} = fmul {vector} %factor, %sum{k}")
            lines.append(f"  %new{k} = fadd {vector} %product{k}, %factor")
    lines += ["  %next = add i64 %i, 1", "  %more = icmp slt i64 %next, %count"]
    lines += ["  br i1 %more, label %loop, label %done", "done:"]
    for k in range(CHAINS):
        lines.append(f"  %to{k} = getelementptr {vector}, ptr %p, i64 {k}")
        lines.append(f"  store {vector} %new{k}, ptr %to{k}, align 4")
    return "\n".join([*lines, "  ret void", "}", ""])
