"""What runs on a GPU of a program: the launches of its clusters.

In: cases of ops. Out: Computations after all passes, and their DeviceLaunches.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from calls.op_examples import Case
from op_cases import placed, plain_cases

from flowc.codegen.cuda.images import device_text
from flowc.codegen.cuda.kernel import DeviceKernel
from flowc.codegen.cuda.launch import DeviceLaunch
from flowc.codegen.cuda.ptxas import Cubin, UnknownArchitectureError, assemble, find_ptxas
from flowc.codegen.cuda.target import CudaTarget
from flowc.codegen.targets import target_named
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.op import op_named
from flowc.options import Options
from flowc.passes.pipeline import run_passes


def cuda_target(*architectures: int) -> CudaTarget:
    """A GPU beside a CPU that every machine has."""
    return CudaTarget(target_named("x86-64-v3"), architectures)


def assembled(kernel: DeviceKernel, architecture: int) -> Cubin:
    """Machine code; the test is left out where no assembler here knows the architecture."""
    ptxas = find_ptxas()
    if ptxas is None:
        pytest.skip("there is no ptxas")
    try:
        return assemble(ptxas, device_text(kernel, architecture, "asm"), architecture)
    except UnknownArchitectureError as error:
        pytest.skip(str(error))


def example(name: str, number: int = 0) -> Case:
    """An example of an op."""
    return plain_cases(op_named(name))[number]


def fused(case: Case) -> Computation:
    b, feeds = Builder(), dict[Value, np.ndarray]()
    return run_passes(b.build(placed(b, case, feeds).outputs), Options())


def device_launches(c: Computation, target: CudaTarget) -> Iterator[DeviceLaunch]:
    for node in c.nodes:
        if node.op.name == "cluster" and target.host_reason(node) is None:
            for launch in target.launches(node):
                assert isinstance(launch, DeviceLaunch)
                yield launch
