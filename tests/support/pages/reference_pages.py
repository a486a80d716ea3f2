"""Writes the reference of the public API, a page of Markdown for each namespace, from docstrings.

    python tests/support/pages/reference_pages.py FOLDER

In: the tables of exports. Out: `flowc.md`, `flowc.nn.md`... and `README.md`, which lists them.
Invariant: every public name is on the page of its namespace.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import flowc as tf
from flowc.api import exports


def pages() -> dict[str, str]:
    """The text of each page, by the name of its namespace."""
    found = {"flowc": _page("flowc", tf, exports.TOP)}
    left = [*exports.NAMESPACES.values()]
    while left:
        space = left.pop()
        found[space.__name__] = _page(space.__name__, space, space._names)
        left += space._inner.values()
    return dict(sorted(found.items()))


def _page(path: str, owner: Any, names: Iterable[str]) -> str:
    parts = [f"# {path}"]
    for name in sorted(names, key=str.lower):
        parts.append("\n".join(_entry(f"{path}.{name}", name, getattr(owner, name))))
    return "\n\n".join(parts) + "\n"


def _entry(path: str, name: str, value: Any) -> Iterator[str]:
    yield f"## {name}\n"
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        yield f"`{path}`: {type(value).__name__}"
        return
    yield f"```python\n{path}{_signature(value)}\n```\n"
    yield inspect.getdoc(value) or ""
    if inspect.isclass(value) and value.__module__.startswith("flowc."):
        yield from _methods(value)


def _methods(kind: type) -> Iterator[str]:
    """The public methods that a class of flowc's has of its own."""
    for name, member in sorted(vars(kind).items()):
        inner = getattr(member, "__func__", member)
        if not name.startswith("_") and inspect.isfunction(inner):
            yield f"\n### {kind.__name__}.{name}\n"
            yield f"```python\n{name}{_signature(inner)}\n```\n"
            yield inspect.getdoc(inner) or ""


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except (TypeError, ValueError):
        return "(...)"


def write(folder: Path) -> None:
    """All pages, and the list of them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = pages()
    for path, text in made.items():
        (folder / f"{path}.md").write_text(text)
    lines = [f"- [{path}]({path}.md)" for path in made]
    (folder / "README.md").write_text("\n".join(["# Reference", "", *lines]) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
