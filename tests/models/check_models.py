"""Compares compiled real models with TensorFlow's recorded outputs, the way users run them.

    python check_models.py DIR INDEX.json [NAME...]

DIR holds a folder a model with its file and `ref_case<k>.npz` (inputs and TensorFlow's outputs);
INDEX.json lists them. Each model is compiled once, with a named size wherever its cases differ, and
runs every case through a Session, through the library from Python, and through the library from C.
Also checked: what the library needs from outside. Prints a line a case; exits 1 if one differs.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import flowc
import flowc_runtime
from flowc import dtypes
from flowc.aot import write_library
from flowc.compiler import compile_computation
from flowc.extract.program import extract
from flowc.ir.dims import Dim, symbol
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options
from flowc.run.executable import Executable

HERE = Path(__file__).parent
FILES = {
    "frozen_pb": "graph.pb",
    "frozen_pbtxt": "graph.pbtxt",
    "saved_model": "saved_model",
    "meta_ckpt": "model.meta",
}
LATER = {
    "control-flow-v1", "control-flow-v2", "tensor-lists", "tensor-arrays", "stacks", "queues",
}  # fmt: skip
ALLOWED = re.compile(r"linux-vdso|libc\.so|libm\.so|ld-linux")
Arrays = dict[str, np.ndarray]


def read_case(path: Path) -> tuple[Arrays, Arrays]:
    """(inputs, outputs) by tensor name."""
    with np.load(path, allow_pickle=False) as data:
        names = json.loads(str(data["names"]))
        feeds = {n: data[f"in_{i}"] for i, n in enumerate(names["feeds"])}
        wants = {n: data[f"out_{i}"] for i, n in enumerate(names["fetches"])}
    return feeds, wants


def common_types(cases: Sequence[tuple[Arrays, Arrays]]) -> dict[str, TensorType]:
    """The type of each input over all cases: sizes that differ become symbols."""
    found = {}
    for name, first in cases[0][0].items():
        shapes = [feeds[name].shape for feeds, _ in cases]
        dims: list[Dim] = []
        for axis, sizes in enumerate(zip(*shapes)):
            label = "batch" if axis == 0 else f"size{axis}"
            dims.append(sizes[0] if len(set(sizes)) == 1 else symbol(label))
        found[name] = TensorType(dtypes.as_dtype(first.dtype), tuple(dims))
    return found


def worst(got: Mapping[str, np.ndarray], want: Arrays) -> float:
    """The largest difference relative to the largest value; infinite where shapes differ."""
    largest = 0.0
    for name, expected in want.items():
        found = got[name]
        if found.shape != expected.shape or found.dtype != expected.dtype:
            return float("inf")
        if not expected.size:
            continue
        a, b = found.astype(np.float64), expected.astype(np.float64)
        if (np.isnan(a) != np.isnan(b)).any():
            return float("inf")
        scale = float(np.nanmax(np.abs(b))) or 1.0
        largest = max(largest, float(np.nanmax(np.abs(a - b))) / scale)
    return largest


def run_in_c(program: Path, library: Path, feeds: Arrays, metadata: Mapping[str, Any]) -> Arrays:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for i, port in enumerate(metadata["inputs"]):
            array = np.ascontiguousarray(feeds[port["name"]])
            array.tofile(folder / f"in{i}.bin")
            (folder / f"in{i}.dims").write_text(" ".join(map(str, array.shape)))
        subprocess.run([program, library, folder], check=True)
        found = {}
        for i, port in enumerate(metadata["outputs"]):
            shape = [int(d) for d in (folder / f"out{i}.dims").read_text().split()]
            dtype = dtypes.as_dtype(port["dtype"]).numpy
            found[port["name"]] = np.fromfile(folder / f"out{i}.bin", dtype).reshape(shape)
    return found


def outside_needs(library: Path) -> list[str]:
    """Libraries beyond libc and libm that the dynamic loader would bring."""
    text = subprocess.run(["ldd", library], capture_output=True, text=True, check=True).stdout
    return [line.strip() for line in text.splitlines() if not ALLOWED.search(line)]


def check(entry: Mapping[str, Any], root: Path, program: Path, work: Path) -> bool:
    name, kind = entry["name"], entry["kind"]
    folder = root / name
    cases = [read_case(folder / f"ref_case{k}.npz") for k in range(len(entry["cases"]))]
    checkpoint = folder / "model" if kind == "meta_ckpt" else None
    graph = flowc.load_graph(folder / FILES[kind], checkpoint=checkpoint)
    types = common_types(cases)
    feeds = {graph.get_tensor_by_name(n): t for n, t in types.items()}
    fetches = [graph.get_tensor_by_name(n) for n in cases[0][1]]
    names = (list(types), list(cases[0][1]))
    c = extract(graph, fetches, feeds)
    compiled = compile_computation(c, Options(), spec_of(c, *names))
    library = work / f"{name}.so"
    write_library(compiled, library)
    model, executable = flowc_runtime.load(library), Executable(compiled)
    good = not outside_needs(library)
    with flowc.Session(graph=graph) as session:
        for k, (given, want) in enumerate(cases):
            in_order = [given[n] for n in names[0]]
            differences = {
                "session": worst(dict(zip(want, session.run(list(want), given))), want),
                "one program": worst(dict(zip(names[1], executable.run(in_order))), want),
                "library": worst(dict(zip(names[1], model.run(given).values())), want),
                "C": worst(run_in_c(program, library, given, compiled.metadata), want),
            }
            fits = max(differences.values()) <= 1e-3
            good &= fits
            shown = "  ".join(f"{n} {d:.1e}" for n, d in differences.items())
            print(f"{'ok  ' if fits else 'FAIL'} {name}#{k}  {shown}", flush=True)
    return good


def main(argv: Sequence[str]) -> int:
    if len(argv) < 2:
        print(__doc__)
        return 2
    root, index, only = Path(argv[0]), Path(argv[1]), set(argv[2:])
    failed = []
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        program = work / "run_model"
        subprocess.run(["cc", "-O2", HERE / "run_model.c", "-ldl", "-o", program], check=True)
        for entry in json.loads(index.read_text()):
            skipped = set(entry.get("needs", ())) & LATER
            if skipped or (only and entry["name"] not in only):
                continue
            try:
                good = check(entry, root, program, work)
            except (flowc.errors.FlowcError, subprocess.CalledProcessError, OSError) as error:
                print(f"FAIL {entry['name']}: {error}", flush=True)
                good = False
            if not good:
                failed.append(entry["name"])
    print(f"{len(failed)} models differ" if failed else "all models agree")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
