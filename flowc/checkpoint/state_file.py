"""The file that says which checkpoints a folder has: a CheckpointState as text.

In: a folder, paths of checkpoints. Out: the message, and the file. Invariants: the file takes its
place whole; relative paths in it are relative to its folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from flowc.errors import InvalidModelError
from flowc.files.plain_file import PlainFile
from flowc.files.safe_write import replacing, sync_folder
from flowc.proto.checkpoint_pb2 import CheckpointState

MOST_STATE = 1 << 24  # bytes of a state file


def read_state(path: Path, within: Path | None = None) -> CheckpointState | None:
    """The state that a file holds; None where there is none. `within`: see `PlainFile`. Raises
    `InvalidModelError`."""
    from google.protobuf import text_format  # late: it takes as long as reading a model

    if not os.path.exists(path) or os.path.isdir(path):
        return None
    file = PlainFile(path, within)
    if len(file) > MOST_STATE:
        raise InvalidModelError(f"{path}: {len(file)} bytes are no checkpoint state")
    try:
        text = str(file.read(0, len(file)), "utf-8")
        return text_format.Parse(text, CheckpointState(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidModelError(f"{path}: no checkpoint state: {error}") from None


def write_state(path: Path, state: CheckpointState) -> None:
    """Writes the file. Raises `OSError`, and `UsageError` where there is no folder."""
    from google.protobuf import text_format

    with replacing(path) as file:
        file.write(text_format.MessageToString(state).encode())
    sync_folder(path.parent)  # what the file names no more may be removed


def state_of(
    folder: str,
    newest: str,
    all_paths: Sequence[str] | None = None,
    timestamps: Sequence[float] | None = None,
    last_preserved: float | None = None,
) -> CheckpointState:
    """The state of a folder whose newest checkpoint is `newest`, which becomes the last of all.
    Where the folder is relative, so are paths. Raises `ValueError` for timestamps that are not as
    many as the paths."""
    paths = list(all_paths or ())
    if not paths or paths[-1] != newest:
        paths.append(newest)
    if timestamps and len(timestamps) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {list(timestamps)})"
        )
    if not os.path.isabs(folder):
        newest = _relative(newest, folder)
        paths = [_relative(path, folder) for path in paths]
    state = CheckpointState(model_checkpoint_path=newest, all_model_checkpoint_paths=paths)
    state.all_model_checkpoint_timestamps.extend(timestamps or ())
    if last_preserved is not None:
        state.last_preserved_timestamp = last_preserved
    return state


def _relative(path: str, folder: str) -> str:
    return path if os.path.isabs(path) else os.path.relpath(path, folder or ".")
