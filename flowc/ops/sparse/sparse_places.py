"""Places of sparse tensors: what they must be, their order, and where one stands among others.

In: places [n, rank] and sizes [rank], which the run knows. Out: errors in TensorFlow's words, and
positions. Invariant: places become numbers in row-major order, equal ones for equal places.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference

Array = np.ndarray[Any, Any]
NUMERIC = "{f32, f64, i32, u8, i16, i8, c64, i64, bf16, u16, c128, f16, u32, u64}"
MOST = (1 << 63) - 1  # of elements along an axis
ORDERED = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"


def check_sparse(c: Inference, indices: int, values: int, shape: int) -> None:
    """Three inputs are a sparse tensor."""
    for name, i, rank in (
        ("indices must be a matrix", indices, 2),
        ("values must be a vector", values, 1),
        ("shape must be a vector", shape, 1),
    ):
        fault = f"Shape must be rank {rank} but is rank {c.rank(i)}: {name}"
        c.need_rank(i, rank, fault)
    (places, axes), (count,), (rank,) = c.dims(indices), c.dims(values), c.dims(shape)
    c.equal(
        places, count, f"Number of elements in indices ({places}) and values ({count}) do not match"
    )
    c.equal(axes, rank, f"Index rank ({axes}) and shape rank ({rank}) do not match")


def check_sizes(sizes: Array) -> None:
    """Sizes that the run gives are those of a tensor."""
    if np.any(sizes < 0):
        raise InvalidArgumentError(
            f"Expected shape dimensions to be non-negative, got {int(sizes.min())}"
        )


def check_places(indices: Array, sizes: Array) -> None:
    """Places are within the sizes, in row-major order and once each."""

    def shown(at: int) -> str:
        return f"indices[{at}] = [{','.join(map(str, indices[at]))}]"

    outside = np.flatnonzero(np.any((indices < 0) | (indices >= sizes), axis=1))
    if len(outside):
        need = f"need 0 <= index < [{','.join(map(str, sizes))}]"
        raise InvalidArgumentError(f"{shown(outside[0])} is out of bounds: {need}")
    order = in_order(indices)
    late = np.flatnonzero(order != np.arange(len(order)))
    if len(late):
        at = int(late[0]) + 1
        while not tuple(indices[at]) < tuple(indices[at - 1]):
            at += 1
        raise InvalidArgumentError(
            f"{shown(at)} is out of order. Many sparse ops require sorted indices."
        )
    twice = np.flatnonzero((indices[1:] == indices[:-1]).all(axis=1))
    if len(twice):
        raise InvalidArgumentError(f"{shown(twice[0] + 1)} is repeated")


def linear(indices: Array, sizes: Sequence[int]) -> Array:
    """Where places stand in row-major order, in a tensor of at most MOST elements."""
    found = np.zeros(len(indices), np.int64)
    for axis, size in enumerate(sizes):
        found = found * size + indices[:, axis]
    return found


def numbered(indices: Array, sizes: Sequence[int]) -> Array:
    """Places as numbers: equal ones for equal places, in row-major order."""
    if math.prod(sizes) <= MOST:
        return linear(indices, sizes)
    return np.unique(indices, axis=0, return_inverse=True)[1].reshape(-1)


def in_order(indices: Array) -> Array:
    """What puts places in row-major order, equal ones as they come."""
    if not indices.shape[1]:
        return np.arange(len(indices))
    return np.lexsort(indices.T[::-1])


def results(*arrays: Any) -> list[Array]:
    """What a step gives: arrays whose elements stand one after another."""
    return [np.require(a, requirements="C") for a in arrays]


def need_as_many(c: Inference, i: int, name: str) -> None:
    """Fails where there is not a gradient for each place of input i."""
    given, places = c.dims(0)[0], c.dims(i)[0]
    fault = (
        f"# elements of backprop_val_grad and # rows of {name} should match (#nnz of sum): got "
        f"{given} and {places}"
    )
    c.equal(given, places, fault)


def found_in(places: Array, others: Array) -> Array:
    """Where each place stands among others, -1 where it does not."""
    where = {tuple(place): i for i, place in enumerate(others.tolist())}
    return np.array([where.get(tuple(place), -1) for place in places.tolist()], np.int64)


def taken(values: Array, at: Array) -> Array:
    """The values at positions, 0 for none."""
    found = np.zeros(len(at), values.dtype)
    found[at >= 0] = values[at[at >= 0]]
    return found
