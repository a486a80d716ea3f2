"""GPUs as a target: which clusters run there, who makes their kernels and compiles them.

In: the target of a CPU, which runs the driver and what stays on the host, and architectures. Out: a
CudaTarget. Kernels of the host and of the device are told apart by their class.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from flowc import dtypes
from flowc.codegen.cuda.images import device_text, gpu, image_object
from flowc.codegen.cuda.kernel import DeviceKernel, device_launch
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.loop_choices import DEVICE_CHOICES
from flowc.codegen.cuda.placement import on_device
from flowc.codegen.cuda.ptxas import find_ptxas, ptxas_version
from flowc.codegen.cuda.simt import ARCHITECTURE as SIMT
from flowc.codegen.cuda.simt import simt_object
from flowc.codegen.kernels.loop_choices import LoopChoices
from flowc.codegen.llvm.processor import Processor
from flowc.dataclass import dataclass
from flowc.errors import UsageError
from flowc.ir.core_ops import devices_of

if TYPE_CHECKING:
    from flowc.codegen.driver.frame import RunFrame
    from flowc.codegen.kernels.kernel import Kernel, Launch
    from flowc.codegen.kernels.nest import LoopNest
    from flowc.codegen.target import Kept, Target
    from flowc.ir.computation import Computation, Node


@dataclass(frozen=True, slots=True)
class CudaTarget:
    """`host`: the CPU beside the GPU. `architectures`: the numbers of those that there is machine
    code for; later ones run the PTX of the lowest. (-1,): the host acts as the GPU (`simt.py`).
    `tf32`: products of f32 may round their factors to 10 bits of mantissa, as tensor cores do."""

    host: Target
    architectures: tuple[int, ...]
    tf32: bool = False

    @property
    def key(self) -> str:
        ptxas = find_ptxas()
        version = ptxas_version(ptxas) if ptxas else "none"
        if SIMT in self.architectures:
            return f"{self.host.key}/simt{'/tf32' * self.tf32}"
        names = [f"{p.cpu}{p.features}" for p in map(gpu, self.architectures)]
        rounding = "/tf32" * self.tf32
        return f"{self.host.key}/cuda/{','.join(names)}{rounding}/ptxas {version}"

    @property
    def processor(self) -> Processor:
        return self.host.processor

    @property
    def libraries(self) -> tuple[str, ...]:
        return ()

    @property
    def choices(self) -> LoopChoices:
        return DEVICE_CHOICES

    def host_reason(self, node: Node) -> str | None:
        """Why a cluster stays on the host; None where it runs on the GPU."""
        from flowc.codegen.cuda.contractions import contraction_host_reason
        from flowc.codegen.cuda.native import native_host_reason

        if "on_cpu" in devices_of(node):
            return "the program has it on the CPU"
        values = (*node.inputs, *node.outputs)
        if any(v.type.dtype is dtypes.string for v in values):
            return "strings are on the host"
        match node.attrs["kind"]:
            case "loop":
                return None
            case "native":
                return native_host_reason(node)
            case "scalar":
                return "a loop over scalars is work for one thread"
            case "matmul" | "convolution":
                return contraction_host_reason(node)
            case kind:
                return f"no kernel of a GPU for a cluster of kind {kind}"

    def on_device(self, c: Computation) -> frozenset[Node]:
        return on_device(c, self)

    def algorithms_of(self, node: Node) -> tuple[str, ...]:
        return ()

    @property
    def algorithms(self) -> Mapping[Node, str]:
        return {}

    def with_algorithms(self, chosen: Mapping[Node, str]) -> CudaTarget:
        return self

    def check_runs_here(self) -> None:
        raise UsageError("what runs on GPUs is not tuned", hint="compile without tuning")

    def launches(self, node: Node) -> tuple[Launch, ...]:
        from flowc.codegen.cuda.contractions import contraction_launches
        from flowc.codegen.cuda.native import thread_launch
        from flowc.codegen.kernels.loops import loop_launch
        from flowc.codegen.kernels.split_folds import split_launches

        if self.host_reason(node) is not None:
            return self.host.launches(node)
        if node.attrs["kind"] in ("matmul", "convolution"):
            return contraction_launches(node, self)
        if node.attrs["kind"] == "native":
            return (device_launch(thread_launch(node)),)
        return tuple(map(device_launch, split_launches(node, self) or [loop_launch(node, self)]))

    def kernel(self, nest: LoopNest) -> Kernel:
        """What one thread does; `launches` makes kernels of the device of it."""
        return self.host.kernel(nest)

    def objects_of(self, kernel: Kernel, kept: Kept) -> tuple[bytes, ...]:
        if isinstance(kernel, DeviceKernel) and SIMT in self.architectures:
            return (simt_object(kernel, self.processor),)
        if isinstance(kernel, DeviceKernel):
            return (image_object(kernel, self.architectures, find_ptxas(), self.processor),)
        return self.host.objects_of(kernel, kept)

    def kernel_text(self, kernel: Kernel, form: Literal["llvm", "asm"]) -> str:
        if isinstance(kernel, DeviceKernel):
            return device_text(kernel, min(self.architectures), form)
        return self.host.kernel_text(kernel, form)

    def emit_call(self, frame: RunFrame, launch: Launch, buffers: Any, ints: Any) -> None:
        from flowc.codegen.cuda.call import emit_call

        if isinstance(launch, DeviceLaunch):
            emit_call(frame, launch, buffers, ints)
        else:
            self.host.emit_call(frame, launch, buffers, ints)
