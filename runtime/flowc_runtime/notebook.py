"""What notebooks show of models and programs: a table of inputs and outputs, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape


def table_of(title: str, sides: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """The table: for each side (`inputs`) the names and the types."""
    rows = [
        f"<tr><th>{escape(side)}</th><td>{escape(name)}</td><td>{escape(kind)}</td></tr>"
        for side, ports in sides.items()
        for name, kind in ports
    ]
    return f"<table><caption>{escape(title)}</caption>{''.join(rows)}</table>"
