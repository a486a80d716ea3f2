"""Where a model's checkpoint is.

In: what the user named, or the model's own path. Out: a prefix that `CheckpointReader` opens.
Invariant: what a folder's state file says never leads out of that folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from flowc.checkpoint.names import STATE_FILE, without_shard
from flowc.checkpoint.table import is_table
from flowc.encoding.wire import open_region
from flowc.errors import InvalidModelError, NotFoundError

_DATA = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")


def v1_files(prefix: str) -> list[Path]:
    """The files of a V1 checkpoint of this name: the file itself, or its shards."""
    path = Path(prefix)
    if path.is_file():
        return [path] if _is_v1(path) else []
    stem = without_shard(path.name)
    if not path.parent.is_dir():
        return []
    pattern = re.compile(re.escape(stem) + r"-\d{5}-of-\d{5}")
    found = sorted(p for p in path.parent.iterdir() if pattern.fullmatch(p.name))
    return [p for p in found if _is_v1(p)]


def _is_v1(path: Path) -> bool:
    try:
        return is_table(open_region(path))
    except InvalidModelError:
        return False  # an empty file, or none that can be read


def has_checkpoint(prefix: str) -> bool:
    """Whether there are files of a checkpoint of this prefix."""
    return Path(prefix + ".index").is_file() or bool(v1_files(prefix))


def latest_checkpoint(folder: str | os.PathLike[str]) -> str | None:
    """The checkpoint that a folder's state file names, or None where the folder has no such file.

    Only the folder itself is looked in: a path that leads elsewhere counts by its last part, so
    that a folder that was moved or copied still works.
    """
    state_file = Path(folder) / STATE_FILE
    if not state_file.is_file():
        return None
    # Late: it takes as long as reading a model.
    from flowc.checkpoint.state_file import read_state

    state = read_state(state_file)
    named = "" if state is None else state.model_checkpoint_path
    if not named:
        return None
    path = Path(named)
    inside = not path.is_absolute() and ".." not in path.parts
    candidates = [Path(folder) / path] if inside else []
    candidates.append(Path(folder) / path.name)
    return next((str(c) for c in candidates if has_checkpoint(str(c))), None)


def find_checkpoint(named: str | os.PathLike[str]) -> str:
    """The prefix of the checkpoint that the user named: by prefix, by one of its files, or by a
    folder. Raises `NotFoundError`."""
    path = Path(named)
    if path.is_dir():
        found = latest_checkpoint(path)
        if found is None and (path / "variables" / "variables.index").is_file():
            found = str(path / "variables" / "variables")
        if found is None:
            found = _only_index(path)
        if found is None:
            raise NotFoundError(
                f"{path}: the folder's checkpoint cannot be told",
                hint="give the prefix of the checkpoint, such as model.ckpt-1000",
            )
        return found
    prefix = _DATA.sub("", str(path))
    if not has_checkpoint(prefix):
        prefix = str(path)  # a V1 file may have any name
    if not has_checkpoint(prefix):
        raise NotFoundError(
            f"{named}: no checkpoint of this name",
            hint="give the prefix of the checkpoint, such as model.ckpt-1000, without .index",
        )
    return prefix


def _only_index(folder: Path) -> str | None:
    found = [p for p in folder.iterdir() if p.suffix == ".index"]
    return str(found[0].with_suffix("")) if len(found) == 1 else None


def checkpoint_beside(model: Path) -> str | None:
    """The checkpoint of a graph file that names none: of the same stem (`model.meta`), else the
    one that the folder's state file names, else the folder's only one."""
    prefix = str(model.with_suffix(""))
    if model.suffix and Path(prefix + ".index").is_file():
        return prefix
    if model.suffix == ".meta" and v1_files(prefix):
        return prefix
    return latest_checkpoint(model.parent) or _only_index(model.parent)


def variables_of(saved_model: Path) -> str | None:
    """The checkpoint of a SavedModel, of which the file of the graph is given."""
    prefix = saved_model.parent / "variables" / "variables"
    return str(prefix) if prefix.with_suffix(".index").is_file() else None


def files_named_as(prefix: str) -> list[Path]:
    """All files that can belong to a checkpoint, and perhaps others of similar names."""
    path = Path(prefix)
    stem = without_shard(path.name)
    return sorted(p for p in path.parent.iterdir() if p.name.startswith(stem))
