"""One thing that peers are compared on: a function of tensors, and the arrays that it is run with.

In: sizes. Out: `Case`s, and arrays and constants for them. Weights are constants, as in frozen
models, and every number comes from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

Array = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Case:
    """`kind`: the part of the report that it stands in; `make` gives the function, once it is
    wanted, so that weights are only made then."""

    name: str
    kind: str
    arrays: tuple[Array, ...]
    make: Callable[[], Callable[..., Any]]


def normal(*dims: int, seed: int = 0) -> Array:
    random = np.random.default_rng([seed, *dims])
    return random.standard_normal(dims, np.float32)


def weight(*dims: int, seed: int = 0) -> Any:
    """A constant whose products keep the scale of what they are given."""
    return tf.constant(normal(*dims, seed=seed) / np.float32(np.sqrt(np.prod(dims[:-1]))))


def image(size: int, batch: int = 1, most: float = 1.0) -> Array:
    return (np.random.default_rng(size).random((batch, size, size, 3)) * most).astype(np.float32)
