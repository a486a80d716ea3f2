"""`make bench BENCH=peers`: every engine on the same graphs and inputs, one after another.

In: which cases, engines, thread counts. Out: rows, as JSON and as a report in Markdown. What is
timed are calls from Python with arrays in memory. In every round each engine has a turn of some
tenths of a second, while the others are stopped; the cores are the last ones that there are.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from peers.engine_process import EngineFailed, EngineProcess
from peers.machine import described_machine
from peers.report import OWN_PROCESS, agrees, markdown_of
from peers.shares import measured_shares
from peers.without_avx512 import copies_without_avx512

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = ("tensorflow", "onnxruntime", "openvino")
ONEDNN_LEVELS = {"x86-64-v3": "AVX2", "x86-64-v4": "AVX512_CORE"}
WITHOUT_AVX512 = ("x86-64-v2", "x86-64-v3")
HAVE_NO_SWITCH = ("onnxruntime", "openvino")  # of all that they use
OUR_PATHS = {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")])}

Row = dict[str, Any]


def main(arguments: Sequence[str]) -> None:
    options = _options(arguments)
    python = Path(os.environ.get("FLOWC_PEERS_PYTHON") or ROOT / ".venv-peers" / "bin" / "python")
    if not python.exists():
        sys.exit("no peers to compare with: run `make bench BENCH=peers`")
    names = _prepared(python, options)
    known = json.loads(options.json.read_text()) if options.json.exists() else {}
    kept: list[Row] = known.get("rows", []) if options.keep else []
    with tempfile.TemporaryDirectory(prefix="flowc-peers-") as folder:
        limits = _limits(python, options.target, Path(folder))
        for threads in options.threads:
            for row in _rows(names, threads, python, limits, options):
                same = lambda x, row=row: all(x[k] == row[k] for k in ("name", "threads", "target"))
                kept = [x for x in kept if not same(x)] + [row]
                found = {"machine": described_machine(), "rows": kept}
                options.json.parent.mkdir(parents=True, exist_ok=True)
                options.json.write_text(json.dumps(found, indent=1) + "\n")
                options.report.write_text(markdown_of(found))
                print(_line(row), flush=True)
    if not all(agrees(row["engines"]["flowc"]) for row in kept):
        sys.exit("flowc failed, or gave other results: see the report")


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="run.py peers", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("--models", type=Path, action="append", default=[], metavar="DIR",
                        help="a folder of model folders: all of them, too")  # fmt: skip
    parser.add_argument("--only", action="append", default=[], metavar="PATTERN",
                        help="cases by name, such as 'conv-*'")  # fmt: skip
    parser.add_argument("--threads", default="1", metavar="N,...", help="default 1")
    parser.add_argument("--engines", default=",".join(PEERS), metavar="NAME,...",
                        help="beside flowc; xla, too (default %(default)s)")  # fmt: skip
    parser.add_argument("--target", default="native", help="of flowc, such as x86-64-v3")
    parser.add_argument("--rounds", type=int, default=7, help="turns of each engine (default 7)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of a turn (default 0.3)")
    parser.add_argument("--json", type=Path, metavar="FILE", default=ROOT / "build" / "peers.json")
    parser.add_argument("--report", type=Path, metavar="FILE", default=HERE.parent / "peers.md")
    parser.add_argument("--keep", action="store_true",
                        help="keep rows of the JSON file that are not measured anew")  # fmt: skip
    parser.add_argument("--cases", type=Path, metavar="DIR", default=ROOT / "build" / "peers",
                        help="where graphs are made (default %(default)s)")  # fmt: skip
    parser.add_argument("--prepare", action="store_true", help="make the graphs, measure nothing")
    options = parser.parse_args(arguments)
    options.threads = [int(n) for n in options.threads.split(",")]
    options.engines = ["flowc", *options.engines.split(",")]
    return options


def _prepared(python: Path, options: argparse.Namespace) -> list[str]:
    """The names of the cases, whose graphs are made where they are not there yet."""
    command = [str(python), str(HERE / "prepare.py"), str(options.cases)]
    for option in ("models", "only"):
        command += [word for value in getattr(options, option) for word in (f"--{option}", value)]
    subprocess.run(command, check=True, env=_without_paths())
    return [] if options.prepare else json.loads((options.cases / "names.json").read_text())


def _without_paths() -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


def _rows(
    names: Sequence[str], threads: int, python: Path, limits: Mapping[str, str],
    options: argparse.Namespace,
) -> Iterator[Row]:  # fmt: skip
    cores = sorted(os.sched_getaffinity(0))[-threads:]
    if len(cores) < threads:
        sys.exit(f"{threads} threads on {len(cores)} cores")
    told = {n: json.loads((options.cases / n / "case.json").read_text()) for n in names}
    alone = [[n] for n in names if told[n]["kind"] in OWN_PROCESS]
    together = [n for n in names if told[n]["kind"] not in OWN_PROCESS]
    for group in [*alone, *([together] if together else [])]:
        with _engines(options, threads, cores, python, limits) as engines:
            for name in group:
                row = {key: told[name][key] for key in ("kind", "nodes", "convolutional")}
                row |= {"name": name, "threads": threads, "target": options.target}
                row["engines"] = _measured(options.cases / name, engines, options)
                if row["kind"] in OWN_PROCESS and options.target == "native":
                    row["shares"] = measured_shares(options.cases / name, threads, cores, OUR_PATHS)
                yield row


@contextmanager
def _engines(
    options: argparse.Namespace, threads: int, cores: Sequence[int], python: Path,
    limits: Mapping[str, str],
) -> Iterator[list[EngineProcess]]:  # fmt: skip
    """A process for each engine, with a cache of its own that is empty."""
    started: list[EngineProcess] = []
    with tempfile.TemporaryDirectory(prefix="flowc-peers-") as cache:
        ours = {"FLOWC_CACHE_DIR": cache, "FLOWC_PEERS_TARGET": options.target, **OUR_PATHS}
        quiet = {"PYTHONPATH": "", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
        quiet |= {"OMP_NUM_THREADS": str(threads), **limits}
        try:
            for name in options.engines:
                own = name == "flowc"
                place = Path(sys.executable) if own else python
                environment = ours if own else quiet
                started.append(EngineProcess(name, place, threads, cores, environment))
            yield started
        finally:
            for engine in started:
                engine.close()


def _limits(python: Path, target: str, folder: Path) -> dict[str, str]:
    """What makes peers use no more of the processor than a target has. Raises as
    `copies_without_avx512`, which are in the folder."""
    found = {"ONEDNN_MAX_CPU_ISA": ONEDNN_LEVELS[target]} if target in ONEDNN_LEVELS else {}
    if target in WITHOUT_AVX512:
        ask = "import sysconfig; print(sysconfig.get_path('platlib'))"
        command = [str(python), "-c", ask]
        packages = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        copies = copies_without_avx512(Path(packages.strip()), HAVE_NO_SWITCH, folder)
        found |= {"PYTHONPATH": str(copies), "XLA_FLAGS": "--xla_cpu_max_isa=AVX2"}
    return found


def _without_folder(error: EngineFailed, case: Path) -> str:
    """What an engine says, for readers to whom the folder of cases means nothing."""
    return str(error).replace(f"{case.parent}/", "")


def _measured(
    folder: Path, engines: Sequence[EngineProcess], options: argparse.Namespace
) -> dict[str, dict[str, Any]]:
    """For each engine: milliseconds of a run, seconds from its process's start until it is imported
    and from there to the first result, how far results are from TensorFlow's; or why there is
    none."""
    place = folder.resolve()
    found: dict[str, dict[str, Any]] = {}
    turns: dict[str, list[Mapping[str, Any]]] = {}
    for engine in engines:
        found[engine.name] = {"version": engine.version, "ready_s": engine.ready}
        try:
            found[engine.name] |= engine.ask(open=str(place))
            turns[engine.name] = []
        except EngineFailed as error:
            found[engine.name]["failed"] = _without_folder(error, place)
    for _ in range(options.rounds):
        for engine in engines:
            if engine.name not in turns:
                continue
            try:
                turns[engine.name].append(engine.ask(seconds=options.seconds))
            except EngineFailed as error:
                found[engine.name]["failed"] = _without_folder(error, place)
                del turns[engine.name]
    for name, taken in turns.items():
        found[name] |= {
            "min_ms": min(t["min"] for t in taken),
            "median_ms": statistics.median(t["median"] for t in taken),
            "runs": sum(t["runs"] for t in taken),
            "peak_mib": max(t["peak_mib"] for t in taken),
        }
    return found


def _line(row: Row) -> str:
    times = [
        f"{name} {e['min_ms']:.3f}/{e['median_ms']:.3f}" if "min_ms" in e else f"{name} -"
        for name, e in row["engines"].items()
    ]
    return f"{row['name']:32} {row['threads']}  " + "  ".join(times)
