"""The files of a checkpoint: their names, and what saves that were cut off left of them.

In: a prefix such as `model.ckpt-1000`. Out: paths. Invariant: a file that an index names, or that
a process is writing, is never removed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_SHARD = re.compile(r"-(\d+|\?+)-of-\d+$")
_DATA = re.compile(r"-\d{5}-of-(\d{5})")
STATE_FILE = "checkpoint"  # says which checkpoints a folder has


def index_path(prefix: str) -> Path:
    return Path(prefix + ".index")


def data_path(prefix: str, shard: int, count: int) -> Path:
    return Path(f"{prefix}.data-{shard:05d}-of-{count:05d}")


def sharded_name(prefix: str, shard: int, count: int) -> str:
    """TensorFlow's name for one shard; a shard below 0 stands for all."""
    number = f"{shard:05d}" if shard >= 0 else "?????"
    return f"{prefix}-{number}-of-{count:05d}"


def without_shard(name: str) -> str:
    """A name without what `sharded_name` added."""
    return _SHARD.sub("", name)


def data_files(prefix: str) -> Iterator[tuple[Path, int]]:
    """The data files of a prefix, each with the number of shards that its name speaks of."""
    path = Path(prefix)
    stem = f"{path.name}.data"
    for found in sorted(path.parent.iterdir()):
        match = found.name.startswith(stem) and _DATA.fullmatch(found.name[len(stem) :])
        if match:
            yield found, int(match[1])


def remove_data_but(prefix: str, count: int | None) -> None:
    """Removes data files which an index of `count` shards does not name (None: there is no
    index)."""
    for path, named in data_files(prefix):
        if named != count:
            path.unlink(missing_ok=True)
