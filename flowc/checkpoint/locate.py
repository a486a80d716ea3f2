"""Where a model's checkpoint is.

In: what the user named, or the model's own path. Out: a prefix that `CheckpointReader` opens.
Invariant: what a folder's state file says never leads out of that folder; unless links are
allowed, nor does any file that is opened (`within`: see `PlainFile`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from flowc.checkpoint.names import STATE_FILE, without_shard
from flowc.checkpoint.table import FOOTER, is_table
from flowc.encoding.wire import FileBytes
from flowc.errors import InvalidModelError, NotFoundError
from flowc.files.plain_file import PlainFile, lies_within

_DATA = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")


def v1_files(prefix: str, within: Path | None = None) -> list[Path]:
    """The files of a V1 checkpoint of this name: the file itself, or its shards, which a name with
    `?` for the digits means, too."""
    path = Path(prefix)
    if os.path.exists(path) and not os.path.isdir(path):
        return [path] if _is_v1(path, within) else []
    stem = without_shard(path.name.removesuffix("-?????-of-?????"))
    if not os.path.isdir(path.parent) or not lies_within(path.parent, within):
        return []
    pattern = re.compile(re.escape(stem) + r"-\d{5}-of-\d{5}")
    found = sorted(p for p in path.parent.iterdir() if pattern.fullmatch(p.name))
    return [p for p in found if _is_v1(p, within)]


def _is_v1(path: Path, within: Path | None) -> bool:
    file = PlainFile(path, within)
    end = file.read(max(0, len(file) - FOOTER), len(file))
    return is_table(FileBytes(end, file.name))


def has_checkpoint(prefix: str, within: Path | None = None) -> bool:
    """Whether there are files of a checkpoint of this prefix."""
    return os.path.exists(prefix + ".index") or bool(v1_files(prefix, within))


def latest_checkpoint(folder: str | os.PathLike[str], *, allow_links: bool = False) -> str | None:
    """The checkpoint that a folder's state file names, or None where the folder has no such file.

    Only the folder itself is looked in: a path that leads elsewhere counts by its last part, so
    that a folder that was moved or copied still works.
    """
    state_file = Path(folder) / STATE_FILE
    if not os.path.exists(state_file):
        return None
    # Late: it takes as long as reading a model.
    from flowc.checkpoint.state_file import read_state

    within = None if allow_links else Path(folder)
    PlainFile(state_file, within)  # a folder of that name is no state, and no lack of one
    state = read_state(state_file, within)
    named = "" if state is None else state.model_checkpoint_path
    if not named:
        return None
    if "\0" in named:
        raise InvalidModelError(f"{state_file}: no checkpoint has the name {named!r}")
    path = Path(named)
    inside = not path.is_absolute() and ".." not in path.parts
    candidates = [Path(folder) / path] if inside else []
    candidates.append(Path(folder) / path.name)
    return next((str(c) for c in candidates if has_checkpoint(str(c), within)), None)


def folder_of(named: str | os.PathLike[str]) -> Path:
    """The folder that the files of a checkpoint lie in, as the user named it."""
    path = Path(named)
    return path if os.path.isdir(path) else path.parent


def find_checkpoint(named: str | os.PathLike[str], *, allow_links: bool = False) -> str:
    """The prefix of the checkpoint that the user named: by prefix, by one of its files, or by a
    folder. Raises `NotFoundError`."""
    path = Path(named)
    within = None if allow_links else folder_of(path)
    if os.path.isdir(path):
        found = latest_checkpoint(path, allow_links=allow_links)
        if found is None and os.path.exists(path / "variables" / "variables.index"):
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
    if not has_checkpoint(prefix, within):
        prefix = str(path)  # a V1 file may have any name
    if not has_checkpoint(prefix, within):
        raise NotFoundError(
            f"{named}: no checkpoint of this name",
            hint="give the prefix of the checkpoint, such as model.ckpt-1000, without .index",
        )
    return prefix


def _only_index(folder: Path) -> str | None:
    found = [p for p in folder.iterdir() if p.suffix == ".index"]
    return str(found[0].with_suffix("")) if len(found) == 1 else None


def checkpoint_beside(model: Path, *, allow_links: bool = False) -> str | None:
    """The checkpoint of a graph file that names none: of the same stem (`model.meta`), else the
    one that the folder's state file names, else the folder's only one."""
    prefix = str(model.with_suffix(""))
    if model.suffix and os.path.exists(prefix + ".index"):
        return prefix
    if model.suffix == ".meta" and v1_files(prefix, None if allow_links else model.parent):
        return prefix
    latest = latest_checkpoint(model.parent, allow_links=allow_links)
    return latest or _only_index(model.parent)


def variables_of(saved_model: Path) -> str | None:
    """The checkpoint of a SavedModel, of which the file of the graph is given."""
    index = variables_index(saved_model)
    return str(index.with_suffix("")) if os.path.exists(index) else None


def variables_index(saved_model: Path) -> Path:
    """Where the index of a SavedModel's checkpoint lies; `saved_model`: the file of the graph."""
    return saved_model.parent / "variables" / "variables.index"


def files_named_as(prefix: str) -> list[Path]:
    """All files that can belong to a checkpoint, and perhaps others of similar names."""
    path = Path(prefix)
    stem = without_shard(path.name)
    return sorted(p for p in path.parent.iterdir() if p.name.startswith(stem))
