"""Random transposes that are padded, cut and joined with other arrays: what loop kernels walk in
stretches, and in tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from tensor_types import tensor_type

from flowc import dtypes
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation

Array = np.ndarray[Any, Any]
TYPES = (dtypes.f32, dtypes.f32, dtypes.f64, dtypes.u8, dtypes.f16)


def random_moves(seed: int) -> tuple[Computation, list[Array], Array]:
    """A Computation, what it is given, and its one result."""
    rng, b = np.random.default_rng(seed), Builder()
    dtype = TYPES[rng.integers(len(TYPES))]
    given: list[Array] = []

    def new(shape: tuple[int, ...]) -> tuple[Any, Array]:
        given.append((rng.standard_normal(shape) * 50).astype(dtype.numpy))
        return b.parameter(f"x{len(given)}", tensor_type(dtype, shape)), given[-1]

    rank = int(rng.integers(2, 5))
    sizes = rng.choice([1, 2, 3, 5, 16, 17, 28, 32, 48, 64, 65, 100], rank)
    while np.prod(sizes) > 400_000:
        sizes = np.maximum(sizes // 2, 1)
    value, array = new(tuple(map(int, sizes)))
    order = np.array(rng.permutation(rank), np.int32)
    if rng.random() < 0.5:  # the last axis is moved
        order = np.roll(np.arange(rank, dtype=np.int32), int(rng.integers(1, rank)))
    value, array = b.transpose(value, order), array.transpose(order)
    for _ in range(int(rng.integers(1, 4))):
        match rng.integers(3):
            case 0:
                most = rng.choice([1, 3, 17, 64])
                pads = rng.integers(0, most + 1, (rank, 2)) * (rng.random((rank, 1)) < 0.6)
                value, array = b.pad(value, pads.astype(np.int32)), np.pad(array, pads)
            case 1:
                axis = int(rng.integers(rank))
                shape = list(array.shape)
                shape[axis] = int(rng.integers(1, 40))
                other, joined = new(tuple(shape))
                value = b.concat(value, other, np.int32(axis))
                array = np.concatenate([array, joined], axis)
            case _:
                value, array = b.add(value, value), array + array
        if array.size > 1_000_000:
            break
    return b.build([value]), given, array
