"""A program with many weights is stored while it runs already: nobody compiles it twice, and the
process ends only when it is on disk."""

from __future__ import annotations

import errno
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

import pytest

from flowc.cache import disk, store
from flowc.cache.disk import DiskCache
from flowc.cache.store import STORED_AT_ONCE, find_program
from flowc.codegen.compiled import CompiledProgram, ProgramMetadata

KEY = "0123456789"
LARGE = STORED_AT_ONCE + 1


@pytest.fixture(autouse=True)
def no_objects(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are of weights alone."""
    monkeypatch.setattr(store, "as_images", lambda program: program)


@pytest.fixture
def writing(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Entries are written when this is set."""
    allowed = threading.Event()
    original = disk.fill_entry

    def waiting(file: BinaryIO, key: str, program: CompiledProgram) -> None:
        allowed.wait(60)
        original(file, key, program)

    monkeypatch.setattr(disk, "fill_entry", waiting)
    return allowed


def program(weights_bytes: int) -> CompiledProgram:
    return CompiledProgram((), [], ProgramMetadata(weights_bytes=weights_bytes), b"")


def finish_storing() -> None:
    for thread in threading.enumerate():
        if thread.name == "flowc-store":
            thread.join(60)


def test_what_is_stored_is_what_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process that compiles a program loads its image, too, and does without LLVM's linker."""
    image = program(0)
    monkeypatch.setattr(store, "as_images", lambda program: image)
    assert find_program(tmp_path, KEY, lambda: program(0)) is image


def test_the_first_run_does_not_wait(tmp_path: Path, writing: threading.Event) -> None:
    made = program(LARGE)
    assert find_program(tmp_path, KEY, lambda: made) is made
    assert DiskCache(tmp_path).load(KEY) is None
    writing.set()
    finish_storing()
    assert DiskCache(tmp_path).load(KEY) is not None


def test_who_asks_meanwhile_gets_what_is_stored(tmp_path: Path, writing: threading.Event) -> None:
    made: list[CompiledProgram] = []

    def make() -> CompiledProgram:
        made.append(program(LARGE))
        return made[-1]

    found: list[CompiledProgram] = []
    find_program(tmp_path, KEY, make)
    other = threading.Thread(target=lambda: found.append(find_program(tmp_path, KEY, make)))
    other.start()
    writing.set()
    other.join(60)
    assert len(made) == 1 and found[0].metadata == made[0].metadata


def test_few_weights_are_stored_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored: list[threading.Thread] = []
    original = disk.fill_entry

    def noted(file: BinaryIO, key: str, program: CompiledProgram) -> None:
        stored.append(threading.current_thread())
        original(file, key, program)

    monkeypatch.setattr(disk, "fill_entry", noted)
    find_program(tmp_path, KEY, lambda: program(STORED_AT_ONCE - 1))
    assert stored == [threading.current_thread()]


def test_without_threads_it_is_stored_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that is ending starts none."""

    def refused(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    find_program(tmp_path, KEY, lambda: program(LARGE))
    assert DiskCache(tmp_path).load(KEY) is not None


@pytest.mark.parametrize("when", ["before it is written", "while it is written"])
def test_a_folder_that_is_removed_behind_the_first_run(
    when: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    writing: threading.Event,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nobody is warned, and nothing of it comes back."""
    folder = tmp_path / "cache"
    folder.mkdir()
    removed = threading.Event()

    def removing(file: BinaryIO, *_: object) -> None:
        file.write(b"some")
        file.flush()
        if when.startswith("while"):
            shutil.rmtree(folder)
        removed.set()

    if when.startswith("while"):
        monkeypatch.setattr(disk, "fill_entry", removing)
    find_program(folder, KEY, lambda: program(LARGE))
    if when.startswith("before"):
        shutil.rmtree(folder)
    writing.set()
    finish_storing()
    assert not list(tmp_path.iterdir())
    assert not caplog.records
    assert removed.is_set() == when.startswith("while")


def test_another_program_of_the_same_lock_waits_until_this_one_is_stored(
    tmp_path: Path, writing: threading.Event
) -> None:
    """Also in the thread that took the lock for the first one."""
    other = KEY[:2] + KEY[:1:-1]
    find_program(tmp_path, KEY, lambda: program(LARGE))
    assert not DiskCache(tmp_path).load(KEY)
    threading.Timer(0.1, writing.set).start()
    find_program(tmp_path, other, lambda: program(1))
    assert DiskCache(tmp_path).load(KEY) and DiskCache(tmp_path).load(other)
    finish_storing()


def test_the_place_of_an_entry_is_made_before_the_first_run(
    tmp_path: Path, writing: threading.Event
) -> None:
    """Who removes the folder afterwards finds all that there is to remove."""
    find_program(tmp_path, KEY, lambda: program(LARGE))
    before = sorted(tmp_path.rglob("*"))
    writing.set()
    finish_storing()
    after = sorted(tmp_path.rglob("*"))
    assert len(before) == len(after) and {p.parent for p in before} == {p.parent for p in after}


def test_a_disk_that_is_full_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(disk, "fill_entry", full)
    find_program(tmp_path, KEY, lambda: program(LARGE))
    finish_storing()
    assert [r.levelname for r in caplog.records] == ["WARNING"]
    assert [p.name for p in tmp_path.rglob("*") if p.is_file()] == [f"{KEY[:2]}.lock"]


CHILD = """
import sys
from pathlib import Path
import numpy as np
import flowc as tf
from flowc.cache import disk

stored, original = [], disk.fill_entry
def noted(file, key, program):
    if program.metadata.weights_bytes:
        stored.append(key)
    original(file, key, program)
disk.fill_entry = noted

x = tf.placeholder(tf.float32, [1, 1200])
y = tf.matmul(x, tf.constant(np.ones((1200, 1200), np.float32)))
with tf.Session() as session:
    print(session.run(y, {x: np.ones((1, 1200), np.float32)})[0, 0])
if sys.argv[1:] == ["again"]:
    assert not stored
"""


def test_the_process_ends_when_it_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOWC_CACHE_DIR", str(tmp_path / "cache"))
    for mode in ([], ["again"]):
        out = subprocess.run(
            [sys.executable, "-c", CHILD, *mode], capture_output=True, text=True, timeout=120
        )
        assert out.returncode == 0, out.stderr
        assert out.stdout == "1200.0\n"
