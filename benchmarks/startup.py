"""How long processes take to start: the command's help, the import, and a model's first and second
Session in processes of their own (the second finds the program in the cache)."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rounds import Row, compare, timer

ROOT = Path(__file__).resolve().parent.parent
MODEL = "std_resnet50_tf1"

# Prints the seconds from the start of main to the end of the first run, the imports included.
_SESSION = """
import sys, time
start = time.perf_counter()
sys.path.insert(0, {benchmarks!r})
from models import open_model
call = open_model({folder!r}, 1)
call()
print(time.perf_counter() - start)
"""


def _process(arguments: list[str], **environment: str) -> str:
    path = os.pathsep.join([str(ROOT), str(ROOT / "runtime")])
    done = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path, **environment},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def measure(models: Path | None) -> list[Row]:
    clock = time.perf_counter  # processes of their own: what a user waits for
    nothing = timer(lambda: _process(["-c", "pass"]), clock)
    bare = {"empty Python": nothing}
    rows = [
        compare(name, timer(lambda a=arguments: _process(a), clock), bare, rounds=5, goal="200 ms")
        for name, arguments in {
            "import flowc": ["-c", "import flowc"],
            "flowc --help": ["-m", "flowc", "--help"],
        }.items()
    ]
    if models is not None and (models / MODEL).is_dir():
        rows += _sessions(models / MODEL)
    return rows


def _sessions(folder: Path) -> list[Row]:
    source = _SESSION.format(benchmarks=str(ROOT / "benchmarks"), folder=str(folder))
    with tempfile.TemporaryDirectory() as cache:
        first = float(_process(["-c", source], FLOWC_CACHE_DIR=cache))
        again = sorted(float(_process(["-c", source], FLOWC_CACHE_DIR=cache)) for _ in range(5))
    return [
        Row(f"{folder.name}, cold", first * 1e3, goal="10 s"),
        Row(f"{folder.name}, cached", again[2] * 1e3, goal="500 ms"),
    ]
