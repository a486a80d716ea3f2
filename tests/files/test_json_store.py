"""Small facts that outlive a process."""

from __future__ import annotations

import json
import logging
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from flowc.files.json_store import LIMIT, Notes


def test_facts_are_kept_by_subject_and_added_to(tmp_path: Path) -> None:
    notes = Notes(tmp_path / "notes")
    assert notes.read("a") == {}
    notes.add("a", {"x": "1"})
    notes.add("a", {"y": "2"})
    notes.add("b", {"x": "3"})
    assert Notes(tmp_path / "notes").read("a") == {"x": "1", "y": "2"}
    assert notes.read("b") == {"x": "3"}
    assert (tmp_path / "notes").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    "damaged",
    [
        b"", b"{", b"[]", b"5", b"\xff", b'{"subject": "b", "facts": {"x": "1"}}',
        b'{"subject": "a"}', b'{"subject": "a", "facts": 5}', b'{"subject": "a", "facts": "xy"}',
        b'{"subject": "a", "facts": {"x": 1}}',
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_note_that_is_damaged_is_none(damaged: bytes, tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    notes.add("a", {"x": "1"})
    (found,) = tmp_path.glob("*.json")
    found.write_bytes(damaged)
    assert notes.read("a") == {}
    notes.add("a", {"y": "2"})
    assert notes.read("a") == {"y": "2"}


def test_the_oldest_notes_go(tmp_path: Path) -> None:
    notes = Notes(tmp_path)
    for i in range(LIMIT + 3):
        (tmp_path / f"{i:03}.json").write_text(json.dumps({}))
        os.utime(tmp_path / f"{i:03}.json", (i, i))
    notes.add("new", {"x": "1"})
    left = sorted(p.name for p in tmp_path.glob("0*.json"))
    assert left == [f"{i:03}.json" for i in range(4, LIMIT + 3)] and notes.read("new")


def test_what_cannot_be_written_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_bytes(b"")
    with caplog.at_level(logging.WARNING, logger="flowc"):
        Notes(tmp_path / "file").add("a", {"x": "1"})
    (said,) = (record.getMessage() for record in caplog.records)
    assert said.startswith("cannot write the note: ") and said.count(str(tmp_path / "file")) == 1


def test_other_processes_remove_notes_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """One, or all of them with the folder: nobody is warned."""
    notes = Notes(tmp_path / "notes")
    notes.add("a", {"x": "1"})
    (tmp_path / "notes" / "gone.json").symlink_to(tmp_path / "nowhere")
    notes.add("b", {"x": "2"})
    assert notes.read("b") == {"x": "2"}
    mkdir = Path.mkdir

    def removed(path: Path, **settings: Any) -> None:
        mkdir(path, **settings)
        shutil.rmtree(path)

    monkeypatch.setattr(Path, "mkdir", removed)
    notes.add("c", {"x": "3"})
    assert not list(tmp_path.iterdir()) and not caplog.records
