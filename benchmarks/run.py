"""All benchmarks: `python benchmarks/run.py [names] [--models DIR] [--json FILE]`.

`python benchmarks/run.py peers ...` and `gpu ...` are commands of their own: `peers/compare.py`,
`gpu/compare.py`.

Everything but pipelines runs on one core and one thread. Names: kernels, loops, calls, startup,
first, models, training, contractions, pipelines.
`models` and the model rows of `startup` need `--models DIR`, where a model is a folder with
`graph.pb`, `saved_model` or `model.meta`, and `ref_case0.npz` with its feeds (`names`, `in_0`...).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
for folder in (ROOT / "benchmarks", ROOT / "runtime", ROOT):
    sys.path.insert(0, str(folder))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import call_overhead
import contractions
import first_steps
import loop_kernels
import loops
import models
import pipelines
import startup
import training
from peers import compare
from rounds import Row, show
from tensorflow_peer import TensorFlowPeer, tensorflow_peer


def main() -> None:
    if sys.argv[1:2] == ["peers"]:
        compare.main(sys.argv[2:])
        return
    if sys.argv[1:2] == ["gpu"]:
        script = ROOT / "benchmarks" / "gpu" / "compare.py"
        path = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
        command = [sys.executable, str(script), *sys.argv[2:]]
        os.execve(sys.executable, command, {**os.environ, "PYTHONPATH": path})
    options = _options()
    # The last core: the first ones take most interrupts.
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    peer: TensorFlowPeer | None = None
    if {"kernels", "loops", "models", "training"} & set(options.names):
        peer = tensorflow_peer()
        if peer is not None:
            print(f"peers: TensorFlow {peer.version}, one thread")
    parts: dict[str, Callable[[], list[Row]]] = {
        "startup": lambda: startup.measure(options.models),
        "calls": call_overhead.measure,
        "kernels": lambda: loop_kernels.measure(peer, options.rounds),
        "loops": lambda: loops.measure(peer, options.rounds),
        "models": lambda: models.measure(options.models, peer, options.rounds),
        "training": lambda: training.measure(peer, options.rounds),
        "first": first_steps.measure,
        "pipelines": lambda: pipelines.measure((), 3, cores),
        "contractions": contractions.measure,
    }
    found: dict[str, list[Row]] = {}
    for name in options.names:
        found[name] = parts[name]()
        show(name, found[name])
    if options.json:
        rows = {name: [row.as_json() for row in rows] for name, rows in found.items()}
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if peer is not None:
        peer.close()


def _options() -> argparse.Namespace:
    names = ["startup", "first", "calls", "kernels", "loops", "models", "training", "contractions"]
    names += ["pipelines"]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("names", nargs="*", help=f"which to run, of: {', '.join(names)}")
    parser.add_argument("--models", type=Path, metavar="DIR", help="folder of model folders")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows as JSON too")
    parser.add_argument("--rounds", type=int, default=21, help="rounds that count (default 21)")
    options = parser.parse_args()
    unknown = set(options.names) - set(names)
    if unknown:
        parser.error(f"no such benchmark: {', '.join(sorted(unknown))}")
    options.names = options.names or names
    return options


if __name__ == "__main__":
    main()
