"""Numbers that every program shares."""

from __future__ import annotations

from typing import Any

import numpy as np


def numbers(*shape: int, seed: int = 7, dtype: Any = np.float32) -> np.ndarray:
    """Normal numbers of a shape, the same each time."""
    return np.random.default_rng([seed, *shape]).normal(size=shape).astype(dtype)


def integers(*shape: int, low: int = 0, high: int = 10, dtype: Any = np.int32) -> np.ndarray:
    """Integers in [low, high), the same each time."""
    return np.random.default_rng([5, *shape]).integers(low, high, shape).astype(dtype)


def definite(*shape: int) -> np.ndarray:
    """Symmetric positive definite matrices [..., n, n] for a shape [..., n]."""
    a = numbers(*shape, shape[-1])
    return (a @ a.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])).astype(np.float32)
