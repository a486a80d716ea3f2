"""Isotonic regression along the last dimension, and the approximate best k, which are exact here.

In: rows of numbers. Out: for isotonic regression the falling rows that are nearest to them, and the
numbers of the segments in which they are level. Invariant: neighbours are pooled from the left.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.math.elementwise import widened
from flowc.ops.reductions.sorting import REAL, gradient_at

Array = np.ndarray[Any, Any]

if TYPE_CHECKING:
    f64: Any = None  # a global that the compiler gives to kernels
    i64: Any = None

# -- isotonic regression


def isotonic_kernel(
    x: Any, y: Any, segments: Any, columns: int, begin: int, end: int
) -> None:  # fmt: skip
    """The row of segments holds where each pool begins, and that of y its mean, until both are
    written out from the right: no pool stands right of its first element."""
    for row in range(begin, end):
        at = row * columns
        pools = 0
        for i in range(columns):
            mean = f64(x[at + i])
            first = i
            while pools > 0 and f64(y[at + pools - 1]) < mean:
                pools -= 1
                before = i64(segments[at + pools])
                count = f64(first - before)
                mean += (f64(y[at + pools]) - mean) * count / f64(i + 1 - before)
                first = before
            y[at + pools] = mean
            segments[at + pools] = first
            pools += 1
        stop = columns
        while pools > 0:
            pools -= 1
            mean = f64(y[at + pools])
            first = i64(segments[at + pools])
            for i in range(first, stop):
                y[at + i] = mean
                segments[at + i] = pools
            stop = first


def _infer_isotonic(c: Inference) -> list[Dims]:
    if c.rank(0) < 1:
        raise c.fail("Shape must be at least rank 1 but is rank 0")
    return [c.dims(0), c.dims(0)]


def _isotonic(x: Array, *, output_dtype: DType) -> list[Array]:
    found, segments = np.empty(x.shape, output_dtype.numpy), np.empty(x.shape, np.int32)
    for row in np.ndindex(x.shape[:-1]):
        pools: list[tuple[float, int]] = []
        for number in widened(x[row]).astype(np.float64).tolist():
            mean, count = number, 1
            while pools and pools[-1][0] < mean:
                other, more = pools.pop()
                mean += (other - mean) * more / (count + more)
                count += more
            pools.append((mean, count))
        counts = [count for _, count in pools]
        found[row] = np.repeat(np.array([mean for mean, _ in pools]), counts)
        segments[row] = np.repeat(np.arange(len(pools)), counts)
    return [found, segments]


def _isotonic_gradient(b: GradientBuilder, node: Forward, dy: Any, _: Any) -> Any:
    """The gradients of a segment are all their mean."""
    x, segments = node.inputs[0], node.outputs[1]
    last = b.rank_of(x) - 1
    columns = b.size_of(x, last)
    lanes = b.prod(b.shape_of(x, 0, last), np.array([0], np.int32))
    starts = b.expand_dims(b.mul(b.range(0, lanes, 1), columns), np.int32(1))
    lines = b.reshape(segments, b.pack(lanes, columns, axis=0))
    ids, flat = b.reshape(b.add(lines, starts), (-1,)), b.reshape(dy, (-1,))
    count = b.mul(lanes, columns)
    sums, sizes = (b.unsorted_segment_sum(v, ids, count) for v in (flat, b.ones_like(flat)))
    means = b.real_div(sums, b.maximum(sizes, b.ones_like(sizes)))
    dx = b.reshape(b.gather(means, ids, np.int32(0)), b.shape_of(x))
    return b.cast(dx, DstT=x.dtype)


define(
    "isotonic_regression",
    f"IsotonicRegression(input: T; T: {REAL}, output_dtype: {{f16, bf16, f32, f64}} = f32)"
    " -> (output: output_dtype, segments: i32)",
    infer=_infer_isotonic,
    lowering=lambda node: Native(
        isotonic_kernel,
        arguments=(node.inputs[0].dims[-1],),
        parallel=product(node.inputs[0].dims[:-1]),
    ),
    reference=_isotonic,
    gradient=_isotonic_gradient,
    examples=(
        "f64[3,9]; output_dtype=f64",
        "f64[2,2,7]; output_dtype=f64",
        "i32[2,9]~small; output_dtype=f64",
        "f32[0]",
        "f32[2,0]",
        "f64[1]; output_dtype=f64",
    ),
)


# -- the best k


def _infer_approximate(c: Inference) -> list[Dims]:
    rank, k = c.rank(0), c.attrs["k"]
    axis = c.axis(c.attrs["reduction_dimension"], rank)
    size = c.dims(0)[axis]
    if rank < 1 or (isinstance(size, int) and size < k):
        raise c.fail(f"input must have last dimension >= k = {k} but is {size}")
    dims = (*c.dims(0)[:axis], k, *c.dims(0)[axis + 1 :])
    return [dims, dims]


def _build_approximate(b: Builder, node: Node) -> Any:
    (x,) = node.inputs
    rank = x.type.rank
    axis = node.attrs["reduction_dimension"] % rank
    order = (*(a for a in range(rank) if a != axis), axis)
    back = tuple(order.index(a) for a in range(rank))
    lines = b.transpose(x, order)
    own = lines if node.attrs["is_max_k"] else b.neg(lines)
    values, places = b.top_k(own, b.const(np.int32(node.attrs["k"])))
    found = values if node.attrs["is_max_k"] else b.neg(values)
    return [b.transpose(found, back), b.transpose(places, back)]


def _approximate(x: Array, *, k: int, reduction_dimension: int, is_max_k: bool) -> list[Array]:
    keys = widened(-x if is_max_k else x)
    order = np.argsort(keys, reduction_dimension, kind="stable")
    order = np.take(order, np.arange(k), reduction_dimension)
    return [np.take_along_axis(x, order, reduction_dimension), order.astype(np.int32)]


def _approximate_gradient(b: GradientBuilder, node: Forward, dy: Any, _: Any) -> Any:
    x = node.inputs[0]
    rank = b.rank_of(x)
    axis = node.attrs["reduction_dimension"] % rank
    order = (*(a for a in range(rank) if a != axis), axis)
    back = tuple(order.index(a) for a in range(rank))
    lines, places, dlines = (b.transpose(t, order) for t in (x, node.outputs[1], dy))
    return b.transpose(gradient_at(b, lines, places, dlines), back)


define(
    "approx_top_k",
    "ApproxTopK(input: T; k: int >= 0, reduction_dimension: int = -1, recall_target: float = 0.95,"
    " is_max_k: bool = True, reduction_input_size_override: int = -1,"
    " aggregate_to_topk: bool = True, T: {f16, bf16, f32}) -> (values: T, indices: i32)",
    infer=_infer_approximate,
    lowering=Decompose(_build_approximate),
    reference=_approximate,
    gradient=_approximate_gradient,
    examples=(
        "T[3,9]~distinct; k=4",
        "f32[4,2]~distinct; k=3, reduction_dimension=0",
        "f32[2,7]~distinct; k=2, is_max_k=False",
    ),
)
