"""Errors of flowc and its peers beside f64, over several inputs: `errors.py CASES NAME...`, with
the Python of the peers' environment; `FLOWC_PYTHON` names that of flowc.

In: cases that `prepare.py` made. Out: for each and each engine the root of the mean square, and the
greatest, of the errors that `engine_worker.py` finds. With one input, as in `peers.md`, it depends
on how a few roundings fall which of two engines that round alike is nearer.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from engine_process import EngineFailed, EngineProcess
from prepare import read_graph, results_of, wide_array
from widen import NotWidened, widened

ENGINES = ("flowc", "tensorflow", "onnxruntime", "openvino")
ROOT = Path(__file__).resolve().parents[2]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--inputs", type=int, default=8, help="default 8")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="flowc-errors-") as place:
        for name in options.names:
            try:
                folders = list(_variants(options.cases / name, Path(place), options.inputs))
            except NotWidened as error:
                print(f"{name}: has no graph of f64: {error}")
                continue
            found = {engine: _errors(engine, folders) for engine in ENGINES}
            texts = [f"{engine} {_shown(errors)}" for engine, errors in found.items()]
            print(f"{name}: {', '.join(texts)}", flush=True)


def _variants(case: Path, place: Path, count: int) -> Iterator[Path]:
    """Cases of other inputs, with what TensorFlow gives in f32 and in f64."""
    told = json.loads((case / "case.json").read_text())
    graph = read_graph(case)
    wide = widened(graph)
    with np.load(case / "case.npz", allow_pickle=True) as data:
        given = [data[f"in_{i}"] for i in range(len(told["feeds"]))]
    for number in range(count):
        rng = np.random.default_rng(number)
        inputs = [_moved(x, rng) for x in given]
        feeds = dict(zip(told["feeds"], inputs))
        results = results_of(graph, told["fetches"], feeds)
        exact = results_of(wide, told["fetches"], {n: wide_array(x) for n, x in feeds.items()})
        folder = place / f"{case.name}-{number}"
        folder.mkdir()
        held = {f"in_{i}": x for i, x in enumerate(inputs)}
        np.savez(folder / "case.npz", **held, **{f"out_{i}": y for i, y in enumerate(results)})
        np.savez(folder / "wide.npz", **{f"wide_{i}": y for i, y in enumerate(exact)})
        for file in case.iterdir():
            if not (folder / file.name).exists():
                (folder / file.name).symlink_to(file.resolve())
        yield folder


def _moved(x: np.ndarray[Any, Any], rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Shifted along every axis but the first, and each element by up to a fifth."""
    if x.ndim < 2 or x.dtype.kind not in "fiu":
        return x
    axes = range(1, x.ndim)
    shifted = np.roll(x, [int(rng.integers(x.shape[a])) for a in axes], tuple(axes))
    found = shifted * rng.uniform(0.8, 1.2, x.shape)
    return np.clip(found, x.min(), x.max()).astype(x.dtype)


def _errors(engine: str, folders: Sequence[Path]) -> list[float]:
    """What the engine is off by, for each of some cases."""
    own = engine == "flowc"
    python = os.environ.get("FLOWC_PYTHON", str(ROOT / ".venv" / "bin" / "python"))
    paths = f"{ROOT}{os.pathsep}{ROOT / 'runtime'}" if own else ""
    process = EngineProcess(
        engine,
        Path(python if own else sys.executable),
        1,
        sorted(os.sched_getaffinity(0))[-1:],
        {"PYTHONPATH": paths, "TF_CPP_MIN_LOG_LEVEL": "3", "OMP_NUM_THREADS": "1"},
    )
    try:
        answers = [process.ask(open=str(folder)) for folder in folders]
    except EngineFailed:
        return []
    finally:
        process.close()
    return [a["wide_error"] for a in answers if a["wide_error"] is not None]


def _shown(errors: Sequence[float]) -> str:
    if not errors:
        return "-"
    return f"{math.sqrt(sum(e * e for e in errors) / len(errors)):.1e} (at most {max(errors):.1e})"


if __name__ == "__main__":
    main()
