"""Candidate samplers: classes drawn as negative examples, and which right classes are among them.

In: the right classes of a batch [batch, num_true]. Out: classes [num_sampled], how often the right
ones [batch, num_true] and the drawn ones [num_sampled] were to be expected. Invariant: for equal
seeds the classes are TensorFlow's, run by run; a sampler that learns counts the right classes of a
run after it has drawn. Source: Vose, "A linear algorithm for generating random numbers with a given
distribution" (1991), for distributions that are given.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError, UnimplementedError
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted, Native
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.arrays.sets import SLOT
from flowc.ops.kernels import candidates as kernels
from flowc.ops.random.stateful import drawing
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
RESERVED = 512  # counters that TensorFlow reserves for each class of a call
LOG_UNIFORM, UNIFORM, LEARNED, FIXED = range(4)
OUTSIDE = "`true_candidate` out of range [0, {b}), received {a}"
ENDLESS = "Only {a} of {b} different classes were drawn: the others are too improbable"


# -- drawing: of key and counter alone


def _lower_draw(node: Node) -> Native:
    attrs, size = node.attrs, node.attrs["range_max"]
    flags = (attrs["kind"], attrs["num_sampled"], size, int(attrs["unique"]), _least(64, size))
    return Native(
        kernels.sample_candidates,
        arguments=(node.inputs[0].type.size, *flags),
        scratch=(2 * attrs["num_sampled"] + 1) * SLOT,
        errors=(OUTSIDE, ENDLESS),
        functions=("exp_f64", "log1p_f64"),
    )


def _least(bits: int, size: int) -> int:
    """The least number of so many bits that makes no class more likely than others."""
    return 0 if size & (size - 1) == 0 else (2**bits - 1) % size + 1


def words_of(key: Array, counter: Array) -> Iterator[int]:
    philox = op_named("philox").reference
    assert philox is not None
    for step in itertools.count():
        now = np.array([int(counter[0]) + step, counter[1]], np.uint64)
        yield from (int(w) for w in philox(key, now, np.array(1), stride=1))


def _draw_reference(
    right: Array, key: Array, counter: Array, table: Array, shares: Array,
    *, kind: int, num_sampled: int, range_max: int, unique: bool,
) -> list[Array]:  # fmt: skip
    outside = right[(right < 0) | (right >= range_max)]
    if len(outside):
        raise InvalidArgumentError(OUTSIDE.format(a=outside[0], b=range_max))
    words = words_of(key, counter)

    def below(size: int, wide: bool = False) -> int:
        number, least = -1, _least(64 if wide else 32, size)
        while number < least:
            number = next(words) | (next(words) << 32 if wide else 0)
        return number % size

    def one() -> int:
        if kind == LOG_UNIFORM:
            share = (((next(words) & 0xFFFFF) << 32) | next(words)) / 2**52
            return (int(math.exp(share * math.log1p(range_max))) - 1) % range_max
        if kind == UNIFORM:
            return below(range_max, wide=True)
        if kind == LEARNED:
            return int(np.searchsorted(table, below(int(table[-1])), "right"))
        share, found = (next(words) & 0x7FFFFF) / 2**23, below(range_max)
        return found if share < shares[found] else int(table[found])

    found: list[int] = []
    draws = 0
    while len(found) < num_sampled:
        draws += 1
        value = one()
        if not unique or value not in found:
            found.append(value)
    return [np.array(found, np.int64), np.array(draws, np.int64)]


draw_candidates = define(
    "draw_candidates",
    "_DrawCandidates(true_classes: i64, key: u64, counter: u64, table: i64, shares: f32;"
    " kind: int, num_sampled: int, range_max: int, unique: bool)"
    " -> (sampled: i64, draws: i64)",
    infer=lambda c: [(c.attrs["num_sampled"],), ()],
    lowering=_lower_draw,
    reference=_draw_reference,
    examples=(
        "i64[2,1]=[[0],[6]] u64[1]=[11] u64[2]=[0,22] i64[1] f32[1]; kind=0, num_sampled=6,"
        " range_max=20, unique=True",
        "i64[0,1] u64[1]=[11] u64[2]=[18446744073709551615,22] i64[1] f32[1]; kind=1,"
        " num_sampled=9, range_max=9, unique=True",
        "i64[1,1]=[[1]] u64[1]=[5] u64[2]=[0,6] i64[4]=[1,4,4,9] f32[1]; kind=2,"
        " num_sampled=7, range_max=4, unique=False",
        "i64[1,1]=[[1]] u64[1]=[5] u64[2]=[0,6] i64[3]=[1,1,0] f32[3]=[0.25,1,0.5]; kind=3,"
        " num_sampled=3, range_max=3, unique=True",
    ),
)


# -- distributions


@dataclass(frozen=True)
class _Distribution:
    """How the kernel draws classes, and how probable each is. `table`, `shares`: what it reads."""

    kind: int
    table: Value
    shares: Value
    probability: Callable[[Value], Value]


def _nothing(b: Builder) -> tuple[Value, Value]:
    return b.const(np.zeros(1, np.int64)), b.const(np.zeros(1, np.float32))


def _log_uniform(x: Extractor, attrs: Attrs) -> _Distribution:
    b, whole = x.b, np.float64(math.log1p(attrs["range_max"]))

    def probability(classes: Value) -> Value:
        n = b.cast(classes, DstT=dtypes.f64)
        ratio = b.real_div(b.add(n, b.const(np.float64(2))), b.add(n, b.const(np.float64(1))))
        return b.cast(b.real_div(b.log(ratio), b.const(whole)), DstT=dtypes.f32)

    return _Distribution(LOG_UNIFORM, *_nothing(b), probability)


def _uniform(x: Extractor, attrs: Attrs) -> _Distribution:
    share = x.b.const(np.float32(1 / attrs["range_max"]))
    return _Distribution(
        UNIFORM, *_nothing(x.b), lambda classes: x.b.broadcast_to(share, classes.dims)
    )


def _learned(x: Extractor, attrs: Attrs) -> _Distribution:
    """By how often a class was among the right ones of the runs before, and once more."""
    b, size = x.b, attrs["range_max"]
    if size > 2**31 - 1:
        raise InvalidArgumentError(f"range_max {size} is too large for a sampler that learns")
    counts = value_of(x, _counts(x, size))
    sums = b.cumsum(counts, np.int32(0))
    total = b.cast(b.reshape(b.slice(sums, (size - 1,), (1,)), ()), DstT=dtypes.f32)

    def probability(classes: Value) -> Value:
        found = b.cast(b.gather(counts, classes, np.int32(0)), DstT=dtypes.f32)
        return b.real_div(found, total)

    return _Distribution(LEARNED, sums, _nothing(b)[1], probability)


def _counts(x: Extractor, size: int) -> Any:
    """The hidden variable of a sampler that learns. No node's name has a colon."""
    return x.variable(f"{x.name}:unigrams", dtypes.i64, (size,), {"start": np.ones(size, np.int64)})


def _learn(x: Extractor, right: Value, size: int) -> None:
    b, counts = x.b, _counts(x, size)
    flat = b.reshape(right, (right.type.size, 1))
    ones = b.broadcast_to(b.const(np.int64(1)), (right.type.size,))
    x.replace(counts, b.tensor_scatter_add(value_of(x, counts), flat, ones))


def _fixed(x: Extractor, attrs: Attrs) -> _Distribution:
    weights = _weights(attrs)
    if len(weights) != attrs["range_max"]:
        raise InvalidArgumentError(
            f"range is {attrs['range_max']} must be equal to weights size  {len(weights)}"
        )
    b = x.b
    total = np.float32(0)
    for weight in weights:
        total = np.float32(total + weight)
    shares, others = _alias_table(weights)
    each = b.const((weights / total).astype(np.float32))
    return _Distribution(
        FIXED, b.const(others), b.const(shares), lambda n: b.gather(each, n, np.int32(0))
    )


def _weights(attrs: Attrs) -> Array:
    """How likely each class is, without a common scale: those that are reserved have 0."""
    given, path = list(attrs["unigrams"]), attrs["vocab_file"]
    if bool(given) == bool(path):
        text = "only provide one of vocab_file and" if path else "provide either vocab_file or"
        raise InvalidArgumentError(f"Must {text} unigrams.")
    if path:
        raise UnimplementedError("a FixedUnigramCandidateSampler takes unigrams, and reads no file")
    every = [0.0] * attrs["num_reserved_ids"]
    every += [float(np.float32(w) ** np.float32(attrs["distortion"])) for w in given]
    return np.array(every[attrs["shard"] :: attrs["num_shards"]], np.float32)


def _alias_table(weights: Array) -> tuple[Array, Array]:
    """(how often a class stands for itself, which one it stands for else)"""
    count, whole = len(weights), float(np.sum(weights, dtype=np.float64))
    scaled = [float(np.float32(w) * np.float32(count)) / whole for w in weights]
    others = np.full(count, -1, np.int64)
    low = [i for i, p in enumerate(scaled) if p < 1]
    high = [i for i, p in enumerate(scaled) if p >= 1]
    while high and low:
        small, large = low.pop(), high.pop()
        others[small] = large
        scaled[large] -= 1 - scaled[small]
        (low if scaled[large] < 1 else high).append(large)
    shares = np.array(scaled, np.float32)
    for i in (*high, *low):  # near 1
        shares[i], others[i] = 1, i
    return shares, others


# -- samplers


def _expected(b: Builder, share: Value, draws: Value, attrs: Attrs) -> Value:
    """How often classes of these shares are among the candidates."""
    count = attrs["num_sampled"]
    plain = b.mul(share, b.const(np.float32(count)))
    if not attrs["unique"]:
        return plain
    tries = b.cast(draws, DstT=dtypes.f32)
    once = b.neg(b.expm1(b.mul(tries, b.log1p(b.neg(share)))))
    return b.select_v2(b.equal(draws, b.const(np.int64(count))), plain, once)


def _emit(of: Callable[[Extractor, Attrs], _Distribution]) -> Callable[..., Sequence[Bound]]:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        right, size = value_of(x, inputs[0]), attrs["range_max"]
        if attrs["unique"] and attrs["num_sampled"] > size:
            raise InvalidArgumentError("Sampler's range is too small.")
        distribution = of(x, attrs)
        draws: list[Value] = []

        def draw(key: Value, counter: Value) -> Value:
            found = x.b.emit(
                draw_candidates,
                (right, key, counter, distribution.table, distribution.shares),
                {
                    "kind": distribution.kind,
                    **{n: attrs[n] for n in ("num_sampled", "range_max", "unique")},
                },
            )
            draws.append(found.outputs[1])
            return found.outputs[0]

        found = drawing(x, attrs, draw, lambda dims: dims[0] * RESERVED)
        shares = [distribution.probability(classes) for classes in (right, found)]
        if distribution.kind == LEARNED:
            _learn(x, right, size)
        return [found, *(_expected(x.b, share, draws[0], attrs) for share in shares)]

    return emit


def _emit_all(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    """Each class once, in order."""
    b, right, count = x.b, value_of(x, inputs[0]), attrs["num_sampled"]
    limit = b.const(np.int64(count))
    inside = b.logical_and(b.greater_equal(right, b.const(np.int64(0))), b.less(right, limit))
    message = f"`true_candidate` out of range [0, {count})"
    b.check(b.all(inside, np.arange(2, dtype=np.int32)), message=message)
    x.effect(b.nodes[-1])
    one = b.const(np.float32(1))
    found = b.range(*(b.const(np.int64(n)) for n in (0, count, 1)))
    return [found, b.broadcast_to(one, right.dims), b.broadcast_to(one, (count,))]


def _infer(c: Inference) -> list[Dims]:
    c.need_rank(0, 2)
    rows, columns = c.dims(0)
    wanted, count = c.attrs["num_true"], c.attrs["num_sampled"]
    fault = f"true_classes must have num_true columns, expected: {columns} was: {wanted}"
    c.equal(columns, wanted, fault)
    return [(count,), (rows, wanted), (count,)]


_SEEDS = "seed: int = 0, seed2: int = 0"
_RANGE = "range_max: int >= 1, "
_FIXED = (
    'vocab_file: string = "", distortion: float = 1.0, num_reserved_ids: int = 0,'
    " num_shards: int >= 1 = 1, shard: int >= 0 = 0, unigrams: list(float) = [], "
)

for _name, _emitter, _attrs in (
    ("LogUniform", _emit(_log_uniform), _RANGE),
    ("Uniform", _emit(_uniform), _RANGE),
    ("LearnedUnigram", _emit(_learned), _RANGE),
    ("ThreadUnsafeUnigram", _emit(_learned), _RANGE),
    ("FixedUnigram", _emit(_fixed), _RANGE + _FIXED),
    ("All", _emit_all, ""),
):
    _called = "".join(f"_{c.lower()}" if c.isupper() else c for c in _name).strip("_")
    define(
        f"{_called}_candidate_sampler",
        f"{_name}CandidateSampler(true_classes: i64; num_true: int >= 1, num_sampled: int >= 1,"
        f" unique: bool, {_attrs}{_SEEDS}) -> (sampled_candidates: i64, true_expected_count: f32,"
        " sampled_expected_count: f32)",
        infer=_infer,
        lowering=Extracted(_emitter),
        traits=STATE | {"random"},
    )


# -- accidental hits


def _infer_hits(c: Inference) -> list[Dims]:
    c.need_ranks(2, 1)
    found: Dims = (c.fresh("hits", c.inputs[0].size),)
    return [found, found, found]


def _hits(right: Array, candidates: Array) -> list[Array]:
    places = {int(value): place for place, value in enumerate(candidates)}
    met = [
        (row, places[int(n)])
        for row, classes in enumerate(right)
        for n in classes
        if int(n) in places
    ]
    rows, ids = ([m[i] for m in met] for i in (0, 1))
    least = np.full(len(met), np.finfo(np.float32).min, np.float32)
    return [np.array(rows, np.int32), np.array(ids, np.int64), least]


compute_accidental_hits = define(
    "compute_accidental_hits",
    "ComputeAccidentalHits(true_classes: i64, sampled_candidates: i64; num_true: int,"
    f" {_SEEDS}) -> (indices: i32, ids: i64, weights: f32)",
    infer=_infer_hits,
    lowering=lambda node: Native(
        kernels.accidental_hits, arguments=(*node.inputs[0].dims, node.inputs[1].dims[0])
    ),
    reference=_hits,
    examples=(
        "i64[3,2]=[[0,5],[7,2],[19,3]] i64[5]=[5,3,5,0,9]; num_true=2",
        "i64[2,1]=[[1],[2]] i64[3]=[4,5,6]; num_true=1",
        "i64[4,2]~index7 i64[3]=[5,0,2]; num_true=2",
    ),
)
