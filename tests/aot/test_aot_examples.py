"""The programs of `examples/` that call a compiled model from C and by ctypes."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import aot_programs
import numpy as np
import pytest

from flowc.aot import write_library

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("examples")
    write_library(aot_programs.rows_program(), made / "model.so", header=made / "model.h")
    return made


def _inputs() -> np.ndarray:
    return np.random.default_rng(3).normal(size=(30, 4)).astype(np.float32)


def test_the_c_program(folder: Path) -> None:
    x = _inputs()
    y, _ = aot_programs.expected(x, np.arange(1, 5, dtype=np.float32))
    x.tofile(folder / "inputs.bin")
    y.argmax(axis=1).astype(np.int64).tofile(folder / "labels.bin")
    source = str(EXAMPLES / "c" / "classify.c")
    links = ["-L.", "-l:model.so", f"-Wl,-rpath,{folder}"]
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", source, "-I.", *links]
    subprocess.run([*command, "-o", "classify"], check=True, cwd=folder)

    def run(*args: str) -> str:
        done = subprocess.run(
            ["./classify", *args], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout

    found = [int(n) for n in re.findall(r"class (\d+)", run("inputs.bin"))]
    assert found == y.argmax(axis=1).tolist()
    assert "30 of 30 right (100.00 %)" in run("inputs.bin", "labels.bin")


def test_the_ctypes_program(folder: Path) -> None:
    x = _inputs()
    y, _ = aot_programs.expected(x, np.arange(1, 5, dtype=np.float32))
    np.save(folder / "inputs.npy", x)
    script = str(EXAMPLES / "ctypes" / "run_model.py")
    files = [str(folder / name) for name in ("model.so", "inputs.npy", "outputs.npy")]
    subprocess.run([sys.executable, script, *files], check=True)
    np.testing.assert_array_equal(np.load(folder / "outputs.npy"), y)
