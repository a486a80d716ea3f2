"""Saves that are cut off: what counts and breaks the calls that write, and what must hold after.

In: a folder, a step. Out: a checkpoint of that step, or what was there before. Run as a program
with a folder and a kind (`same`, `new`, `kept`), it saves in a loop until it is killed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from flowc import dtypes
from flowc.api.saving.checkpoint_state import (
    get_checkpoint_state,
    remove_checkpoint,
    update_checkpoint_state,
)
from flowc.checkpoint.bundle_writer import SavedTensor, write_bundle
from flowc.checkpoint.reader import CheckpointReader

Fault = Callable[[int], Any]


class Counted:
    """Within it, each write, sync, rename and unlink has a number, and `fault` is called with it
    before it is done."""

    def __init__(self, fault: Fault | None) -> None:
        self.calls = 0
        self._fault = fault
        self._patches = [
            patch.object(os, name, self._counted(getattr(os, name)))
            for name in ("fsync", "replace", "unlink", "chmod")
        ]
        opened = os.fdopen
        self._patches.append(patch.object(os, "fdopen", lambda *a: _File(opened(*a), self._next)))

    def _next(self) -> None:
        if self._fault is not None:
            self._fault(self.calls)
        self.calls += 1

    def _counted(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self._next()
            return function(*args, **kwargs)

        return call

    def __enter__(self) -> None:
        for each in self._patches:
            each.start()

    def __exit__(self, *error: Any) -> None:
        for each in self._patches:
            each.stop()


class _File:
    """A file whose writes count."""

    def __init__(self, file: Any, count: Callable[[], None]) -> None:
        self._file = file
        self._count = count

    def write(self, data: Any) -> int:
        self._count()
        return self._file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _File:
        self._file.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.__exit__(*error)


def tensors_of_step(step: int) -> list[SavedTensor]:
    """All of one step, so that a mixture is seen."""
    rows = [(f"v{i}", np.full((17, i + 1), step, np.float32)) for i in range(3)]
    found = [SavedTensor(name, value, dtypes.f32) for name, value in rows]
    text = np.array([b"step", b"%d" % step], object)
    found.append(SavedTensor("text", text, dtypes.string))
    return [*found, SavedTensor("step", np.array(step), dtypes.i64)]


def step_of(prefix: str) -> int:
    """The step that a checkpoint is of. Raises where it is torn."""
    reader = CheckpointReader(prefix)
    step = int(reader.read("step").item())
    for tensor in tensors_of_step(step):
        assert np.array_equal(reader.read(tensor.name), tensor.value), (prefix, tensor.name)
    return step


def save_once(folder: Path, prefix: str, step: int) -> None:
    """Saves a step as a Saver does: the checkpoint, then the state file."""
    folder.mkdir(exist_ok=True)
    write_bundle(str(folder / prefix), tensors_of_step(step))
    state = get_checkpoint_state(folder)
    names = [] if state is None else list(state.all_model_checkpoint_paths)
    kept = [n for n in names if n != str(folder / prefix)]
    update_checkpoint_state(str(folder), str(folder / prefix), kept)


def check_folder(folder: Path, steps: tuple[int, ...] | None) -> None:
    """Every checkpoint that the state file names is whole, and the newest of one of the steps."""
    state = get_checkpoint_state(folder)
    if state is None:
        return
    for prefix in state.all_model_checkpoint_paths:
        step_of(prefix)
    newest = step_of(state.model_checkpoint_path)
    assert steps is None or newest in steps


def _save_for_ever(folder: Path, kind: str) -> None:
    state = get_checkpoint_state(folder)
    step = 0 if state is None else step_of(state.model_checkpoint_path)
    while True:
        step += 1
        save_once(folder, "m" if kind == "same" else f"m-{step}", step)
        state = get_checkpoint_state(folder)
        paths = [] if state is None else list(state.all_model_checkpoint_paths)
        if kind != "same" and len(paths) > 3:
            update_checkpoint_state(str(folder), paths[-1], paths[-3:])
            for old in paths[:-3]:
                remove_checkpoint(old)
        print("saved", flush=True)


if __name__ == "__main__":
    _save_for_ever(Path(sys.argv[1]), sys.argv[2])
