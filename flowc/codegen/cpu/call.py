"""Calls of a CPU's kernels from the driver: by the run's own thread, or by all workers of the pool.

In: a launch, whose operands and ints are in tables. Out: LLVM IR in the frame of the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.driver.launch import KERNEL_TYPE
from flowc.codegen.driver.sizes import BYTES
from flowc.codegen.kernels.kernel import Launch
from flowc_runtime.native.writer import I64, VOID, declare, i64


def emit_call(frame: RunFrame, launch: Launch, buffers: Any, ints: Any) -> None:
    """One call where one worker has enough to do, which the run may find out."""
    b = frame.b
    kernel = declare(frame.module, launch.kernel.key, KERNEL_TYPE)
    # How the range is shared changes no result.
    total, grain = frame.dim(launch.total), frame.wrapping(launch.grain)
    alone = [buffers, ints, i64(0), total, i64(0)]
    shared = [b.bitcast(kernel, BYTES), buffers, ints, total, grain, frame.threads]
    if launch.chunks == 1:
        b.call(kernel, alone)
        return
    if launch.chunks is not None or not frame.loops:
        _share(frame, shared, launch.worth)
        return
    with b.if_else(b.icmp_signed("<=", total, grain)) as (small, large):
        with small:
            b.call(kernel, alone)
        with large:
            _share(frame, shared, launch.worth)


def _share(frame: RunFrame, arguments: Sequence[ir.Value], chunks: int | None) -> None:
    kinds = [BYTES, BYTES.as_pointer(), I64.as_pointer(), I64, I64, I64]
    frame.b.call(frame.declare("flowc_parallel_for", VOID, kinds), arguments)
    frame.poll_after(chunks)
