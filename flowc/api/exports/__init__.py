"""Which module holds which public name, a file a family.

In: `TOP`, the names of `flowc`, and `NAMESPACES`, those of `flowc.nn` and its like, of each file:
by module, `name`, or `name=name there`. Out: tables for `namespaces.py`. Invariant: every name is
there, and importing this imports none of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from flowc.api.exports import (
    arrays,
    data,
    distributions,
    extensions,
    graphs,
    inputs,
    matrices,
    media,
    profiles,
    records,
    training,
)
from flowc.api.namespaces import Namespace, entries, namespaces

_FAMILIES = (
    graphs,
    arrays,
    data,
    distributions,
    extensions,
    inputs,
    matrices,
    media,
    profiles,
    records,
    training,
)


def _by_path() -> dict[str, list[Mapping[str, str]]]:
    """The tables of each namespace."""
    found: dict[str, list[Mapping[str, str]]] = {}
    for family in _FAMILIES:
        for path, table in family.NAMESPACES.items():
            found.setdefault(path, []).append(table)
    return found


TOP: dict[str, tuple[str, str]] = entries([family.TOP for family in _FAMILIES])
NAMESPACES: dict[str, Namespace] = namespaces(_by_path())
