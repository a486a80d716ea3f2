"""Programs whose clusters run as device code on the host, without a driver of GPUs.

In: Computations. Out: Executables whose kernels are those of a GPU, each grid of threads run by
`flowc.codegen.cuda.simt` on the host's own memory. `running_on_device()` has every compilation in
its block make such programs; what a CudaTarget leaves on the host stays there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Literal
from unittest import mock

import numpy as np
from devices.simt_checks import AccessChecks
from llvmlite import ir

from flowc import compiler
from flowc.cache.disk import DiskCache
from flowc.cache.store import KernelCache
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.simt import ARCHITECTURE, simt_object
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.driver.frame import RunFrame
from flowc.codegen.kernels.kernel import SCRATCH, WORKSPACE, Kernel, Launch, Operand
from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.codegen.kernels.nest import LoopNest
from flowc.codegen.llvm.processor import Processor
from flowc.codegen.target import Kept
from flowc.codegen.targets import target_named
from flowc.dataclass import dataclass
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, maximum
from flowc.plan.plan import bytes_of
from flowc_runtime.native.writer import I8, I64, VOID, i64

BYTES = I8.as_pointer()
FAULT_BYTES = 32
_ENTRY = ir.FunctionType(VOID, [BYTES.as_pointer(), I64, I64, I64, I64, I64])


@dataclass(frozen=True, eq=False)
class SimtLaunch(DeviceLaunch):
    """`stride`: bytes of scratch that each thread of the grid has, in a workspace."""

    stride: Dim = 0


@dataclass(frozen=True, slots=True)
class SimtTarget:
    """A host that has the kernels of a GPU: the driver calls what runs their grids."""

    device: CudaTarget
    watch: AccessChecks | None = None

    @property
    def key(self) -> str:
        return self.device.key

    @property
    def processor(self) -> Processor:
        return self.device.processor

    @property
    def libraries(self) -> tuple[str, ...]:
        return ()

    @property
    def choices(self) -> LoopChoices:
        return self.device.choices

    @property
    def algorithms(self) -> Mapping[Node, str]:
        return self.device.algorithms

    @property
    def host(self) -> SimtTarget:
        return self

    def on_device(self, c: Computation) -> frozenset[Node]:
        """Nothing is on another machine."""
        return frozenset()

    def launches(self, node: Node) -> tuple[Launch, ...]:
        return tuple(map(_on_host, self.device.launches(node)))

    def kernel(self, nest: LoopNest) -> Kernel:
        return self.device.kernel(nest)

    def objects_of(self, kernel: Kernel, kept: Kept) -> tuple[bytes, ...]:
        if self.watch is not None and isinstance(kernel, DeviceKernel):
            return (simt_object(kernel, self.processor, self.watch),)
        return self.device.objects_of(kernel, kept)

    def kernel_text(self, kernel: Kernel, form: Literal["llvm", "asm"]) -> str:
        return self.device.kernel_text(kernel, form)

    def emit_call(self, frame: RunFrame, launch: Launch, buffers: Any, ints: Any) -> None:
        if not isinstance(launch, SimtLaunch):
            self.device.host.emit_call(frame, launch, buffers, ints)
            return
        b = frame.b
        stride, total = frame.variable(I64, "stride"), frame.variable(I64, "total")
        b.store(frame.dim(launch.stride), stride)
        b.store(frame.dim(launch.total), total)
        places = [frame.element(buffers, i) for i in range(len(launch.operands))]
        places += [frame.element(ints, i) for i in range(len(launch.ints))]
        places += [stride, total]
        places += [self._bytes(frame, launch, o) for o in launch.operands if self.watch]
        table = frame.variable(BYTES, "parameters", len(places))
        for i, place in enumerate(places):
            b.store(b.bitcast(place, BYTES), frame.element(table, i))
        entry = b.bitcast(_entry(frame, launch.kernel.key), _ENTRY.as_pointer())
        grid = [frame.dim(d) for d in launch.grid]
        b.call(entry, [table, *grid, i64(launch.block), i64(launch.shared)])

    def _bytes(self, frame: RunFrame, launch: Launch, operand: Operand) -> Any:
        """A word with the bytes of an operand of a launch."""
        size: Dim = FAULT_BYTES
        if isinstance(operand, Value):
            size = bytes_of(operand)
        elif isinstance(operand, np.ndarray):
            size = operand.nbytes
        elif operand == WORKSPACE:
            size = launch.workspace
        word = frame.variable(I64, "bytes")
        frame.b.store(frame.dim(size), word)
        return word


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


def _on_host(launch: Launch) -> Launch:
    """A launch whose threads, of which there are more than workers, have their scratch together."""
    if not isinstance(launch, DeviceLaunch):
        return launch
    given = {f.name: getattr(launch, f.name) for f in fields(DeviceLaunch)}
    if launch.scratch != 0:
        given["operands"] = tuple(
            WORKSPACE if isinstance(o, str) and o == SCRATCH else o for o in launch.operands
        )
        size = maximum(64, launch.grid[0] * launch.block * launch.scratch)
        given |= {"scratch": 0, "workspace": size}
    return SimtLaunch(**given, stride=launch.scratch)


@contextmanager
def running_on_device(*, checked: bool = False) -> Iterator[SimtTarget]:
    """What is compiled meanwhile. `checked`: with checks of each access to memory, whose reports
    are those of `simt_checks.reports`."""
    device = CudaTarget(target_named("native"), (ARCHITECTURE,))
    target = SimtTarget(device, AccessChecks() if checked else None)
    kernels = KernelCache(DiskCache(None))
    with (
        mock.patch.object(compiler, "target_named", lambda name, exact=False: target),
        mock.patch.object(compiler, "kernel_cache", lambda: kernels),
        mock.patch.object(compiler, "cache_folder", lambda: None),
    ):
        yield target
