"""The programs of `examples/custom_op`, and the page `docs/custom-ops.md`, whose blocks run."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import flowc as tf

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "custom_op"
PAGE = (ROOT / "docs" / "custom-ops.md").read_text()
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```", PAGE)
needs_compiler = pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")


@pytest.fixture(autouse=True)
def new_graph() -> None:
    tf.reset_default_graph()


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_zero_out() -> None:
    assert example("zero_out").main().tolist() == [1, 0, 0, 0, 0]


def test_an_activation_trains_and_is_compiled(tmp_path: Path) -> None:
    first, last = example("activation").main(tmp_path)
    assert last < first / 10


def test_a_table_grows_and_is_saved(tmp_path: Path) -> None:
    rows = example("growing_table").main(tmp_path)
    assert rows.shape == (3, 4) and (rows > 0.9).all()


@needs_compiler
def test_a_look_up_is_swapped(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What it says before the swap, and after it has trained on with the other op, is what
    TensorFlow says of its own op."""
    first, last, before, after = example("swap").main(tmp_path)
    assert last < first / 10
    recorded = json.loads((ROOT / "tests/recorded/swapped_model.json").read_text())
    assert np.allclose(before, recorded["before"], rtol=1e-5, atol=1e-6)
    assert np.allclose(after, recorded["after"], rtol=1e-5, atol=1e-6)
    assert np.allclose([first, last], recorded["losses"], rtol=1e-4)
    assert "replaced 1 GatherV2 by PullEmbedding" in capfd.readouterr().err


@needs_compiler
def test_the_blocks_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In order, in one folder: files by the names that they are written under, shells, Python."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    space: dict[str, Any] = {"__name__": "page"}
    kinds = [kind for kind, _ in BLOCKS]
    assert {"python", "c", "cpp", "sh"} <= set(kinds)
    for kind, text in BLOCKS:
        named = re.match(r"(?:#|//|/\*) ([\w.]+\.(?:py|c|cc))\b", text)
        if named is not None:
            (tmp_path / named[1]).write_text(text)
        if kind == "python" and named is None:
            exec(compile(text, "docs/custom-ops.md", "exec"), space)
        if kind == "sh":
            run_shell(text)


def run_shell(text: str) -> None:
    flags = " ".join(tf.sysconfig.get_compile_flags())
    for line in text.splitlines():
        if line.startswith(("cc ", "c++ ", "ar ")):
            line = line.replace("$FLAGS", flags).replace("$INCLUDE", tf.sysconfig.get_include())
            assert line.startswith("c++") or "std=c++" not in line  # of which cc warns
            subprocess.run(["sh", "-c", line], check=True)
        else:
            assert line.startswith(("flowc ", "FLAGS=", "INCLUDE=")), line
