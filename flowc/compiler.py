"""The spine: a Computation through the passes, the plan and code generation.

In: a Computation as extracted from a Graph. Out: a CompiledProgram. Session and AOT both call it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from flowc.cache import KernelCache, kernel_cache
from flowc.codegen.compiled import CompiledProgram
from flowc.codegen.program import Stages, compile_program
from flowc.codegen.target import Target, target_named
from flowc.ir.computation import Computation
from flowc.ir.options import Options
from flowc.passes.pipeline import Watcher, run_passes


@dataclass(slots=True)
class Report:
    """What a compilation did: seconds a stage, counts, and what `--emit` shows."""

    nodes_in: int = 0
    clusters: int = 0
    fused: Computation | None = None
    stages: Stages = field(default_factory=Stages)

    @property
    def seconds(self) -> dict[str, float]:
        return self.stages.seconds


def compile_computation(
    c: Computation,
    options: Options,
    names: tuple[Sequence[str], Sequence[str]],
    *,
    report: Report | None = None,
    watch: Watcher | None = None,
    kernels: KernelCache | None = None,
) -> CompiledProgram:
    """Machine code for a Computation. `names`: of the inputs and outputs, for messages and headers.

    Raises `UnsupportedError`, `ShapeError` and other user errors with the node at fault.
    """
    report = report if report is not None else Report()
    target: Target = target_named(options.target)
    store = kernels if kernels is not None else kernel_cache()
    clock = time.perf_counter()
    report.nodes_in = len(c.nodes)
    fused = run_passes(c, options, watch)
    report.fused = fused
    report.clusters = sum(n.op.name == "cluster" for n in fused.nodes)
    report.seconds["passes"] = time.perf_counter() - clock
    return compile_program(
        fused, target, lambda k: store.object_of(k, target), names, report.stages
    )
