"""Normal numbers between two ends, each kind with its mean, deviation and ends.

In: a shape, the parameters, and seeds or those of the node. Out: TensorFlow's numbers for the same
seeds, where TensorFlow draws them on one thread; halves are f32 numbers, rounded. Invariant: all
numbers of a call come of one stream. Source: Robert, "Simulation of truncated normal variables"
(1995): from normal, uniform or exponential numbers, whichever fit more often.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, as_dim, ceildiv, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted, Native
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.arrays.shapes import known_dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels import random_rejection as kernels
from flowc.ops.random import bits
from flowc.ops.random.rejection import FLOATS
from flowc.ops.random.stateful import drawing
from flowc.ops.random.stateless import SEED, infer_shape, match_ending, need_dims
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder

Array = np.ndarray[Any, Any]
_BY_KERNEL = frozenset({"no_fold"})  # the reference tries as often as the kernel, in Python
_TOGETHER = 100  # numbers of one kind that TensorFlow draws one after another
_INVALID = "Invalid parameters"
_UNFIT = "TruncatedNormal rejection sampler failed to accept a sample."
_PARAMETERS = "means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype"
_NAMES = ("means", "stddevs", "minvals", "maxvals")


# -- by a key and a counter


def _infer_keyed(c: Inference) -> Dims:
    """key, counter, parameters [kinds], and how many numbers of each kind, and in all."""
    return (as_dim(c.need(6)[1]),)


def _lower_keyed(node: Node) -> Native:
    sizes = known_dims(node.inputs[6])
    assert sizes is not None
    wide = node.output.type.dtype is dtypes.f64
    names = ("normal_radius", "normal_sin", "normal_cos")
    return Native(
        kernels.truncated_between,
        arguments=(*sizes, node.inputs[2].dims[0]),
        errors=(_INVALID, _UNFIT),
        constants={
            "WIDE": wide,
            "BY_SAMPLE": node.attrs["by_sample"],
            "MOST_TRIES": kernels.MOST_TRIES,
        },
        functions=(
            *("exp_f64", "log_f64", "sqrt_f64"),
            *(f"{name}_{width}" for name in names for width in ("f32", "f64")),
        ),
    )


class _WordsOfKey:
    """What the counters of a key hold, one after another."""

    def __init__(self, key: Array, counter: Array, dtype: dtypes.DType) -> None:
        self._key, self._counter = int(key.reshape(-1)[0]), counter.astype(np.uint64)
        self._dtype = dtype
        self._step = 0

    def numbers(self, normal: bool) -> list[float]:
        place = (int(self._counter[1]) << 64) + int(self._counter[0]) + self._step
        self._step += 1
        low, high = place & (1 << 64) - 1, place >> 64 & (1 << 64) - 1
        words = bits.philox_words(self._key, np.array([[low, high]], np.uint64)).reshape(-1)
        if normal:
            return bits.normals_reference(words, dtype=self._dtype).tolist()
        count = np.array([len(words) * 4 // self._dtype.numpy.itemsize])
        return bits.uniform_reference(words, count, dtype=self._dtype).tolist()


def _of_kind(draws: _WordsOfKey, parameters: Sequence[float]) -> Iterator[float]:
    """The numbers of one kind, without end."""
    mean, deviation, low, high = parameters
    if not (deviation > 0 and low < high and (np.isfinite(low) or np.isfinite(high))):
        raise InvalidArgumentError(_INVALID)
    if low == -np.inf or high < mean:
        low, high, deviation = high, low, -deviation
    least, most = (low - mean) / deviation, (high - mean) / deviation
    root = np.sqrt(least * least + 4)
    cutoff = 2 * np.exp(0.5 + least * (least - root) / 4) / (least + root)
    slope = (least + root) / 2
    in_vain = 0
    while in_vain <= kernels.MOST_TRIES:
        if (least < -1.3 and most >= 0) or (most > 1.3 and least <= 0):
            found = [x for x in draws.numbers(True) if least <= x <= most]
        elif most - least < cutoff:
            xs = [x * (most - least) + least for x in draws.numbers(False)]
            edge = max(least, 0) ** 2
            pairs = zip(xs, draws.numbers(False))
            found = [x for x, u in pairs if u <= np.exp((edge - x * x) / 2)]
        else:
            numbers = draws.numbers(False)
            with np.errstate(divide="ignore"):
                xs = [float(-np.log(x) / slope + least) for x in numbers[::2]]
            away = [slope - x if least < slope else least - slope for x in xs]
            rows = zip(xs, away, numbers[1::2])
            found = [x for x, a, u in rows if u <= np.exp(-a * a / 2) and x < most]
        in_vain = 0 if found else in_vain + 1
        yield from (x * deviation + mean for x in found)
    raise InvalidArgumentError(_UNFIT)


def _keyed(key: Array, counter: Array, *given: Array, by_sample: bool) -> Array:
    *parameters, sizes = given
    samples, total = (int(n) for n in sizes)
    wide = dtypes.f64 if parameters[0].dtype == np.float64 else dtypes.f32
    draws = _WordsOfKey(key, counter, wide)
    found = np.empty(total, parameters[0].dtype)
    kinds = len(parameters[0])
    for kind, row in enumerate(zip(*(p.astype(np.float64).tolist() for p in parameters))):
        wanted = min(samples, total - kind * samples)
        numbers = _of_kind(draws, row)
        taken = list(itertools.islice(numbers, max(wanted, 0)))
        places = (
            np.arange(wanted) * kinds + kind if by_sample else kind * samples + np.arange(wanted)
        )
        found[places] = taken
    return found


_KEY = "u64[1]=[81985529216486895] u64[2]=[0,1311768467463790320]"
_KINDS = "T[4]=[0,1,-1,2] T[4]=[1,2,0.5,1] T[4]=[-1,1,-9,4] T[4]=[1,2,9,9]"
define(
    "truncated_between_of_key",
    f"_TruncatedBetweenOfKey(key: u64, counter: u64, {_PARAMETERS.replace('dtype', 'T')}, sizes: S;"
    f" T: {FLOATS}, S: {SEED}, by_sample: bool = False) -> output: T",
    infer=_infer_keyed,
    lowering=_lower_keyed,
    reference=_keyed,
    traits=_BY_KERNEL,
    examples=(
        f"{_KEY} {_KINDS} i32[2]=[5,20]",
        f"{_KEY} {_KINDS.replace('T', 'f32')} i64[2]=[7,28]; by_sample=True",
        f"{_KEY} f32[2] f32[2]=[1,1] f32[2]=[-2,-2] f32[2]=[2,2] i32[2]=[100,130]",
        f"{_KEY} f32[0] f32[0] f32[0] f32[0] i32[2]=[3,0]",
    ),
)


def _drawn(
    b: Builder, key: Value, counter: Value, given: Sequence[Value], sizes: Sequence[Dim], by: bool
) -> Value:
    return b.truncated_between_of_key(key, counter, *given, b.sizes(sizes), by_sample=by)


# -- as a node has it


def _infer_stateful(c: Inference) -> Dims:
    """shape, parameters: one, or one for each row."""
    dims = infer_shape(c)
    if not dims:
        raise c.fail("Shape tensor must not be empty")
    for i, name in enumerate(_NAMES, 1):
        if c.rank(i) > 1:
            raise c.fail(f"Input {name} should be a scalar or vector, got {c.inputs[i]}")
        if c.rank(i) and c.dims(i) != (1,):
            fault = f"Input {name} should have length 1 or shape[0], got {c.inputs[i]}"
            c.equal(c.dims(i)[0], dims[0], fault)
    return dims


def _is_one_kind(given: Sequence[Value]) -> bool:
    return all(v.dims in ((), (1,)) for v in given[:2]) and not any(v.dims for v in given[2:])


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    shape, *given = (value_of(x, bound) for bound in inputs)
    b = x.b
    dims = b.emit(op_named("fill"), (shape, b.const(np.zeros((), bool))), {}).output.dims
    total = product(dims)
    samples, kinds = product(dims[1:]), dims[0]
    if _is_one_kind(given):
        samples, kinds = _TOGETHER, ceildiv(total, _TOGETHER)

    def draw(key: Value, counter: Value) -> Value:
        rows = [b.broadcast_to(b.reshape(v, (-1,)) if not v.dims else v, (kinds,)) for v in given]
        return b.reshape(_drawn(b, key, counter, rows, (samples, total), False), dims)

    used = kinds * 2 * kernels.MOST_TRIES * (samples + 3) // 4
    return [drawing(x, attrs, draw, lambda _: used)]


define(
    "parameterized_truncated_normal",
    f"ParameterizedTruncatedNormal(shape: T, {_PARAMETERS.replace('stddevs', 'stdevs')};"
    f" seed: int = 0, seed2: int = 0, dtype: {FLOATS}, T: {SEED}) -> output: dtype",
    infer=_infer_stateful,
    lowering=Extracted(_emit),
    traits=STATE | {"random"},
)


def _infer_stateless(c: Inference) -> Dims:
    need_dims(c, 1, "seed", (2,))
    return match_ending(c, infer_shape(c), c.broadcast(2, 3, 4, 5))


def _build_stateless(b: Builder, node: Node) -> Value:
    _, seed, *given = node.inputs
    dims = node.output.dims
    rank = max(v.type.rank for v in given)
    own = dims[len(dims) - rank :]
    samples, kinds = product(dims[: len(dims) - rank]), product(own)
    rows = [b.reshape(b.broadcast_to(v, own), (kinds,)) for v in given]
    key, counter = b.stateless_random_get_key_counter(seed)
    found = _drawn(b, key, counter, rows, (samples, samples * kinds), True)
    return b.reshape(found, dims)


def _stateless(shape: Array, seed: Array, *given: Array) -> Array:
    keys = op_named("stateless_random_get_key_counter").reference
    assert keys is not None
    rows = [np.asarray(a).reshape(-1) for a in np.broadcast_arrays(*given)]
    dims = tuple(int(d) for d in shape)
    total = int(np.prod(dims))
    sizes = np.array([total // max(len(rows[0]), 1), total])
    return _keyed(*keys(seed), *rows, sizes, by_sample=True).reshape(dims)


def _gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    """The gradient of the numbers at fixed values of the cumulative distribution (Figurnov, Mohamed
    and Mnih, "Implicit reparameterization gradients", 2018)."""
    mean, deviation, low, high = node.inputs[2:]
    at, least, most = (b.real_div(b.sub(v, mean), deviation) for v in (node.output, low, high))

    def below(x: Any) -> Any:
        return b.mul(b.erfc(b.mul(x, b.const(-(0.5**0.5), x.dtype))), b.const(0.5, x.dtype))

    limits = np.finfo(node.output.dtype.numpy)
    share = b.real_div(b.sub(below(at), below(least)), b.sub(below(most), below(least)))
    share = b.maximum(share, b.const(limits.tiny, share.dtype))
    share = b.minimum(share, b.const(1 - limits.eps, share.dtype))

    def density(end: Any, part: Any) -> Any:
        apart = b.sub(b.square(at), b.square(end))
        return b.exp(b.add(b.mul(apart, b.const(0.5, apart.dtype)), part))

    by_low, by_high = density(least, b.log1p(b.neg(share))), density(most, b.log(share))
    rows = (
        (dy, mean),
        (b.mul(dy, at), deviation),
        (b.mul(dy, by_low), low),
        (b.mul(dy, by_high), high),
    )
    return None, None, *(b.sum_to_shape_of(change, v) for change, v in rows)


define(
    "stateless_parameterized_truncated_normal",
    "StatelessParameterizedTruncatedNormal(shape: S, seed: Tseed,"
    f" {_PARAMETERS}; S: {SEED}, Tseed: {SEED} = i64, dtype: {FLOATS}) -> output: dtype",
    gradient=_gradient,
    infer=_infer_stateless,
    lowering=Decompose(_build_stateless),
    reference=_stateless,
    traits=_BY_KERNEL,
    examples=(
        "i32[2]=[9,2] i64[2]=[1,2] f32[2]=[0,1] f32[]=1 f32[2]=[-1,2] f32[]=3",
        "i64[3]=[3,2,2] i32[2]=[5,-6] f64[2,1]=[[0],[5]] f64[]=2 f64[2]=[-1,3] f64[]=9",
        "i32[1]=[0] i64[2]=[1,2] f32[]=0 f32[]=1 f32[]=-1 f32[]=1",
    ),
)
