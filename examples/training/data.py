"""Small data sets that the programs of this folder train on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIGITS = Path(__file__).parents[1] / "digits" / "test.npz"


def digits() -> tuple[NDArray[Any], NDArray[Any]]:
    """360 of scikit-learn's digits: images f32[360, 8, 8] in [0, 1], labels i32[360]."""
    with np.load(DIGITS) as arrays:
        return arrays["images"], arrays["labels"].astype(np.int32)


def batches(count: int, size: int, steps: int, seed: int = 0) -> Iterator[NDArray[Any]]:
    """The rows of `steps` batches, drawn without order."""
    random = np.random.RandomState(seed)
    for _ in range(steps):
        yield random.randint(0, count, size)
