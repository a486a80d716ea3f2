"""What the commands share that turn a model into another one: arguments, files, words."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowc.tools.model_file import ModelFile


def change_model(
    path: str,
    out: str,
    tags: str | None,
    allow_links: bool,
    force: bool,
    change: Callable[[ModelFile], list[str]],
) -> None:
    """Reads a model, has it changed, writes it, and says on stderr what was done."""
    from flowc.importer.formats import Kind
    from flowc.tools.model_file import check_out, read_model_file, write_model_file

    model = read_model_file(Path(path), tags, allow_links)
    if model.kind is Kind.SAVED_MODEL:
        check_out(model, Path(out))
    else:
        check_free(Path(path), Path(out), force)
    notes = change(model)
    notes += write_model_file(model, Path(out))
    say(notes, Path(out))


def check_free(model: Path, out: Path, force: bool) -> None:
    """Raises `UsageError` where the new model would replace a file: that of the model never, which
    may be the only one of its kind; another only with `force`, as nothing says who wrote it."""
    from flowc.errors import UsageError
    from flowc.files.safe_write import check_place

    check_place(out)
    if not out.exists():
        return
    if out.samefile(model):
        raise UsageError(f"-o {out}: this is the model that is read", hint="another -o")
    if not force:
        raise UsageError(f"-o {out}: this is there", hint="another -o, or --force")


def say(notes: Sequence[str], out: Path) -> None:
    for note in notes:
        print(note, file=sys.stderr)
    print(f"wrote {out}", file=sys.stderr)


def names(texts: Sequence[str]) -> list[str]:
    """The names of an option that takes several, also with commas."""
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def pairs(
    option: str, texts: Sequence[str], mark: str, may_be_empty: bool = False
) -> list[tuple[str, str]]:
    """What stands before and behind the mark in each text. Raises `UsageError`."""
    from flowc.errors import UsageError

    found: list[tuple[str, str]] = []
    for text in texts:
        left, between, right = text.partition(mark)
        if not left or not between or not (right or may_be_empty):
            raise UsageError(f"{option} {text!r}: expected two parts with {mark} between them")
        if mark == "~":
            try:
                re.compile(right)
            except re.error as error:
                raise UsageError(f"{option} {text!r}: no regular expression: {error}") from None
        found.append((left.strip(), right.strip()))
    return found
