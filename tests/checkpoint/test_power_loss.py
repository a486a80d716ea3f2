"""What a disk may hold when the power fails during a save: old or new, and never a mixture.

A save is recorded: which files were synced, renamed and removed, and when the folder was synced.
Every state that a disk may be in after each of these is made up: changes of the folder that were
not synced may be there or not, each for itself, and content that was not synced may be cut off.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from checkpoint_faults import check_folder, save_once

from flowc.api.saving.checkpoint_state import (
    get_checkpoint_state,
    remove_checkpoint,
    update_checkpoint_state,
)

STATES = int(os.environ.get("FLOWC_POWER_LOSSES", "100"))


@dataclass(frozen=True)
class Event:
    """`name` gets `content` (None: it is removed); or, without a name, the folder was synced."""

    name: str | None = None
    content: bytes | None = None
    is_synced: bool = True


@contextmanager
def recorded(events: list[Event]) -> Iterator[None]:
    """Notes what is done to files within it."""
    synced: set[str] = set()
    fsync, replace, unlink = os.fsync, os.replace, os.unlink

    def note_sync(number: int) -> None:
        fsync(number)
        path = os.readlink(f"/proc/self/fd/{number}")
        synced.add(path)
        if Path(path).is_dir():
            events.append(Event())

    def note_replace(source: Any, target: Any) -> None:
        content = Path(source).read_bytes()
        replace(source, target)
        events.append(Event(Path(target).name, content, str(source) in synced))

    def note_unlink(path: Any, **more: Any) -> None:
        unlink(path, **more)
        events.append(Event(Path(path).name))

    with (
        patch.object(os, "fsync", note_sync),
        patch.object(os, "replace", note_replace),
        patch.object(os, "unlink", note_unlink),
    ):
        yield


def after_a_loss(
    start: dict[str, bytes], events: list[Event], chance: random.Random
) -> dict[str, bytes]:
    """Files that the disk may hold after these events."""
    ends = [i for i, event in enumerate(events) if event.name is None]
    lasting = ends[-1] if ends else -1
    found = dict(start)
    for i, event in enumerate(events):
        if event.name is None or (i > lasting and chance.random() < 0.5):
            continue
        if event.content is None:
            found.pop(event.name, None)
        else:
            size = len(event.content) if event.is_synced else chance.randrange(len(event.content))
            found[event.name] = event.content[:size]
    return found


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize("kind", ["same", "new", "kept"])
def test_the_power_fails(kind: str, tmp_path: Path) -> None:
    folder, chance = tmp_path / "disk", random.Random(kind)
    names = ["m", "m", "m"] if kind == "same" else ["m-0", "m-1", "m-2"]
    save_once(folder, names[0], 0)
    save_once(folder, names[1], 1)
    start, events = files_of(folder), list[Event]()
    with recorded(events):
        save_once(folder, names[2], 2)
        if kind == "kept":
            paths = [str(folder / name) for name in names]
            update_checkpoint_state(str(folder), paths[2], paths[1:])
            remove_checkpoint(paths[0])
    assert len(events) > 5 and files_of(folder) == after_all(start, events)
    for number in range(STATES):
        found = after_a_loss(start, events[: number % (len(events) + 1)], chance)
        for path in folder.iterdir():
            path.unlink()
        for name, content in found.items():
            (folder / name).write_bytes(content)
        assert get_checkpoint_state(folder) is not None
        check_folder(folder, (1, 2))


def after_all(start: dict[str, bytes], events: list[Event]) -> dict[str, bytes]:
    """The files when everything is on disk."""
    return after_a_loss(start, [*events, Event()], random.Random(0))
