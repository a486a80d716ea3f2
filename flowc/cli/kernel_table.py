"""`flowc bench --per-kernel`: each kernel of a run beside what the machine reaches.

In: a traced program as a function, its feeds, the number of threads. Out: plain data for JSON, and
lines for people. Invariant: shares of all rows and of what is left add up to the run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flowc.codegen.llvm.peaks import Peaks
    from flowc.run.kernel_times import KernelTime, RunTimes

NODES_SHOWN = 1
LEAST_RUNS = 10


def measured_kernels(
    run: Callable[[], Any], seconds: float, threads: int, target: str, peaks: dict[int, Peaks]
) -> dict[str, Any]:
    """`peaks`: those of the target that were measured before, by threads."""
    from flowc.codegen.targets import processor_peaks
    from flowc.files.process import usable_cores

    count = threads or usable_cores()
    if count not in peaks:
        peaks[count] = processor_peaks(count, target)
    return _as_data(_timed(run, seconds), peaks[count])


def _timed(run: Callable[[], Any], seconds: float) -> RunTimes:
    from flowc.run.host_steps import traced_by
    from flowc.run.kernel_times import WholeRun, times_of
    from flowc.run.traces import Trace

    runs: list[WholeRun] = []
    end = time.perf_counter() + seconds
    run()
    while len(runs) < LEAST_RUNS or time.perf_counter() < end:
        trace = Trace()
        start = time.time_ns()  # the clock of the notes
        traced_by(trace, run)
        runs.append(WholeRun(start, time.time_ns(), trace))
    return times_of(runs)


def _as_data(times: RunTimes, peaks: Peaks) -> dict[str, Any]:
    return {
        "run_ms": times.seconds * 1e3,
        "whole": times.is_whole,
        "peak_gflops": peaks.operations / 1e9,
        "peak_gb_per_s": peaks.bytes / 1e9,
        "before_ms": times.before * 1e3,
        "between_ms": times.between * 1e3,
        "after_ms": times.after * 1e3,
        "kernels": [_kernel_data(k, times.seconds, peaks) for k in times.kernels],
    }


def _kernel_data(kernel: KernelTime, whole: float, peaks: Peaks) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kernel": "+".join(kernel.step.kernels),
        "ms": kernel.seconds * 1e3,
        "share": kernel.seconds / whole,
        "times": kernel.times,
        "nodes": list(kernel.step.nodes),
    }
    seconds = max(kernel.seconds, 1e-9)
    if kernel.operations:
        found["gflops"] = kernel.operations / seconds / 1e9
    if kernel.bytes:
        found["gb_per_s"] = kernel.bytes / seconds / 1e9
    if kernel.operations is not None and kernel.bytes:
        found["roofline"] = peaks.seconds(kernel.operations, kernel.bytes) / seconds
    return found


def kernel_lines(row: Mapping[str, Any]) -> list[str]:
    """The table of what `measured_kernels` found."""
    found = row["per_kernel"]
    whole = found["run_ms"]
    lines = [
        "",
        f"batch {row['batch']}, threads {row['threads'] or 'cores'}: a traced run of {whole:.3f} ms"
        f"{'' if found['whole'] else ', of which only the first part is noted'}. The machine: "
        f"{found['peak_gflops']:.0f} GFLOP/s, reads {found['peak_gb_per_s']:.1f} GB/s",
        "      ms  share  GFLOP/s    GB/s  roofline  times  kernel           nodes",
    ]
    for k in found["kernels"]:
        numbers = (_cell(k.get(key), width) for key, width in (("gflops", 8), ("gb_per_s", 7)))
        roofline = f"{k['roofline']:9.0%}" if "roofline" in k else " " * 9
        text = f"{k['ms']:8.3f} {k['share']:6.1%} {' '.join(numbers)} {roofline} {k['times']:6}"
        lines.append(f"{text}  {k['kernel']:16} {_nodes(k['nodes'])}")
    for key, text in (
        ("before", "before the first kernel: arguments, checks, memory"),
        ("between", "between kernels"),
        ("after", "after the last: memory, results"),
    ):
        ms = found[f"{key}_ms"]
        lines.append(f"{ms:8.3f} {ms / whole:6.1%} {' ' * 34} {text}")
    return lines


def _cell(value: float | None, width: int) -> str:
    return " " * width if value is None else f"{value:{width}.1f}"


def _nodes(names: Sequence[str]) -> str:
    """The last ones, whose results the kernel gives."""
    shown = ", ".join(names[-NODES_SHOWN:])
    more = len(names) - NODES_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
