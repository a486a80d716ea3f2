"""A library, its weights, its header and what was emitted take their places together: what fails,
is interrupted or is killed at any moment leaves the old ones or the new ones, and they work."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import aot_programs
import numpy as np
import pytest

import flowc_runtime
from flowc import aot
from flowc.aot import write_library
from flowc.cli.entry import run_command_line
from flowc.codegen.link.linker import LinkError, find_linker

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

DIGITS = str(Path(__file__).parents[2] / "examples" / "digits" / "model.meta")
WEIGHTS = {"old": np.arange(1, 5, dtype=np.float32), "new": np.arange(5, 9, dtype=np.float32)}
# Random moments at which a process is killed: 200 of them were tried.
KILLS = int(os.environ.get("FLOWC_FUZZ", "4"))


PROGRAMS = {name: aot_programs.program(weights) for name, weights in WEIGHTS.items()}


def write(name: str, folder: Path) -> None:
    texts = {folder / "m.ir": name.encode()}
    header = folder / "m.h"
    write_library(PROGRAMS[name], folder / "m.so", weights="file", header=header, texts=texts)


def which_runs(folder: Path) -> str:
    """Which library is in the folder, from what it computes with the weights beside it."""
    x = np.random.default_rng(3).normal(size=(3, 4)).astype(np.float32)
    y = flowc_runtime.load(str(folder / "m.so")).run({"in/x:0": x, "k:0": np.int64(1)})["y:0"]
    fits = [n for n, w in WEIGHTS.items() if np.array_equal(y, aot_programs.expected(x, w)[0])]
    assert len(fits) == 1
    return fits[0]


@pytest.fixture(scope="module")
def old_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("old")
    write("old", made)
    return made


@pytest.fixture
def folder(old_set: Path, tmp_path: Path) -> Path:
    shutil.copytree(old_set, tmp_path, dirs_exist_ok=True)
    assert which_runs(tmp_path) == "old"
    return tmp_path


def in_a_fork(function: Callable[[], None]) -> int:
    """Runs a function in a child, which ends with it; gives the child's process number."""
    child = os.fork()
    if not child:
        try:
            function()
        finally:
            os._exit(0)
    return child


def names(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


SET = {"m.so", "m.so.weights", "m.h", "m.ir"}


@pytest.mark.parametrize("step", range(6))
def test_killed_before_each_name_is_given(
    step: int, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = os.replace
    left = [step]

    def replace(source: Path, target: Path) -> None:
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        given(source, target)

    monkeypatch.setattr(aot.os, "replace", replace)
    child = in_a_fork(lambda: write("new", folder))
    os.waitpid(child, 0)
    monkeypatch.undo()
    # Own weights, two texts, the library, the weights' last name.
    assert which_runs(folder) == ("old" if step < 4 else "new")
    assert names(folder) >= SET


def test_killed_at_random_moments(folder: Path) -> None:
    def forever() -> None:
        while True:
            for name in ("new", "old"):
                write(name, folder)

    rng = random.Random(KILLS)
    for _ in range(KILLS):
        child = in_a_fork(forever)
        time.sleep(rng.uniform(0.05, 0.6))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert which_runs(folder) in WEIGHTS
    write("new", folder)
    assert which_runs(folder) == "new" and names(folder) == SET


def test_a_link_that_fails_leaves_what_was_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    monkeypatch.setenv("CC", "false")
    with pytest.raises(LinkError):
        write("new", folder)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


def test_an_interrupt_leaves_what_was_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that comes while names are given waits until all are."""
    link = aot.link

    def interrupted(*args: object) -> Path:
        signal.raise_signal(signal.SIGINT)
        return link(*args)  # type: ignore[arg-type]

    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(aot, "link", interrupted)
            write("new", folder)
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == before
        given = os.replace

        def replace(source: Path, target: Path) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            given(source, target)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(aot.os, "replace", replace)
            write("new", folder)
    finally:
        signal.signal(signal.SIGINT, old)
    assert which_runs(folder) == "new" and names(folder) == SET


def test_what_killed_processes_left_goes_and_no_more(folder: Path) -> None:
    assert find_linker()
    (folder / ".flowc-abcd1234").mkdir()
    (folder / ".flowc-abcd1234" / "weights.o").write_bytes(b"orphan")
    (folder / ".flowc-notours").mkdir()
    (folder / "m.so.weights-0123456789abcdef").write_bytes(b"orphan")
    (folder / "m.so.weights-of-mine").write_bytes(b"kept")
    write("new", folder)
    assert names(folder) == SET | {".flowc-notours", "m.so.weights-of-mine"}


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[..., tuple[int, str]]]:
    def run(*args: str) -> tuple[int, str]:
        code = run_command_line(args)
        return code, capsys.readouterr().err

    yield run


def test_foreign_files_stay(said: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    compiling = ("compile", DIGITS, "--fetch", "labels", "--emit", "header,ir", "-o")
    library, header = tmp_path / "m.so", tmp_path / "m.h"
    header.write_text("int mine;\n")
    code, words = said(*compiling, str(library))
    assert code == 2 and "m.h: this is there, and flowc did not write it" in words
    assert header.read_text() == "int mine;\n" and names(tmp_path) == {"m.h"}
    assert said(*compiling, str(library), "--force")[0] == 0
    assert said(*compiling, str(library))[0] == 0  # these are flowc's
    library.write_bytes(b"\x7fELF no library of flowc's")
    code, words = said("compile", DIGITS, "--fetch", "labels", "-o", str(library))
    assert code == 2 and "m.so: this is there" in words
    code, words = said("compile", DIGITS, "--fetch", "labels", "-o", str(tmp_path / "a.txt"))
    assert code == 2 and "another kind of file" in words and "a.so, or --force" in words
