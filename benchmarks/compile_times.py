"""First results of models in new processes, with an empty cache and a full one, beside other trees
of flowc: `compile_times.py [--beside TREE]... [--rounds N] [--cached] FOLDER...`.

A folder holds a case of `benchmarks/peers` (`graph.pb`, `case.json`, `case.npz`) or a model with
`ref_case0.npz`. Printed are seconds from opening the model to its first result, what that imports
included: processor time and on the clock, the least of the rounds. Trees take turns. Python finds
its byte code, as it does of what is installed. `--cached`: rounds with a full cache alone.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

_CHILD = """
import json, sys, time
from pathlib import Path
import numpy as np
folder, threads = Path(sys.argv[1]), int(sys.argv[2])
is_case = (folder / "case.json").exists()
data = np.load(folder / ("case.npz" if is_case else "ref_case0.npz"), allow_pickle=True)
names = json.loads((folder / "case.json").read_text() if is_case else str(data["names"]))
feeds = {name: data[f"in_{i}"] for i, name in enumerate(names["feeds"])}
(path,) = [p for n in ("graph.pb", "saved_model", "model.meta") if (p := folder / n).exists()]
clock, processor = time.perf_counter(), time.process_time()
from flowc.importer import load_graph
try:
    from flowc.run.session import Session
except ImportError:  # older trees
    from flowc.session import Session
Session(graph=load_graph(path), threads=threads).run(names["fetches"], feeds)
print(json.dumps([time.process_time() - processor, time.perf_counter() - clock]))
"""


def first_result(tree: Path, folder: Path, cache: str, bytecode: str, threads: int) -> list[float]:
    """Seconds of the processor and on the clock, in a process of its own."""
    path = os.pathsep.join([str(tree), str(tree / "runtime")])
    settings = {"PYTHONPATH": path, "FLOWC_CACHE_DIR": cache, "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        # -P: not the tree that this is called in.
        [sys.executable, "-P", "-c", _CHILD, str(folder), str(threads)],
        env={**os.environ, **settings, "PYTHONPYCACHEPREFIX": bytecode},
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def measure(
    trees: list[Path], folder: Path, bytecode: str, rounds: int, threads: int, is_cold: bool
) -> Any:
    """{(state, tree): [processor, clock]}, the least of the rounds. `is_cold`: with an empty cache,
    too."""
    found: dict[tuple[str, Path], list[list[float]]] = {}
    with ExitStack() as folders:
        caches = {tree: folders.enter_context(tempfile.TemporaryDirectory()) for tree in trees}
        for _ in range(2):  # once before: byte code is written, and then it is found
            for tree in trees:
                first_result(tree, folder, caches[tree], bytecode, threads)
        for _ in range(rounds):
            for tree in trees:
                times = first_result(tree, folder, caches[tree], bytecode, threads)
                found.setdefault(("cached", tree), []).append(times)
                if is_cold:
                    with tempfile.TemporaryDirectory() as cache:
                        times = first_result(tree, folder, cache, bytecode, threads)
                    found.setdefault(("cold", tree), []).append(times)
    return {key: [min(column) for column in zip(*rows)] for key, rows in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--beside", action="append", default=[], type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cached", action="store_true")
    given = parser.parse_args()
    trees = [ROOT, *(tree.resolve() for tree in given.beside)]
    with tempfile.TemporaryDirectory() as bytecode:
        for folder in given.folders:
            asked = given.rounds, given.threads, not given.cached
            found = measure(trees, folder.resolve(), bytecode, *asked)
            for (state, tree), (processor, clock) in sorted(found.items(), key=lambda x: x[0][0]):
                print(f"{folder.name:24} {state:6} {processor:6.3f} {clock:6.3f}  {tree}")


if __name__ == "__main__":
    main()
