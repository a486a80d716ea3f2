"""Where the random nodes of a Session or a program start.

In: the starts that an extraction found: states that seeds decide, None for nodes without seeds.
Out: states. Invariant: a chosen seed gives each node the same numbers in every process, and no two
nodes the same stream.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Mapping
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def first_states(starts: Mapping[str, Array | None], seed: int | None = None) -> dict[str, Array]:
    """A state for every name. `seed`: what nodes without seeds start from, instead of numbers that
    nobody can foresee."""
    return {name: _chosen(name, seed) if start is None else start for name, start in starts.items()}


def _chosen(name: str, seed: int | None) -> Array:
    """[counter, its upper half, key]: the counter starts at 0."""
    if seed is None:
        drawn = secrets.token_bytes(16)
    else:
        drawn = hashlib.sha256(f"{seed} {name}".encode()).digest()[:16]
    return np.array([0, *np.frombuffer(drawn, "<i8")], np.int64)
