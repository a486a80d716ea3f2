"""Writes docs/coverage.md: every public name of TensorFlow's compat.v1, and whether flowc has it.

In: `flowc/api/tensorflow_names.txt` and the public API. Out: the page. `python
tests/support/pages/coverage_page.py` writes it; a test compares.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

import flowc
from flowc.api.namespaces import INSTEAD, tensorflow_names

PAGE = Path(__file__).parents[3] / "docs" / "coverage.md"
_HEAD = """\
# What flowc has of TensorFlow's names

Made by `make coverage` from the public names of `tensorflow.compat.v1` (TensorFlow 2.21, without
`tf.raw_ops` and modules of other packages). A name that flowc has means what it means there, as far
as [tf1-rows](tf1-rows.md) and the tests say; asking for one that it has not raises
`AttributeError: flowc.NAME is not provided`.

"""


def page() -> str:
    """The text of the page."""
    rows: list[tuple[str, list[str], list[str]]] = []
    for path, names in sorted(tensorflow_names().items()):
        there = [name for name in sorted(names) if _has(path, name)]
        rows.append((path, there, sorted(names - set(there))))
    total = sum(len(there) + len(missing) for _, there, missing in rows)
    found = sum(len(there) for _, there, _ in rows)
    lines = [f"**{found} of {total} names are there.**", "", "| namespace | there | of |"]
    lines.append("| --- | --- | --- |")
    lines += [f"| {p} | {len(a)} | {len(a) + len(b)} |" for p, a, b in rows]
    lines += ["", "## What to write in place of what is not there", ""]
    gone = {name for _, _, missing in rows for name in missing}
    top = {path.partition(".")[2] for path, there, _ in rows if not there}
    gone |= {n for n in INSTEAD if n.startswith("contrib")}  # which TensorFlow 1.15 had
    lines += [f"- `tf.{n}`: {text}" for n, text in INSTEAD.items() if n in gone or n in top]
    for path, there, missing in rows:
        lines += ["", f"## {path}", ""]
        lines += _paragraph("There", there) + _paragraph("Not provided", missing)
    return _HEAD + "\n".join(lines) + "\n"


def _has(path: str, name: str) -> bool:
    found: Any = flowc
    try:
        for part in [*path.split(".")[1:], name]:
            found = getattr(found, part)
    except (AttributeError, ImportError):
        return False
    return True


def _paragraph(title: str, names: list[str]) -> list[str]:
    if not names:
        return []
    text = f"{title} ({len(names)}): {', '.join(f'`{n}`' for n in names)}."
    lines = textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)
    return [*lines, ""]


if __name__ == "__main__":
    PAGE.write_text(page())
