"""`flowc bench`: how fast a model or a library runs, for batch sizes and thread counts."""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flowc.cli.parameters import (
    debug_option,
    feed_option,
    input_option,
    json_option,
    model_options,
    target_option,
)

if TYPE_CHECKING:
    import numpy as np

SCHEMA = 1
WARM_RUNS = 3
SLOWER = 1.1  # so many times the baseline is slower, which ends the command with 1

Ports = Sequence[tuple[str, Any, Sequence[Any]]]
Run = Callable[[dict[str, "np.ndarray"]], Any]


@click.command("bench")
@click.argument("model")
@click.option("--batch", "batches", default="1", show_default=True, metavar="N,...",
              help="Batch sizes: what sizes with names are, one after another.")  # fmt: skip
@click.option("--threads", default="0", show_default=True, metavar="N,...",
              help="Thread counts; 0 is one a core.")  # fmt: skip
@click.option("--seconds", default=1.0, show_default=True, type=click.FloatRange(0, 3600),
              help="How long each is measured, at least 10 runs.")  # fmt: skip
@input_option
@feed_option
@click.option("--fetch", "fetches", multiple=True, metavar="NAME", help="A result of a model.")
@target_option
@click.option("--baseline", metavar="FILE.json",
              help="What --json wrote before: figures stand beside those, and 1 is the exit code "
              "where a median is over 10 % slower.")  # fmt: skip
@click.option("--per-kernel", is_flag=True,
              help="Also say of each kernel its time, operations and bytes a second, its share of "
              "what the machine reaches at best, and its nodes.")  # fmt: skip
@model_options
@json_option
@debug_option
def bench_command(
    model: str,
    batches: str,
    threads: str,
    seconds: float,
    inputs: tuple[str, ...],
    feeds: tuple[str, ...],
    fetches: tuple[str, ...],
    target: str,
    baseline: str | None,
    per_kernel: bool,
    checkpoint: str | None,
    tags: str | None,
    signature: str | None,
    allow_links: bool,
    as_json: bool,
) -> int:
    """Measure runs of MODEL, a model or a library made by `flowc compile`, with random inputs.

    --input gives the values of some, whose sizes then hold; --feed cuts a model: what its tensors
    are computed from is not run.
    """
    from flowc.cli.arrays import parse_inputs, with_random
    from flowc.cli.kernel_table import measured_kernels
    from flowc.cli.run import is_library
    from flowc.codegen.targets import target_here
    from flowc.errors import UsageError

    known = _read_baseline(baseline)
    if per_kernel and is_library(model):
        raise UsageError(
            "a library notes no times of its kernels",
            hint="give the model that it was compiled from",
        )
    if feeds and is_library(model):
        raise UsageError("--feed is for models, and this is a library")
    if target != "native" and is_library(model):
        raise UsageError(
            "--target is for models, and a library has the one that it was compiled for",
            hint="give the model, or compile a library for that target",
        )
    target_here(target).host.check_runs_here()
    given, named = parse_inputs(inputs), (feeds, fetches, target)
    place = (checkpoint, tags, signature, allow_links)
    peaks: dict[int, Any] = {}
    rows: list[dict[str, Any]] = []
    for count in _numbers(threads, "--threads", 0):
        if is_library(model):
            run, ports = _library(model, signature, count)
        else:
            run, ports = _model(model, place, named, count)
        traced = _model(model, place, named, count, traced=True)[0] if per_kernel else None
        for batch in _numbers(batches, "--batch", 1):
            values, size, random = _values(ports, batch, given)
            with with_random(random):
                row = {"batch": size, "threads": count, **measured(run, values, size, seconds)}
            if traced is not None:
                call = partial(traced, values)
                row["per_kernel"] = measured_kernels(call, seconds, count, target, peaks)
            rows.append(row | _beside(row, known))
    found = {"schema": SCHEMA, "path": model, "runs": rows}
    if as_json:
        json.dump(found, sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(rows)))
    return int(any(row.get("ratio", 0) > SLOWER for row in rows))


def _numbers(text: str, option: str, least: int) -> list[int]:
    words = [w.strip() for w in text.split(",")]
    if not all(w.isdecimal() and int(w) >= least for w in words):
        raise click.UsageError(f"{option} {text}: expected numbers from {least} on: 1,8,32")
    return [int(w) for w in words]


def _library(path: str, signature: str | None, threads: int) -> tuple[Run, Ports]:
    import flowc_runtime

    model = flowc_runtime.load(path, signature)
    model.threads = threads
    runner = model.new_instance() if model.metadata.get("needs_instance") else model
    return runner.run, [(p.name, p.dtype, p.dims) for p in model.inputs]


def _model(
    path: str,
    place: Any,
    named: tuple[Sequence[str], Sequence[str], str],
    threads: int,
    *,
    traced: bool = False,
) -> tuple[Run, Ports]:
    from flowc.api.framework.models import compile_in_memory
    from flowc.cli.models import load_model
    from flowc.extract.feed_specs import parse_feed
    from flowc.extract.interface import choose_interface
    from flowc.options import Options

    graph = load_model(path, place)
    feeds = [parse_feed(text) for text in named[0]]
    interface = choose_interface(graph, feeds or None, named[1] or None)
    options = Options(target=named[2], traced=traced)
    program = compile_in_memory(graph, interface, options, threads or None)
    return program.run, [(p.name, p.dtype.numpy, p.dims) for p in program.ports("input")]


def _values(
    ports: Ports, batch: int, given: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], int, list[str]]:
    """Values for all inputs, random where none is given; the batch: that of the values where they
    say it; and the names of the random ones. Raises `UnknownNameError` and `UsageError`."""
    from flowc.cli.arrays import array_of, check_dims, complete
    from flowc.errors import UnknownNameError, did_you_mean

    known = {name: (dtype, dims) for name, dtype, dims in ports}
    found: dict[str, np.ndarray] = {}
    sizes: dict[str, int] = {}
    for asked, value in given.items():
        name = asked if asked in known else asked.removesuffix(":0")
        if name not in known:
            hint = did_you_mean(name, known) or f"the inputs are {', '.join(known) or 'none'}"
            raise UnknownNameError(f"no input is named {name!r}", hint=hint)
        dtype, dims = known[name]
        found[name] = array_of(name, value, dtype)
        check_dims(name, found[name], dims)
        sizes |= {str(d): s for d, s in zip(dims, found[name].shape) if not isinstance(d, int)}
    leading = (str(dims[0]) for _, _, dims in ports if dims)
    batch = next((sizes[size] for size in leading if size in sizes), batch)
    wishes = {
        name: (name, dtype, _sized(dims, batch, sizes))
        for name, (dtype, dims) in known.items()
        if name not in found
    }
    return found | complete(wishes, [], 0), batch, list(wishes)


def measured(run: Run, feeds: dict[str, np.ndarray], batch: int, seconds: float) -> dict[str, Any]:
    """Times of one run in milliseconds, runs and examples a second, and the memory of the process
    at its peak."""
    import numpy as np

    started = time.perf_counter()
    run(feeds)
    first = time.perf_counter() - started
    for _ in range(WARM_RUNS):
        run(feeds)
    times: list[float] = []
    end = time.perf_counter() + seconds
    while len(times) < 10 or time.perf_counter() < end:
        started = time.perf_counter()
        run(feeds)
        times.append(time.perf_counter() - started)
    middle, slow, slowest = (float(v) * 1e3 for v in np.percentile(times, (50, 90, 99)))
    return {
        "runs": len(times),
        "first_ms": first * 1e3,
        "p50_ms": middle,
        "p90_ms": slow,
        "p99_ms": slowest,
        "runs_per_s": len(times) / sum(times),
        "examples_per_s": batch * len(times) / sum(times),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def _sized(dims: Sequence[Any], batch: int, sizes: Mapping[str, int]) -> list[int]:
    """Dims as numbers: each size with a name is what `sizes` says, else the batch."""
    from flowc.ir.dims import Dim, evaluate, symbols_of
    from flowc.ir.text.dim_parsing import parse_dim

    found: list[int] = []
    for dim in dims:
        parsed: Dim = parse_dim(dim) if isinstance(dim, str) else dim
        known = {symbol: sizes.get(str(symbol), batch) for symbol in symbols_of(parsed)}
        found.append(evaluate(parsed, known))
    return found


def _read_baseline(path: str | None) -> dict[tuple[int, int], float]:
    """Medians by batch and threads."""
    from flowc.errors import InvalidModelError

    if path is None:
        return {}
    try:
        rows = json.loads(Path(path).read_text())["runs"]
        return {(row["batch"], row["threads"]): float(row["p50_ms"]) for row in rows}
    except (ValueError, KeyError, TypeError):
        raise InvalidModelError(f"{path}: this is not what `flowc bench --json` writes") from None


def _beside(row: dict[str, Any], known: dict[tuple[int, int], float]) -> dict[str, float]:
    before = known.get((row["batch"], row["threads"]))
    return {} if before is None else {"before_ms": before, "ratio": row["p50_ms"] / before}


def _lines(rows: Sequence[dict[str, Any]]) -> list[str]:
    from flowc.cli.kernel_table import kernel_lines

    lines = ["batch threads   p50 ms   p90 ms   p99 ms   examples/s   peak MiB"]
    for row in rows:
        times = " ".join(f"{row[f'p{p}_ms']:8.3f}" for p in (50, 90, 99))
        peak = row["peak_bytes"] / (1 << 20)
        text = f"{row['batch']:5} {row['threads'] or 'cores':>7} {times}"
        text += f" {row['examples_per_s']:12,.1f} {peak:10,.0f}"
        if "ratio" in row:
            text += f"   {row['ratio']:.2f} of {row['before_ms']:.3f} ms"
        lines.append(text)
    for row in rows:
        lines += kernel_lines(row) if "per_kernel" in row else []
    return lines
