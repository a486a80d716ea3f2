"""Libraries and processes on a device, with a driver and without one."""

from __future__ import annotations

import ctypes
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from devices.device_runs import SIZES, product_program
from devices.fake_cuda import IS_ON_GPU, TARGET, FakeCuda, build_driver
from devices.processes import ROOT, run_python

import flowc as tf
import flowc_runtime
from flowc.cli.entry import run_command_line
from flowc.errors import (
    UnavailableError,
)

LIBRARY = """
import sys, numpy as np, flowc_runtime
model = flowc_runtime.load("{path}")
try:
    print(float(model(np.ones((3, 4), np.float32)).sum()))
except flowc_runtime.UnavailableError as error:
    print(error)
print("flowc" in sys.modules)
"""


INPUT = ["--input", "x=[[1,2,3,4]]"]


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


without_driver = pytest.mark.skipif(has_driver(), reason="this machine has a CUDA driver")


def _library(folder: Path) -> Path:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        y = tf.exp(tf.matmul(x, np.eye(4, dtype=np.float32)), name="y")
        tf.compile(graph, [x], [y], folder / "model.so", target=TARGET)
    return folder / "model.so"


@without_driver
def test_a_library_says_when_it_runs_that_there_is_no_driver(tmp_path: Path) -> None:
    path = _library(tmp_path)
    alone = run_python(LIBRARY.format(path=path), tmp_path, LD_LIBRARY_PATH="")
    assert alone.stdout.splitlines() == [
        "no CUDA driver: libcuda.so.1 is not there",
        "False",
    ], alone.stderr
    source = f"import sys, runpy; sys.argv = ['flowc', 'run', {str(path)!r}, *{INPUT!r}]"
    without = run_python(
        f"{source}; runpy.run_module('flowc', run_name='__main__')", tmp_path, LD_LIBRARY_PATH=""
    )
    assert without.returncode == 5 and "no CUDA driver" in without.stderr, without.stderr
    needed = subprocess.run(["ldd", str(path)], text=True, capture_output=True).stdout
    assert all("libc.so" in x or "ld-linux" in x or "vdso" in x for x in needed.splitlines())


def test_a_library_finds_its_device_when_it_runs(tmp_path: Path) -> None:
    """Of its own process, where the GPU's driver is not watched."""
    path, more = _library(tmp_path), dict[str, str]()
    if not IS_ON_GPU:
        build_driver(tmp_path)
        more = {"LD_LIBRARY_PATH": str(tmp_path)}
    there = run_python(LIBRARY.format(path=path), tmp_path, **more)
    assert float(there.stdout.split()[0]) == pytest.approx(12 * np.e, rel=1e-6), there.stderr


_STEP = re.compile(r"^ +\d+  (?:(upload|download) (\w+)\[([\d,]*)\]|on the device: run)")


def test_a_library_makes_the_calls_of_its_plan(
    tmp_path: Path, device: FakeCuda, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `flowc compile --emit plan` shows is what the driver is asked, in that order."""
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [70, 90], name="x")
        tf.argmax(product_program(x) * tf.cumsum(x, 1)[:, :1], 1, name="y")
        (tmp_path / "model.pb").write_bytes(graph.as_graph_def().SerializeToString())
    path = tmp_path / "model.so"
    arguments = ["compile", str(tmp_path / "model.pb"), "-o", str(path), "--fetch", "y"]
    code = run_command_line([*arguments, "--target", TARGET, "--emit", "so,plan"])
    assert code == 0, capsys.readouterr().err
    wanted: list[str] = []
    for line in path.with_suffix(".plan").read_text().splitlines():
        if found := _STEP.match(line):
            kind, dtype, dims = found.groups()
            if kind is None:
                wanted.append("launch")
            else:
                elements = int(np.prod([int(d) for d in dims.split(",")]))
                wanted.append(f"{kind} { {'f32': 4, 'i64': 8}[dtype] * elements }")
    model = flowc_runtime.load(str(path))
    model(SIZES)
    device.reset()
    model(SIZES)
    moved = [x for x in device.log() if x.startswith(("upload", "download", "launch"))]
    assert [re.sub(r"launch.*", "launch", line) for line in moved] == wanted
    assert wanted.count("launch") >= 3 and len(wanted) == wanted.count("launch") + 2


@without_driver
def test_a_session_says_that_there_is_no_driver(tmp_path: Path) -> None:
    source = "import flowc\nflowc.Session(device='cuda')"
    done = run_python(source, tmp_path, LD_LIBRARY_PATH="")
    assert UnavailableError.__name__ in done.stderr
    assert "no CUDA driver" in done.stderr


FORK = """
import os, sys
sys.path.insert(0, {support!r})
from devices.device_runs import SIZES, product_program
from devices.fake_cuda import fake_cuda
fake = fake_cuda()
import numpy as np, flowc as tf
x = tf.placeholder(tf.float32, [None, 100]); y = tf.exp(x)
with tf.Session(device="cuda") as session:
    session.run(y, {{x: np.ones((3, 100))}})
    child = os.fork()
    if not child:
        try:
            session.run(y, {{x: np.ones((3, 100))}})
        except tf.errors.FailedPreconditionError as error:
            os._exit(7 if "before this process was forked" in str(error) else 1)
        os._exit(1)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    print(session.run(y, {{x: np.zeros((3, 100))}}).sum())
"""


def test_a_child_cannot_use_the_device_of_its_parent(tmp_path: Path) -> None:
    done = run_python(FORK.format(support=str(ROOT / "tests" / "support")), tmp_path)
    assert done.stdout.split() == ["7", "300.0"], done.stderr
