"""Where a model is, and in which state its files are.

In: what the user named. Out: the file of the graph, and a text of all that reading it depends on.
Invariant: two states are equal only if reading gives the same Graph.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from flowc.checkpoint.locate import (
    checkpoint_beside,
    files_named_as,
    find_checkpoint,
    folder_of,
    variables_of,
)
from flowc.dataclass import dataclass
from flowc.errors import FlowcError, NotFoundError
from flowc.files.cache_folder import toolchain
from flowc.files.identity import identity
from flowc.files.plain_file import lies_within


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What `load_graph` was given."""

    path: str
    checkpoint: str | None
    tags: frozenset[str] | None
    signature: str | None
    allow_links: bool = False

    def in_full(self) -> ModelRequest:
        """The request with absolute paths, so that it names the same files in any working
        directory."""
        checkpoint = None if self.checkpoint is None else os.path.abspath(self.checkpoint)
        return replace(self, path=os.path.abspath(self.path), checkpoint=checkpoint)

    def state(self) -> str | None:
        """The files, their identities, and the versions of what reads them; None where they were
        changed just now or are not there."""
        path = Path(self.path)
        try:
            file = saved_model_file(path) if os.path.isdir(path) else path
            files = [file]
            folder = file.parent if self.checkpoint is None else folder_of(self.checkpoint)
            for prefix in self._prefixes(file):
                if not self.allow_links and not lies_within(Path(prefix).parent, folder):
                    return None
                files += files_named_as(prefix)
            identities = [identity(f.stat()) for f in files]
        except (OSError, ValueError, FlowcError):
            return None  # reading says what is wrong
        lines = [f"{f.name} {i}" for f, i in zip(files, identities) if i is not None]
        if len(lines) < len(files):
            return None
        tags = None if self.tags is None else sorted(self.tags)
        versions = f"{toolchain()}, numpy {np.__version__}"
        asked = repr((tags, self.signature, self.allow_links))
        return "\n".join([*lines, asked, versions])

    def _prefixes(self, file: Path) -> list[str]:
        """Every checkpoint that reading may open."""
        if self.checkpoint is not None:
            return [find_checkpoint(self.checkpoint, allow_links=self.allow_links)]
        beside = checkpoint_beside(file, allow_links=self.allow_links)
        return [p for p in (beside, variables_of(file)) if p is not None]


def saved_model_file(folder: Path) -> Path:
    """The message of a SavedModel folder. Raises `NotFoundError` where it holds none."""
    for name in ("saved_model.pb", "saved_model.pbtxt", "saved_model.json"):
        if os.path.exists(folder / name):
            return folder / name
    metas = sorted(p.name for p in folder.glob("*.meta"))
    raise NotFoundError(
        f"{folder}: the folder holds no saved_model.pb or saved_model.pbtxt",
        hint=f"name the file: {', '.join(metas[:3])}" if metas else "name a model file",
    )
