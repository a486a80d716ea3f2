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


def _merged(*tables: Mapping[str, str]) -> dict[str, str]:
    """Tables of modules as one."""
    modules = {module: None for table in tables for module in table}
    return {module: " ".join(table.get(module, "") for table in tables) for module in modules}


_SPACES = [family.NAMESPACES for family in _FAMILIES]
_ALL = {n: _merged(*(s.get(n, {}) for s in _SPACES)) for spaces in _SPACES for n in spaces}
TOP: dict[str, tuple[str, str]] = entries(_merged(*(family.TOP for family in _FAMILIES)))
NAMESPACES: dict[str, Namespace] = namespaces(_ALL)
