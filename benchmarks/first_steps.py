"""The first step of each program of `examples/training`, in a process of its own: with an empty
cache, and again with what that process left there.

Times are processor seconds: of all calls of `Session.run` of a program of one step, what makes the
variables included, and of the whole process, imports included. Python finds its byte code, as it
does of what is installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rounds import Row

ROOT = Path(__file__).resolve().parent.parent
LARGE = "resnet"

_CHILD = """
import json, sys, time
import flowc
from training import TimedModule
from training_programs import losses_of
timed = TimedModule(flowc)
losses_of({name!r}, timed, 1)
sys.stdout.write("\\n" + json.dumps([sum(timed.seconds), time.process_time()]))
"""


def seconds_of(name: str, cache: str, bytecode: str) -> tuple[float, float]:
    """Of the calls of `Session.run`, and of the whole process. `bytecode`: where that is kept."""
    folders = (ROOT, ROOT / "runtime", ROOT / "benchmarks", ROOT / "tests" / "support")
    path = os.pathsep.join(map(str, folders))
    settings = {"PYTHONPATH": path, "FLOWC_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": bytecode}
    settings["PYTHONDONTWRITEBYTECODE"] = ""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD.format(name=name)],
        env={**os.environ, **settings},
        check=True,
        capture_output=True,
        text=True,
    )
    runs, process = json.loads(done.stdout.splitlines()[-1])
    return runs, process


def measure() -> list[Row]:
    """Rows of milliseconds: ours is the first step, `process` the whole process, which is all that
    there is of a program whose session is of another class."""
    from training_programs import NAMES  # beside the tests, on the path once training is imported

    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as bytecode:
        with tempfile.TemporaryDirectory() as cache:
            seconds_of(NAMES[0], cache, bytecode)
        for name in NAMES:
            rows += _first_and_again(name, bytecode)
    return rows


def _first_and_again(name: str, bytecode: str) -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as cache:
        for state, goal in (("cold", 10 if name == LARGE else 5), ("cached", 1)):
            runs, process = (1e3 * seconds for seconds in seconds_of(name, cache, bytecode))
            ratios = {"process": process / runs} if runs else {}
            peers = {"process": process} if runs else {}
            rows.append(Row(f"{name}, {state}", runs or process, peers, ratios, f"{goal} s"))
    return rows
