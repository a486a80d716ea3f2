"""What notebooks show of models and programs: a table of inputs and outputs, as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def table_of(title: str, sides: Mapping[str, Iterable[tuple[str, str]]]) -> str:
    """The table: for each side (`inputs`) the names and the types."""
    from html import escape  # late: its table of entities takes longer than to load a model

    rows = [
        f"<tr><th>{escape(side)}</th><td>{escape(name)}</td><td>{escape(kind)}</td></tr>"
        for side, ports in sides.items()
        for name, kind in ports
    ]
    return f"<table><caption>{escape(title)}</caption>{''.join(rows)}</table>"
