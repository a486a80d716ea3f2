"""TensorFlow's stream of random words for two seeds, and the seeds of an epoch.

In: seeds. Out: 32-bit words, one after the other. Invariant: equal seeds give TensorFlow's words.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from flowc.ops.random.bits import philox_words

FIRST, MOST = 16, 4096  # counters at once
WORDS = 4  # of a counter
MASK = (1 << 64) - 1


def random_words(seed: int, seed2: int, drawn: int = 0) -> Iterator[int]:
    """The words of Philox with `seed` as its key, and `seed2` as the upper half of its counter,
    behind those that were drawn."""
    return islice(_words(seed, seed2, drawn // WORDS), drawn % WORDS, None)


def _words(seed: int, seed2: int, at: int) -> Iterator[int]:
    count = FIRST
    while True:
        counters = np.empty((count, 2), np.uint64)
        counters[:, 0] = np.arange(at, at + count, dtype=np.uint64)
        counters[:, 1] = seed2 & MASK
        yield from philox_words(seed & MASK, counters).reshape(-1).tolist()
        at += count
        count = min(2 * count, MOST)


def chosen_seeds(given: Any) -> tuple[int, int]:
    """The seeds of a node; others each time where both are 0."""
    seeds = given.number("seed"), given.number("seed2")
    return seeds if any(seeds) else (secrets.randbits(63), secrets.randbits(63))
