"""Classifies the test images with the compiled model: NumPy and `flowc_runtime` are all it needs.

    python run.py model.so

Prints the accuracy, how far the probabilities lie from those that TensorFlow gave, and the time of
a run. Exits with 1 when the model is worse than 97 % or further than 1e-5 from TensorFlow.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import flowc_runtime

FOLDER = Path(__file__).parent


def best_seconds(model: flowc_runtime.Model, images: NDArray[np.float32], times: int) -> float:
    """The time of the fastest of several runs."""
    found: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        model(images)
        found.append(time.perf_counter() - start)
    return min(found)


def main(path: str) -> int:
    model = flowc_runtime.load(path)
    print(model)
    with np.load(FOLDER / "test.npz") as data:
        images, labels = data["images"], data["labels"]
        expected = data["tensorflow_probabilities"]

    probabilities = model(images)
    accuracy = float((probabilities.argmax(axis=1) == labels).mean())
    distance = float(np.abs(probabilities - expected).max())
    print(f"accuracy: {accuracy:.2%} of {len(labels)} test images")
    print(f"largest difference from TensorFlow's probabilities: {distance:.2g}")

    batch = best_seconds(model, images, 50)
    single = best_seconds(model, images[:1], 200)
    print(f"{len(images)} images: {batch * 1e6:.0f} us; one image: {single * 1e6:.0f} us")
    print(f"modules of TensorFlow or Numba loaded: {foreign() or 'none'}")
    return 0 if accuracy > 0.97 and distance < 1e-5 else 1


def foreign() -> list[str]:
    return [name for name in ("tensorflow", "numba", "llvmlite", "flowc") if name in sys.modules]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
