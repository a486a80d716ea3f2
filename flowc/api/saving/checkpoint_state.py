"""Which checkpoints a folder has: its state file, and files that are there.

In: folders and prefixes. Out: CheckpointState messages, prefixes. Invariant: what is not there, or
cannot be read, is None; only writing raises.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from flowc.checkpoint.locate import has_checkpoint, v1_files
from flowc.checkpoint.names import STATE_FILE, data_files, index_path
from flowc.errors import InvalidModelError

log = logging.getLogger("flowc.api.saving")


def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """The CheckpointState of a folder. `model_checkpoint_path`, the newest, becomes the last of
    all; paths are written relative to a relative folder. Raises `ValueError` for timestamps that
    are not as many as the paths."""
    from flowc.checkpoint.state_file import state_of

    return state_of(
        os.fspath(save_dir),
        os.fspath(model_checkpoint_path),
        all_model_checkpoint_paths,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: Sequence[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Writes the state file of a folder, whole or not at all. Raises `RuntimeError` for a
    checkpoint whose path is that of the file, and as `generate_checkpoint_state_proto`."""
    write_checkpoint_state(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths,
        latest_filename,
        False,
        all_model_checkpoint_timestamps,
        last_preserved_timestamp,
    )


def write_checkpoint_state(
    save_dir: str,
    newest: str,
    all_paths: Sequence[str] | None,
    latest_filename: str | None,
    relative: bool,
    timestamps: Sequence[float] | None = None,
    last_preserved: float | None = None,
) -> None:
    """`update_checkpoint_state`, with all paths relative to the folder where `relative`."""
    from flowc.checkpoint.state_file import write_state

    save_dir = os.fspath(save_dir)
    if relative:
        newest = _within(newest, save_dir)
        all_paths = [_within(path, save_dir) for path in all_paths or ()]
    state = generate_checkpoint_state_proto(save_dir, newest, all_paths, timestamps, last_preserved)
    place = _state_path(save_dir, latest_filename)
    if str(place) == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{newest}' conflicts with path used for checkpoint state.  Please use a "
            "different save path."
        )
    write_state(place, state)


def _within(path: str, folder: str) -> str:
    return os.path.relpath(path, folder) if os.path.isabs(path) else path


def _state_path(folder: str, latest_filename: str | None) -> Path:
    return Path(folder) / (latest_filename or STATE_FILE)


def get_checkpoint_state(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> Any:
    """The CheckpointState of a folder, its paths such as can be opened; None where there is no
    state file or where it is damaged. Raises `ValueError` for a file that names no checkpoint."""
    from flowc.checkpoint.state_file import read_state

    folder = os.fspath(checkpoint_dir)
    try:
        state = read_state(_state_path(folder, latest_filename))
    except InvalidModelError as error:
        log.warning("%s; the checkpoint is ignored", error)
        return None
    if state is None:
        return None
    if not state.model_checkpoint_path:
        raise ValueError(f"Invalid checkpoint state loaded from {folder}")
    state.model_checkpoint_path = os.path.join(folder, state.model_checkpoint_path)
    paths = [os.path.join(folder, p) for p in state.all_model_checkpoint_paths]
    state.all_model_checkpoint_paths[:] = paths
    return state


def latest_checkpoint(
    checkpoint_dir: str | os.PathLike[str], latest_filename: str | None = None
) -> str | None:
    """The prefix of the newest checkpoint of a folder; None where there is none, or where its files
    are missing. Raises nothing: a state that cannot be read is none."""
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state is None or not state.model_checkpoint_path:
        return None
    if has_checkpoint(state.model_checkpoint_path):
        return state.model_checkpoint_path
    log.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Whether there are files of a checkpoint of this prefix, in either format. A bool. Raises
    nothing."""
    return has_checkpoint(os.fspath(checkpoint_prefix))


def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When the checkpoints were written, in seconds; those without files are left out. A list of
    floats. Raises nothing."""
    return [found for p in checkpoint_prefixes if (found := checkpoint_time(p)) is not None]


def checkpoint_time(prefix: str) -> float | None:
    """When a checkpoint was written, in seconds; None where it has no files."""
    index = index_path(prefix)
    files = [index] if os.path.isfile(index) else v1_files(prefix)
    return files[0].stat().st_mtime if files else None


def remove_checkpoint(
    checkpoint_prefix: str, checkpoint_format_version: int = 2, meta_graph_suffix: str = "meta"
) -> None:
    """Removes the files of a checkpoint, and its graph. `checkpoint_format_version`: of SaverDef, 1
    for V1. Raises `OSError` where a file cannot be removed."""
    meta_graph_path(checkpoint_prefix, meta_graph_suffix).unlink(missing_ok=True)
    if checkpoint_format_version == 1:
        files = v1_files(checkpoint_prefix)
    else:
        # The index first: without it there is no checkpoint.
        files = [index_path(checkpoint_prefix), *(p for p, _ in data_files(checkpoint_prefix))]
    for path in files:
        path.unlink(missing_ok=True)


def meta_graph_path(prefix: str, suffix: str = "meta") -> Path:
    """Where the graph of a checkpoint is: beside it, without the numbers of shards."""
    from flowc.checkpoint.names import without_shard

    return Path(f"{without_shard(prefix)}.{suffix}")


def checkpoints_iterator(
    checkpoint_dir: str | os.PathLike[str],
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Each new checkpoint of a folder, as it is there, at most one in `min_interval_secs`. Ends
    when none comes for `timeout` seconds and `timeout_fn`, asked then, is missing or returns True.
    Yields prefixes. Raises nothing."""
    seen: str | None = None
    while True:
        found = _new_checkpoint(checkpoint_dir, seen, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        seen, start = found, time.time()
        yield found
        left = start + min_interval_secs - time.time()
        if left > 0:
            time.sleep(left)


def _new_checkpoint(folder: Any, seen: str | None, timeout: float | None) -> str | None:
    """The newest checkpoint, when it is another than the one seen; None after `timeout`."""
    pause = 1 if timeout is None else min(1.0, timeout / 4)
    end = None if timeout is None else time.time() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != seen:
            return found
        if end is not None and time.time() + pause > end:
            return None
        time.sleep(pause)
