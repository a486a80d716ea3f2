"""Programs whose clusters run as device code on the host, without a driver of GPUs.

In: Computations. Out: Executables whose kernels are those of a GPU, each grid of threads run by
`flowc.codegen.cuda.simt` on the host's own memory. `running_on_device()` has every compilation in
its block make such programs; what a CudaTarget leaves on the host stays there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from llvmlite import ir

from flowc import compiler
from flowc.cache.disk import DiskCache
from flowc.cache.store import KernelCache
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.kernels.kernel import SCRATCH, WORKSPACE, Launch
from flowc.codegen.targets import target_named
from flowc.ir.computation import Node
from flowc.ir.dims import maximum
from flowc_runtime.native.writer import I8, I64, VOID, i64

BYTES = I8.as_pointer()
_ENTRY = ir.FunctionType(VOID, [BYTES.as_pointer(), I64, I64, I64, I64, I64])


@dataclass(frozen=True, slots=True)
class SimtTarget(CudaTarget):
    """The grid of every launch on the device is run by a call from the driver."""

    def launches(self, node: Node) -> tuple[Launch, ...]:
        return tuple(map(_with_scratch, CudaTarget.launches(self, node)))

    def emit_call(self, frame: RunFrame, launch: Launch, buffers: Any, ints: Any) -> None:
        if not isinstance(launch, DeviceLaunch):
            self.host.emit_call(frame, launch, buffers, ints)
            return
        b = frame.b
        numbers = len(launch.ints) + 1
        total = frame.variable(I64, "total")
        b.store(frame.dim(launch.total), total)
        places = [frame.element(buffers, i) for i in range(len(launch.operands))]
        places += [*(frame.element(ints, i) for i in range(numbers)), total]
        table = frame.variable(BYTES, "parameters", len(places))
        for i, place in enumerate(places):
            b.store(b.bitcast(place, BYTES), frame.element(table, i))
        entry = b.bitcast(_entry(frame, launch.kernel.key), _ENTRY.as_pointer())
        grid = [frame.dim(d) for d in launch.grid]
        b.call(entry, [table, *grid, i64(launch.block), i64(launch.shared)])


def _entry(frame: RunFrame, key: str) -> Any:
    """What the only image of a kernel names."""
    b, module = frame.b, frame.module
    image = ir.LiteralStructType([I64, BYTES])
    kind = ir.LiteralStructType([I64, I64, I64, image.as_pointer()])
    known = module.globals.get(key)
    if known is None:
        known = ir.GlobalVariable(module, kind, key)
        known.linkage = "external"
    zero, word = ir.Constant(ir.IntType(32), 0), ir.IntType(32)
    found = b.load(b.gep(known, [zero, word(3)]))
    return b.load(b.gep(found, [zero, word(1)]))


def _with_scratch(launch: Launch) -> Launch:
    """Every thread of the grid has scratch, which are more than the workers of a CPU."""
    if not isinstance(launch, DeviceLaunch) or launch.scratch == 0:
        return launch
    assert launch.workspace == 0
    operands = tuple(
        WORKSPACE if isinstance(o, str) and o == SCRATCH else o for o in launch.operands
    )
    each = (launch.scratch + 63) // 64 * 64
    bytes_of_grid = maximum(64, launch.grid[0] * launch.block * each)
    return replace(launch, operands=operands, workspace=bytes_of_grid)


@contextmanager
def running_on_device() -> Iterator[SimtTarget]:
    """What is compiled meanwhile."""
    target = SimtTarget(target_named("native"), (-1,))
    kernels = KernelCache(DiskCache(None))
    with (
        mock.patch.object(compiler, "target_named", lambda name: target),
        mock.patch.object(compiler, "kernel_cache", lambda: kernels),
        mock.patch.object(compiler, "cache_folder", lambda: None),
    ):
        yield target
