"""Runs models on the GPU of this machine, beside TensorFlow's recorded results and the CPU.

    python run_models.py FOLDER [names] [--batch N]

In: a folder of model folders (`benchmarks/models.py`), whose `ref_case0.npz` has feeds and what
TensorFlow gave for them. Out: a line a model: the largest difference from TensorFlow's results
relative to their largest element, of the CPU, of five runs of a Session on the GPU (the worst), of
a library for the GPU; seconds to the first result; milliseconds of a run, the median: CPU, Session
on the GPU, that with feeds and results on the GPU, library. `--batch`: feeds are repeated so often
along their first axis, where that is 1 and the model lets it; then nothing is compared with
TensorFlow but with the CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from models import model_file

from flowc.api.framework.models import compile as compile_model
from flowc.importer import load_graph
from flowc.run.device_buffers import DeviceArray
from flowc.run.session import Session

RUNS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="for each time (default 0.5)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'':<28}   error of CPU, Session, library   first (s)   CPU Session there library (ms)")
    for folder in sorted(x.parent for x in options.folder.glob("*/ref_case0.npz")):
        if not options.names or folder.name in options.names:
            try:
                print(f"{folder.name:<28}{measured(folder, options)}", flush=True)
            except Exception as error:
                text = str(error).replace("\n", " ")[:300]
                print(f"{folder.name:<28}   FAILED: {type(error).__name__}: {text}", flush=True)
            gc.collect()


def measured(folder: Path, options: argparse.Namespace) -> str:
    data = np.load(folder / "ref_case0.npz", allow_pickle=True)
    names = json.loads(str(data["names"]))
    feeds = {name: data[f"in_{i}"] for i, name in enumerate(names["feeds"])}
    wanted = [data[f"out_{i}"] for i in range(len(names["fetches"]))]
    batch, median = options.batch, partial(median_time, seconds=options.seconds)
    if batch > 1:
        feeds = {n: np.repeat(a, batch, 0) if a.shape[:1] == (1,) else a for n, a in feeds.items()}
    graph, fetches = load_graph(model_file(folder)), names["fetches"]
    with Session(graph=graph) as session:
        run = lambda: session.run(fetches, feeds)
        found = run()
        wanted = found if batch > 1 else wanted
        errors, times = [difference(found, wanted)], [median(run)]
    begin = time.perf_counter()
    with Session(graph=graph, device="cuda") as session:
        run = lambda: session.run(fetches, feeds)
        errors.append(difference(run(), wanted))
        first = time.perf_counter() - begin
        errors[-1] = max(errors[-1], *(difference(run(), wanted) for _ in range(RUNS - 1)))
        times += [median(run), median(staying(session, fetches, feeds))]
    with tempfile.TemporaryDirectory() as place:
        run = in_library(graph, fetches, feeds, Path(place, "model.so"))
        errors.append(max(difference(run(), wanted) for _ in range(RUNS)))
        times.append(median(run))
    shown = "".join(f"{e:>10.1e}" for e in errors)
    return f"{shown}{first:>10.1f}  " + "".join(f"{1e3 * t:>9.3f}" for t in times)


def staying(session: Session, fetches: list[str], feeds: dict[str, Any]) -> Callable[[], Any]:
    """A run whose feeds and results are on the GPU."""
    run = session.make_callable(fetches, list(feeds), on_device=True)
    there = [a if a.dtype.kind == "O" else DeviceArray.of(a) for a in feeds.values()]
    return lambda: run(*there)


def in_library(
    graph: Any, fetches: list[str], feeds: dict[str, Any], path: Path
) -> Callable[[], list[Any]]:
    """A run of a library for the GPU."""
    shapes = {graph.as_graph_element(name): a.shape for name, a in feeds.items()}
    model = compile_model(graph, shapes, fetches, path, target="cuda")
    order = [*feeds.values()]

    def run() -> list[Any]:
        found = model(*order)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    return run


def difference(found: Any, wanted: Any) -> float:
    """The largest, relative to the largest element."""
    worst = 0.0
    for a, b in zip(found, wanted, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        if a.shape != b.shape:
            return float("inf")
        if b.dtype.kind in "OSU":
            worst = max(worst, float(not np.array_equal(a, b)))
        elif b.size:
            a, b = a.astype(np.float64), b.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            apart = np.abs(np.where(same, 0, a - b)).max()
            scale = np.abs(b[np.isfinite(b)]).max(initial=0)
            worst = max(worst, float(np.nan_to_num(apart / max(scale, 1e-30), nan=np.inf)))
    return worst


def median_time(run: Callable[[], Any], seconds: float) -> float:
    taken = list[float]()
    run()
    end = time.perf_counter() + seconds
    while len(taken) < 5 or (time.perf_counter() < end and len(taken) < 200):
        begin = time.perf_counter()
        run()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
