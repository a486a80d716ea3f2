"""Where a model's checkpoint is.

In: what the user named, or the model's own path. Out: a prefix that `CheckpointReader` opens.
Invariant: what a folder's state file says never leads out of that folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from flowc.checkpoint.table import is_table
from flowc.encoding.wire import open_region
from flowc.errors import InvalidModelError, NotFoundError

_DATA = re.compile(r"\.(index|meta|data-\d{5}-of-\d{5})$")
_SHARD = re.compile(r"-(\d{5}|\?{5})-of-(\d{5}|\?{5})$")
STATE_FILE = "checkpoint"


def v1_files(prefix: str) -> list[Path]:
    """The files of a V1 checkpoint of this name: the file itself, or its shards."""
    path = Path(prefix)
    if path.is_file():
        return [path] if is_table(open_region(path)) else []
    stem = _SHARD.sub("", path.name)
    if not path.parent.is_dir():
        return []
    pattern = re.compile(re.escape(stem) + r"-\d{5}-of-\d{5}")
    found = sorted(p for p in path.parent.iterdir() if pattern.fullmatch(p.name))
    return [p for p in found if is_table(open_region(p))]


def _exists(prefix: str) -> bool:
    return Path(prefix + ".index").is_file() or bool(v1_files(prefix))


def latest_checkpoint(folder: str | os.PathLike[str]) -> str | None:
    """The checkpoint that a folder's state file names, or None where the folder has no such file.

    Only the folder itself is looked in: a path that leads elsewhere counts by its last part, so
    that a folder that was moved or copied still works.
    """
    state_file = Path(folder) / STATE_FILE
    if not state_file.is_file():
        return None
    # Late: they take as long as reading a model.
    from google.protobuf import text_format

    from flowc.proto.checkpoint_pb2 import CheckpointState

    try:
        text = state_file.read_text("utf-8")
        state = text_format.Parse(text, CheckpointState(), allow_unknown_field=True)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise InvalidModelError(f"{state_file}: no checkpoint state: {error}") from None
    named = state.model_checkpoint_path
    if not named:
        return None
    path = Path(named)
    inside = not path.is_absolute() and ".." not in path.parts
    candidates = [Path(folder) / path] if inside else []
    candidates.append(Path(folder) / path.name)
    return next((str(c) for c in candidates if _exists(str(c))), None)


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
    if not _exists(prefix):
        prefix = str(path)  # a V1 file may have any name
    if not _exists(prefix):
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
    stem = _SHARD.sub("", path.name)
    return sorted(p for p in path.parent.iterdir() if p.name.startswith(stem))
