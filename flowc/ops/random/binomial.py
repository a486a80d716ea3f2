"""Binomial numbers: by a key and a counter, by seeds, and with a variable of the program.

In: how many numbers, and counts and probabilities, which are broadcast to the distributions. Out:
TensorFlow's numbers for the same seeds. Invariant: a number depends on its place and its
distribution alone. A probability above a half is drawn by what remains to one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, as_dim, ceildiv, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted, Native
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.kernels import random_rejection as kernels
from flowc.ops.random.generators import held_state, moved_state
from flowc.ops.random.rejection import REALS, Stream
from flowc.ops.random.stateful import drawing_at
from flowc.ops.random.stateless import SEED, infer_shape, match_ending, need_algorithm, need_dims
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
# -- numbers one after another, as the references draw them


def _sum_of_geometric(stream: Stream, count: float, prob: float) -> float:
    total, number = 0.0, 0
    while True:
        u = stream.uniform()
        total += math.ceil(math.log(u) / math.log1p(-prob)) if u > 0 else math.inf
        if total > count:
            return number
        number += 1


def _tail(k: float) -> float:
    """What Stirling's formula for the logarithm of k! leaves."""
    if k <= 9:
        exact = math.lgamma(k + 1) - (k + 0.5) * math.log(k + 1) + (k + 1)
        return exact - 0.5 * math.log(2 * math.pi)
    square = (k + 1) ** 2
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _fitting(stream: Stream, count: float, prob: float) -> float:
    spread = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    ratio, m = prob / (1 - prob), math.floor((count + 1) * prob)
    while True:
        u = stream.uniform()
        v = stream.uniform()
        u -= 0.5
        shifted = 0.5 - abs(u)
        k = math.floor((2 * a / shifted + b) * u + count * prob + 0.5)
        if shifted >= 0.07 and v <= 0.92 - 4.2 / b:
            return k
        if not 0 <= k <= count:
            continue
        s = math.log(v * (2.83 + 5.1 / b) * spread / (a / shifted**2 + b))
        most = (m + 0.5) * math.log((m + 1) / (ratio * (count - m + 1)))
        most += (count + 1) * math.log((count - m + 1) / (count - k + 1))
        most += (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
        if s <= most + _tail(m) + _tail(count - m) - _tail(k) - _tail(count - k):
            return k


def _number(stream: Stream, count: float, prob: float, mean: float) -> float:
    if not (math.isfinite(count) and math.isfinite(prob)):
        return math.nan
    if count <= 0 or prob <= 0:
        return 0.0
    return (_fitting if mean >= kernels.MANY else _sum_of_geometric)(stream, count, prob)


def _drawn(
    key: Array, counter: Array, counts: Array, probs: Array, means: Array, shape: Array
) -> Array:
    dims = tuple(int(d) for d in shape.reshape(-1))
    kinds = list(zip(counts.reshape(-1), probs.reshape(-1), means.reshape(-1)))
    samples = math.prod(dims) // max(len(kinds), 1)

    def numbers() -> Iterator[float]:
        for place in range(samples):
            for kind, (count, prob, mean) in enumerate(kinds):
                apart = kernels.RESERVED if mean >= kernels.MANY else kernels.APART
                stream = Stream(key, counter, kind * samples + place, apart)
                yield _number(stream, float(count), float(prob), float(mean))

    return np.fromiter(numbers(), np.float64, samples * len(kinds)).reshape(dims)


# -- by a key and a counter


def _infer_keyed(c: Inference) -> Dims:
    """key, counter, three parameters of equal dims, shape: whose last dims are those."""
    return match_ending(c, tuple(as_dim(d) for d in c.need(5).reshape(-1)), c.dims(2))


def _lower_keyed(node: Node) -> Native:
    counts, dims = node.inputs[2], node.output.dims
    kinds = counts.type.size
    samples = product(dims[: len(dims) - len(counts.dims)])
    return Native(
        kernels.binomial,
        arguments=(samples, kinds),
        parallel=ceildiv(samples * kinds, kernels.UNIT),
        constants={name: getattr(kernels, name) for name in ("UNIT", "RESERVED", "APART", "MANY")},
        functions=tuple(f"{name}_f64" for name in ("sqrt", "log", "log1p", "floor", "lgamma")),
    )


_KEY = "u64[1]=[81985529216486895] u64[2]=[0,1311768467463790320]"
define(
    "binomial_of_key",
    "_BinomialOfKey(key: u64, counter: u64, counts: f64, probs: f64, means: f64, shape: i32)"
    " -> output: f64",
    infer=_infer_keyed,
    lowering=_lower_keyed,
    reference=_drawn,
    examples=(
        f"{_KEY} f64[2]=[10,100] f64[2]=[0.5,0.25] f64[2]=[5,25] i32[2]=[40,2]",
        f"{_KEY} f64[]=7.5 f64[]=0.125 f64[]=0.9 i32[1]=[70]",
        f"{_KEY} f64[4]=[-1,0,5,9] f64[4]=[0.5,0.5,0,-1] f64[4]=[0,0,0,0] i32[2]=[2,4]",
        f"{_KEY} f64[0] f64[0] f64[0] i32[2]=[2,0]",
    ),
)


def _draw(b: Builder, key: Value, counter: Value, rest: Any) -> Value:
    """`rest`: counts, probabilities, the dims of the numbers and their dtype."""
    counts, probs, dims, dtype = rest
    half, one = probs.type.dtype.numpy.type(0.5), probs.type.dtype.numpy.type(1)
    mirrored = b.less(half, probs)
    probs = b.select_v2(mirrored, b.sub(one, probs), probs)
    # Of the dtype of the parameters, as its rounding decides how numbers are drawn.
    means = b.cast(b.mul(counts, probs), DstT=dtypes.f64)
    own = b.sizes(means.dims)
    wide = [b.broadcast_to(b.cast(x, DstT=dtypes.f64), own) for x in (counts, probs)]
    found = b.binomial_of_key(key, counter, *wide, means, b.sizes(dims))
    kept = b.maximum(wide[0], np.float64(0))
    found = b.select_v2(mirrored, b.sub(kept, found), found)
    return found if dtype is dtypes.f64 else b.cast(found, DstT=dtype)


# -- by seeds


def _infer_seeded(c: Inference) -> Dims:
    """shape, two seeds, counts, probabilities."""
    need_dims(c, 1, "seed", (2,))
    return match_ending(c, infer_shape(c), c.broadcast(2, 3))


def _build_seeded(b: Builder, node: Node) -> Value:
    _, seed, counts, probs = node.inputs
    out = node.output.type
    key, counter = b.stateless_random_get_key_counter(seed)
    return _draw(b, key, counter, (counts, probs, out.dims, out.dtype))


def _seeded(shape: Array, seed: Array, counts: Array, probs: Array, *, dtype: DType) -> Array:
    keys = op_named("stateless_random_get_key_counter").reference
    assert keys is not None
    key, counter = keys(seed)
    mirrored = probs > 0.5
    probs = np.where(mirrored, 1 - probs, probs).astype(probs.dtype)
    means = np.asarray(counts * probs)
    wide = [np.broadcast_to(x.astype(np.float64), means.shape) for x in (counts, probs)]
    found = _drawn(key, counter, wide[0], wide[1], means, shape)
    return np.where(mirrored, np.maximum(wide[0], 0) - found, found).astype(dtype.numpy)


_KINDS = f"T: {REALS} = f64, dtype: {REALS} = i64"
define(
    "stateless_random_binomial",
    f"StatelessRandomBinomial(shape: S, seed: Tseed, counts: T, probs: T; S: {SEED},"
    f" Tseed: {SEED} = i64, {_KINDS}) -> output: dtype",
    infer=_infer_seeded,
    lowering=Decompose(_build_seeded),
    reference=_seeded,
    examples=(
        "i32[2]=[6,2] i64[2]=[1,2] f32[2]=[30,5] f32[]=0.75",
        "i64[1]=[40] i32[2]=[5,-6] f64[]=100 f64[]=0.9; dtype=f32",
        "i32[3]=[3,2,3] i64[2]=[1,2] f16[2,1]=[3,40] f16[3]=[0.25,0.5,1]; dtype=i32",
        "i32[1]=[5] i64[2]=[1,2] i32[]=7 i32[]=1; dtype=f16",
        "i32[2]=[2,0] i64[2]=[1,2] i64[0] i64[0]; dtype=f64",
    ),
)


# -- with a variable


def _counters(kinds: Dim, total: Dim) -> Dim:
    """What TensorFlow sets aside: some numbers a sample, distribution by distribution."""
    samples = total if kinds == 1 else ceildiv(total, kinds)
    return kinds * 2 * 100 * (samples + 3) // 4 * kernels.RESERVED


def _emit_binomial(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    variable, held = held_state(x, inputs[0])
    shape, counts, probs = (value_of(x, bound) for bound in inputs[2:])
    dims = x.b.emit(op_named("fill"), (shape, x.b.const(np.zeros((), bool))), {}).output.dims
    rest = (counts, probs, dims, attrs["dtype"])
    drawn = drawing_at(x, held, lambda key, counter: _draw(x.b, key, counter, rest))
    kinds = product(x.b.add(counts, probs).dims)
    used = x.b.sizes((_counters(kinds, product(dims)),), dtypes.i64)
    x.replace(variable, moved_state(x.b, held, x.b.cast(used, DstT=dtypes.u64)))
    return [drawn]


def _infer_binomial(c: Inference) -> Dims:
    """resource, algorithm, shape, counts, probabilities."""
    need_algorithm(c, 1)
    return match_ending(c, infer_shape(c, 2), c.broadcast(3, 4))


define(
    "resource_binomial",
    "StatefulRandomBinomial(resource: resource, algorithm: i64, shape: S, counts: T, probs: T;"
    f" S: {SEED}, {_KINDS}) -> output: dtype",
    infer=_infer_binomial,
    lowering=Extracted(_emit_binomial),
    traits=STATE | {"random"},
)
