"""Ctrl-C while a program is compiled: it comes out at once, and the Session compiles again; a
command ends with code 130.

`FLOWC_INTERRUPTS=500` takes so many in place of ten, and a fifth of them of commands.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import interrupted_compiler

import flowc as tf

COUNT = int(os.environ.get("FLOWC_INTERRUPTS", "10"))
LONGEST = 4  # seconds of the processor's time, which a busy machine does not change; 0.1 is usual


def test_interrupts(tmp_path: Path) -> None:
    paths = os.pathsep.join(sys.path)
    environment = os.environ | {"FLOWC_CACHE": "0", "PYTHONPATH": paths, "TMPDIR": str(tmp_path)}
    command = [sys.executable, interrupted_compiler.__file__, "1", str(COUNT)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert not found.returncode, found.stderr[-2000:]
    seconds, left = map(json.loads, found.stdout.splitlines())
    assert len(seconds) == COUNT
    assert 0 < max(seconds) < LONGEST
    assert left == [[], []]  # neither threads nor files


def test_a_command_waits_for_no_thread() -> None:
    """Python would wait for what a thread that compiles is in the middle of."""
    program = (
        "import sys, threading\n"
        "threading.Thread(target=threading.Event().wait).start()\n"
        "from flowc import cli\n"
        "from flowc.cli import entry\n"
        "def interrupted(args):\n"
        "    raise KeyboardInterrupt\n"
        "entry.run_command_line = interrupted\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


def ended_seconds() -> float:
    """The processor's time that children of this process took, and theirs, which have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def running_seconds(pid: int) -> float:
    """The processor's time that a child which runs, or is not waited for yet, took until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def test_interrupted_commands(tmp_path: Path) -> None:
    """At any moment from the first import to the linker: code 130, or Python's own end by the
    signal before flowc is there, and nothing is left; or the library is whole, also where the
    interrupt came while its files got their names."""
    with tf.Graph().as_default() as graph:
        interrupted_compiler.model(0)
    model, library = tmp_path / "m.pb", tmp_path / "out" / "m.so"
    model.write_bytes(graph.as_graph_def().SerializeToString())
    environment = os.environ | {"FLOWC_CACHE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "flowc", "compile", str(model), "-o", str(library)]
    handled = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    library.parent.mkdir()
    start = time.monotonic()
    subprocess.run(command, env=environment, check=True, capture_output=True)
    whole, rng = time.monotonic() - start, random.Random(1)
    for _ in range(COUNT // 5):
        for path in library.parent.iterdir():
            path.unlink()
        child = subprocess.Popen(
            command, env=environment, stderr=subprocess.PIPE, text=True, preexec_fn=handled
        )
        time.sleep(rng.uniform(0, whole))
        ended, before = ended_seconds(), running_seconds(child.pid)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate()
        assert ended_seconds() - ended - before < LONGEST
        whole_set, left = [library.with_suffix(".h"), library], sorted(library.parent.iterdir())
        before_flowc = errors.startswith("Could not import runpy")  # Python's own words
        assert before_flowc or child.returncode in (0, 130, -signal.SIGINT), errors
        assert left == whole_set or (child.returncode and left == [])
