"""What clustering starts from: the nearest centers of points, and points to start from.

In: points, centers, distances, seeds. Out: TensorFlow's centers, and its choices for the same
seeds. Invariant: of centers that are as near the first counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, ResourceExhaustedError
from flowc.ir.dims import minimum
from flowc.ir.host_run import held
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.random.candidates import words_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]
f32 = np.float32

MOST_RETRIES = 1 << 12


# -- nearest centers


def _infer_nearest(c: Inference) -> list[Dims]:
    for i, name in enumerate(("points", "centers")):
        c.need_rank(i, 2, f"Input {name} should be a matrix.")
    (count, width), (centers, given) = c.dims(0), c.dims(1)
    if count == 0:
        raise c.fail("Expected points.rows() > 0.")
    c.equal(width, given, f"Expected point_dimensions == center_dimensions: {width} vs {given}.")
    k = c.need_size(2, "Need k >= 0, got {size}")
    dims = (count, minimum(k, centers))
    return [dims, dims]


def _build_nearest(b: Builder, node: Node) -> list[Value]:
    points, centers, _ = node.inputs
    axis, half = np.int32(1), np.float32(0.5)
    own, others = (b.mul(b.sum(b.square(v), axis), half) for v in (points, centers))
    k = b.sizes((node.outputs[0].dims[1],))
    nearness = b.sub(b.mat_mul(points, centers, transpose_b=True), others)
    found, places = b.top_k(nearness, b.reshape(k, ()))
    distances = b.mul(b.sub(b.reshape(own, (points.dims[0], 1)), found), np.float32(2))
    return [b.cast(places, DstT=dtypes.i64), distances]


def _nearest(points: Array, centers: Array, k: Array) -> list[Array]:
    half = f32(0.5) * (centers**2).sum(1) - points @ centers.T
    places = np.argsort(half, 1, kind="stable")[:, : min(int(k), len(centers))]
    own = f32(0.5) * (points**2).sum(1, keepdims=True)
    return [places.astype(np.int64), 2 * (own + np.take_along_axis(half, places, 1))]


define(
    "nearest_neighbors",
    "NearestNeighbors(points: f32, centers: f32, k: i64)"
    " -> (nearest_center_indices: i64, nearest_center_distances: f32)",
    infer=_infer_nearest,
    lowering=Decompose(_build_nearest),
    reference=_nearest,
    examples=(
        "f32[5,3] f32[4,3] i64[]=2",
        "f32[3,2] f32[4,2] i64[]=7",
        "f32[2,2] f32[3,2] i64[]=0",
    ),
)


# -- points to start from


class _Draws:
    """The words of a seed as TensorFlow's simple generator takes them, one by one."""

    def __init__(self, seed: int) -> None:
        key = np.array([seed % (1 << 64)], np.uint64)
        self._words: Iterator[int] = words_of(key, np.zeros(2, np.uint64))

    def share(self) -> np.float32:
        """A number of [0, 1)."""
        return f32(next(self._words) & 0x7FFFFF) / f32(1 << 23)

    def below(self, limit: int) -> int:
        least = 0 if limit & (limit - 1) == 0 else (2**64 - 1) % limit + 1
        found = self._wide()
        while found < least:
            found = self._wide()
        return found % limit

    def _wide(self) -> int:
        low = next(self._words)
        return next(self._words) << 32 | low


def _chain(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    """The last state of a Markov chain over points, which prefers those far away."""
    distances, seed = held(inputs[0]), int(held(inputs[1]))
    draws, chosen = _Draws(seed), 0
    for i in range(1, len(distances)):
        if distances[i] > draws.share() * distances[chosen]:
            chosen = i
    return [np.asarray(chosen, np.int64)]


def _infer_chain(c: Inference) -> Dims:
    c.need_rank(0, 1, "Input distances should be a vector.")
    c.need_rank(1, 0, "Input seed should be a scalar.")
    if c.dims(0)[0] == 0:
        raise c.fail("Expected distances_tensor.size() > 0.")
    return ()


host_op(
    "kmc2_chain_initialization",
    "KMC2ChainInitialization(distances: f32, seed: i64) -> index: i64",
    _chain,
    infer=_infer_chain,
)


def _infer_start(c: Inference) -> Dims:
    c.need_rank(0, 2, "Input points should be a matrix.")
    for i, name in ((2, "seed"), (3, "num_retries_per_sample")):
        c.need_rank(i, 0, f"Input {name} should be a scalar.")
    return (c.need_size(1, "Expected num_to_sample > 0."), c.dims(0)[1])


def _start(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    """Points, each drawn in proportion to the squared distance from those drawn before it, as the
    best of several tries."""
    points = held(inputs[0])
    wanted, seed, retries = (int(held(x)) for x in inputs[1:])
    if not 0 < wanted <= len(points):
        text = f"Expected num_to_sample <= points.rows(). {wanted} vs {len(points)}."
        raise InvalidArgumentError(text if wanted > 0 else "Expected num_to_sample > 0.")
    retries = retries if retries >= 0 else 2 + int(math.log(wanted))
    if retries > MOST_RETRIES:
        raise ResourceExhaustedError(
            f"{retries} tries for each point", hint=f"at most {MOST_RETRIES} are made"
        )
    norms = f32(0.5) * (points**2).sum(1, dtype=f32)
    draws, chosen = _Draws(seed), list[int]()
    nearest = np.full(len(points), np.inf, f32)
    for _step in range(wanted):
        sums = np.cumsum(nearest, dtype=f32) if chosen else nearest
        tries = (_draw(draws, sums, chosen) for _ in range(1 + retries))
        farther = ((np.minimum(nearest, norms - points @ points[k] + norms[k]), k) for k in tries)
        nearest, best = min(farther, key=lambda found: found[0].sum(dtype=f32))
        chosen.append(best)
    return [points[chosen]]


def _draw(draws: _Draws, sums: Array, chosen: Sequence[int]) -> int:
    if not chosen:
        return draws.below(len(sums))
    # Where all other points are drawn already, or lie where these do, any that is left counts.
    for _ in range(100 * len(sums)):
        found = int(np.searchsorted(sums, draws.share() * sums[-1], "right"))
        found = min(found, len(sums) - 1)
        if found not in chosen:
            return found
    return next(k for k in range(len(sums)) if k not in chosen)


host_op(
    "kmeans_plus_plus_initialization",
    "KmeansPlusPlusInitialization(points: f32, num_to_sample: i64, seed: i64,"
    " num_retries_per_sample: i64) -> samples: f32",
    _start,
    infer=_infer_start,
)
