"""A program as machine code, weights and plain metadata: what caches and libraries hold.

In: program.py makes it. Out: jit.py loads it, aot.py links it. Imports neither Numba nor LLVM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

WEIGHT_ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class StateVariable:
    """A variable that a library keeps in its instances: which of the program's inputs it is (None:
    it is not read), which of its outputs (None: not written), and its first value, if any.

    `is_random`: the state of a random node, which flowc made: it always has a value, by which each
    plain run starts; without `initial` every instance chooses one for itself."""

    name: str
    input: int | None
    output: int | None
    initial: np.ndarray | None = None
    is_random: bool = False


@dataclass(slots=True)
class CompiledProgram:
    """`objects`: relocatable ELF files (kernels, driver). `weights`: (offset, array) pieces of the
    weights, 64-byte aligned; `metadata`: plain data (names, types, sizes, errors). `runtime`: the
    object with the thread pool and the arena, which a library links and a process loads once."""

    objects: tuple[bytes, ...]
    weights: list[tuple[int, np.ndarray]]
    metadata: dict[str, Any]
    runtime: bytes = b""

    def weights_image(self) -> np.ndarray:
        """All weights as one 64-byte aligned array of bytes; the piece itself where it is one."""
        size = int(self.metadata["weights_bytes"])
        if len(self.weights) == 1 and self.weights[0][1].nbytes == size:
            only = self.weights[0][1]
            if only.dtype == np.uint8 and only.ctypes.data % WEIGHT_ALIGNMENT == 0:
                return only
        raw = np.zeros(size + WEIGHT_ALIGNMENT, np.uint8)
        start = -raw.ctypes.data % WEIGHT_ALIGNMENT
        image = raw[start : start + size]
        for offset, array in self.weights:
            flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
            image[offset : offset + flat.size] = flat
        return image
