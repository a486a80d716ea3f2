"""Calls of a GPU's kernels from the driver.

In: a launch, whose operands and ints stand in one table, one word each. Out: LLVM IR in the frame
of the run. Invariant: what a kernel takes are the words of that table and the total behind them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.driver.sizes import BYTES
from flowc.errors import InternalError
from flowc_runtime.native.writer import I8, I64, i64


def emit_call(frame: RunFrame, launch: DeviceLaunch, buffers: Any, ints: Any) -> None:
    """Has the GPU run the grid behind all that it was asked before."""
    b, module, key = frame.b, frame.module, launch.kernel.key
    if frame.device is None:
        raise InternalError(f"a launch on a GPU in a plan without one: {key}")
    count = len(launch.ints) + 1
    b.store(frame.dim(launch.total), frame.element(ints, count))
    handle = _global(module, f"{key}_handle", I64, ir.Constant(I64, 0))
    images = _global(module, key, ir.ArrayType(I64, 0), None)
    text = bytearray(key.encode() + b"\0")
    kind = ir.ArrayType(I8, len(text))
    name = _global(module, f"{key}_name", kind, ir.Constant(kind, text))
    grid = [frame.dim(d) for d in launch.grid]
    words = len(launch.operands) + count + 1
    frame.device.check(
        "launch",
        b.bitcast(handle, BYTES),
        b.bitcast(images, BYTES),
        b.bitcast(name, BYTES),
        *grid,
        i64(launch.block),
        i64(launch.shared),
        b.bitcast(buffers, BYTES),
        i64(8 * words),
    )


def _global(module: ir.Module, name: str, kind: ir.Type, start: ir.Constant | None) -> Any:
    """A word or table of the driver's module; without a first value it is another object's."""
    found: Any = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, kind, name)
        if start is not None:
            found.initializer, found.linkage = start, "internal"
    return found
