"""The targets that have names: the one place that knows which folder implements which.

In: a name from the command line. Out: a Target. A CPU is one word; a GPU is `cuda` for the one that
is there, or `cuda:` with architectures (`sm_80`) and, if it is not this one, the CPU beside it:
`cuda:sm_80,sm_90,x86-64-v3`. With `tf32` among them products of f32 may round their factors to 10
bits of mantissa, as TensorFlow on a GPU does; without it, or where a compilation is to be `exact`,
they do not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

from flowc.codegen.cpu.target import (
    LEVELS,
    LIBRARY_LEVELS,
    CpuTarget,
    cpu_target,
    tuned_here,
    tuned_targets,
)
from flowc.codegen.target import Target
from flowc.errors import UsageError, did_you_mean

if TYPE_CHECKING:
    from flowc.codegen.kernels.kernel import Kernel
    from flowc.codegen.llvm.peaks import Peaks
    from flowc.ir.computation import Node
    from flowc.ir.host_run import StepKernel
    from flowc.ir.lowering import Lowering

CPUS = ("native", *LEVELS)
LIBRARIES = tuple(LIBRARY_LEVELS)  # the targets that the package has libraries of kernels for
GPU = "cuda"
TF32 = "tf32"
SIMT = "simt"  # device code as code of the host, for tests with a driver that runs it
NAMES = (*CPUS, GPU, f"{GPU}:sm_80,sm_90")


def step_kernel(wanted: StepKernel) -> Kernel:
    """The kernel of a CPU that a step of Python calls."""
    from flowc.codegen.cpu.kernel_inlining import kernel_source
    from flowc.codegen.kernels.kernel import Kernel

    source = kernel_source(wanted.function)
    return Kernel(source, wanted.buffers, wanted.ints, entry=wanted.function.__name__)


@cache
def target_named(name: str, exact: bool = False) -> Target:
    """The target of a name; `exact` as in `Options`. Raises `UsageError` for an unknown one, and
    `UnavailableError` for `cuda` where there is no GPU."""
    if name in CPUS:
        return cpu_target(name, exact)
    kind, _, parts = name.partition(":")
    if kind != GPU:
        hint = did_you_mean(name, NAMES) or f"one of {', '.join(NAMES)}"
        raise UsageError(f"unknown target {name!r}", hint=hint)
    return _gpu(name, [p for p in parts.split(",") if p], exact)


@cache
def target_here(name: str, exact: bool = False) -> Target:
    """As `target_named`, for what this process runs itself: a level is tuned for its processor."""
    return tuned_here(cpu_target(name, exact)) if name in CPUS else target_named(name, exact)


def library_targets(name: str) -> Mapping[str, Target]:
    """The target of a library, as LLVM would tune it for one processor and for another, by the
    names of the libraries of what is not the same for both."""
    return tuned_targets(name)


def epilogue_forms(node: Node, target: Target) -> list[Kernel]:
    """The kernels of what follows the product of a cluster, in each form that a CPU has them in;
    none of other clusters, and of other targets."""
    if not isinstance(target, CpuTarget) or node.attrs["kind"] not in ("matmul", "convolution"):
        return []
    from flowc.codegen.cpu.contractions.cluster import epilogue_forms

    return epilogue_forms(node, target)


def processor_peaks(threads: int, name: str) -> Peaks:
    """What so many threads of this process's CPU reach at best with the vectors of a target."""
    host = target_here(name).host
    assert isinstance(host, CpuTarget)
    return host.peaks(threads)


def gpu_reason(node: Node, lowering: Lowering) -> str | None:
    """Why no GPU can compute a node in this way, whatever its sizes; None where one can."""
    from flowc.codegen.cuda.native import process_reason

    return process_reason(node, lowering)


def _gpu(name: str, parts: list[str], exact: bool) -> Target:
    from flowc.codegen.cuda.images import ARCHITECTURES
    from flowc.codegen.cuda.present import HOST_CODE, present_architecture
    from flowc.codegen.cuda.target import CudaTarget

    levels = [p for p in parts if p in CPUS]
    known = {f"sm_{a}": a for a in ARCHITECTURES} | {SIMT: HOST_CODE}
    wrong = [p for p in parts if p not in CPUS and p not in known and p != TF32]
    if wrong or len(levels) > 1:
        near = did_you_mean(wrong[0], [*known, *CPUS]) if wrong else None
        hint = near or f"architectures ({', '.join(known)}) and at most one CPU"
        raise UsageError(f"unknown target {name!r}", hint=hint)
    found = sorted({known[p] for p in parts if p in known})
    host = cpu_target(levels[0] if levels else "native", exact)
    there = tuple(found) or (present_architecture(ARCHITECTURES),)
    return CudaTarget(host, there, tf32=TF32 in parts and not exact)
