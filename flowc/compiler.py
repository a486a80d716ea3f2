"""The spine: a Computation through the passes, the plan and code generation.

In: a Computation as extracted from a Graph. Out: a CompiledProgram. Session and AOT both call it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.cache.store import KernelCache, kernel_cache
from flowc.codegen.compiled import CompiledProgram, StateVariable
from flowc.codegen.program import Stages, compile_program
from flowc.codegen.target import Target, target_named
from flowc.errors import UnsupportedError
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation
from flowc.ir.lowering import Host
from flowc.options import Options
from flowc.passes.pipeline import Watcher, run_passes

if TYPE_CHECKING:
    from flowc.extract.program import ExtractedProgram


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
    variables: Sequence[StateVariable] = (),
    state: Sequence[tuple[int, int]] = (),
    for_library: bool = False,
) -> CompiledProgram:
    """Machine code for a Computation. `names`: of the inputs and outputs, for messages and headers;
    `variables`: those among them that a library keeps; `state`: inputs that may be overwritten, and
    the outputs that replace them; `for_library`: without Python there are no host steps.

    Raises `UnsupportedError`, `ShapeError` and other user errors with the node at fault.
    """
    report = report if report is not None else Report()
    target: Target = target_named(options.target)
    store = kernels if kernels is not None else kernel_cache()
    clock = time.perf_counter()
    report.nodes_in = len(c.nodes)
    fused = run_passes(c, options, watch)
    if for_library:
        _refuse_host_steps(fused)
    report.fused = fused
    report.clusters = sum(n.op.name == "cluster" for n in fused.nodes)
    report.seconds["passes"] = time.perf_counter() - clock
    return compile_program(
        fused,
        target,
        lambda k: store.object_of(k, target),
        names,
        report.stages,
        variables,
        state,
    )


def compile_for_library(
    extracted: ExtractedProgram,
    initial: Mapping[str, np.ndarray],
    options: Options,
    names: tuple[Sequence[str], Sequence[str]],
    **more: Any,
) -> CompiledProgram:
    """Machine code for a program whose variables live in instances. `initial`: their first values;
    `names`: of feeds and fetches; `more`: as for `compile_computation`.

    Raises `UnsupportedError` for a variable whose shape differs from run to run.
    """
    reads, writes = extracted.reads, extracted.writes
    every = ([*names[0], *reads], [*names[1], *writes])
    variables = state_variables(extracted, initial)
    return compile_computation(
        extracted.computation,
        options,
        every,
        variables=variables,
        state=extracted.state,
        for_library=True,
        **more,
    )


def _refuse_host_steps(c: Computation) -> None:
    """A library runs where there is no Python, which is also what keeps strings."""
    found: dict[str, list[str]] = {}
    stack = [c]
    while stack:
        for node in stack.pop().nodes:
            if isinstance(node.lowering, Host):
                found.setdefault(node.lowering.shown, []).append(node.name)
            elif any(v.type.dtype is dtypes.string for v in node.outputs):
                found.setdefault("values that are strings", []).append(node.name)
            if node.op.name != "cluster":
                stack += bodies_of(node).values()
    if found:
        lines = [f"  {op} ({len(names)}): {', '.join(names[:3])}" for op, names in found.items()]
        raise UnsupportedError(
            "a library cannot call Python, which computes these nodes:\n" + "\n".join(lines),
            node=next(iter(found.values()))[0],
            hint="run the model in a Session, fetch tensors that do not need these nodes, or feed "
            "the tensors that they compute",
            problems=[(op, len(names), tuple(names)) for op, names in found.items()],
        )


def state_variables(
    extracted: ExtractedProgram, initial: Mapping[str, np.ndarray]
) -> tuple[StateVariable, ...]:
    """The variables that a program reads or writes."""
    c, reads, writes = extracted.computation, extracted.reads, extracted.writes
    first_read, first_write = len(c.parameters) - len(reads), len(c.results) - len(writes)
    found = []
    for name in dict.fromkeys((*reads, *writes)):
        read = first_read + reads.index(name) if name in reads else None
        write = first_write + writes.index(name) if name in writes else None
        types = [c.parameters[read].output.type] if read is not None else []
        types += [c.results[write].type] if write is not None else []
        if not types[0].is_static or types[0] != types[-1]:
            raise UnsupportedError(
                f"variable '{name}' changes its shape ({' -> '.join(map(str, types))}), and a "
                "library's variables keep theirs",
                node=name,
                hint="give the feeds fixed sizes, or run the model in a Session",
            )
        value = extracted.starts[name] if name in extracted.starts else initial.get(name)
        if value is not None and value.shape != types[0].static_dims:
            value = None  # what was saved does not fit what is assigned: there is nothing to read
        found.append(StateVariable(name, read, write, value, name in extracted.starts))
    return tuple(found)
