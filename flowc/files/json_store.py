"""Small facts that outlive a process, in a folder of the cache.

In: a subject (a text) and facts about it (plain data). Out: the same facts for the same subject.
A note that is damaged is none. Every failure to write is logged.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from flowc.errors import FlowcError, UsageError
from flowc.files.cache_folder import tell_not_written
from flowc.files.plain_file import PlainFile

LIMIT = 64  # notes in one folder: the oldest go first


class Notes:
    """Notes in the files of one folder, which is made when the first is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, subject: str) -> dict[str, str]:
        """The notes on a subject; empty where none were written, or they cannot be read."""
        try:
            file = PlainFile(self._path(subject))
            found: Any = json.loads(bytes(file.read(0, len(file))))
        except (OSError, ValueError, RecursionError, FlowcError):
            return {}
        facts = found.get("facts") if isinstance(found, dict) else None
        if not isinstance(facts, dict) or found.get("subject") != subject:
            return {}
        return facts if all(isinstance(fact, str) for fact in facts.values()) else {}

    def add(self, subject: str, found: dict[str, str]) -> None:
        """Notes more of a subject."""
        from flowc.files.safe_write import replacing  # late: most processes only read

        path, facts = self._path(subject), self.read(subject) | found
        try:
            self.folder.mkdir(exist_ok=True, mode=0o700)
            with replacing(path, private=True) as file:
                file.write(json.dumps({"subject": subject, "facts": facts}).encode())
            for old in sorted(self.folder.glob("*.json"), key=_changed)[:-LIMIT]:
                old.unlink(missing_ok=True)
        except (OSError, UsageError) as error:
            tell_not_written("the note", error)

    def _path(self, subject: str) -> Path:
        return self.folder / f"{hashlib.sha256(subject.encode()).hexdigest()[:32]}.json"


def _changed(note: Path) -> float:
    """When a note was written; 0 for one that another process has removed."""
    try:
        return note.stat().st_mtime
    except FileNotFoundError:
        return 0
