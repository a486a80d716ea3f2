"""Gamma and Poisson numbers: by a key and a counter, by seeds, and with a state.

In: how many numbers, and parameters, each of which is a distribution. Out: TensorFlow's numbers
for the same seeds. Invariant: a number depends on its place and its distribution alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.computation import Value
from flowc.ir.dims import as_dim, ceildiv, product
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted, Native
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder
from flowc.ops.kernels import random_rejection as kernels
from flowc.ops.random import bits
from flowc.ops.random.stateful import RESERVED, drawing
from flowc.ops.random.stateless import (
    SEED,
    checked_keys,
    drawn_words,
    infer_shape,
    match_ending,
    need_dims,
    need_keyed,
)
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
FLOATS = "{f16, f32, f64}"
REALS = "{f16, f32, f64, i32, i64}"


# -- numbers one after another, as the references draw them


class Stream:
    """The random words of one number: pairs of them, counter by counter, the second of a pair
    first."""

    def __init__(
        self, key: Array, counter: Array, number: int, apart: int = kernels.RESERVED
    ) -> None:
        self._key = int(key.reshape(-1)[0])
        self._start = (int(counter[1]) << 64) + int(counter[0]) + number * apart
        self._uniforms: list[float] = []
        self._normals: list[float] = []

    def _words(self) -> Array:
        low, high = self._start & (1 << 64) - 1, self._start >> 64 & (1 << 64) - 1
        self._start += 1
        return bits.philox_words(self._key, np.array([[low, high]], np.uint64)).reshape(-1)

    def uniform(self) -> float:
        if not self._uniforms:
            words = self._words()
            self._uniforms = bits.uniform_reference(words, np.array([2]), dtype=dtypes.f64).tolist()
        return self._uniforms.pop()

    def normal(self) -> float:
        if not self._normals:
            self._normals = bits.normals_reference(self._words(), dtype=dtypes.f64).tolist()
        return self._normals.pop()


def _gamma_number(stream: Stream, alpha: float) -> float:
    if alpha == 1:
        return -math.log1p(-stream.uniform())
    d = alpha + (2 / 3 if alpha < 1 else -1 / 3)
    if not d > 0:
        return math.nan
    c = 1 / 3 / math.sqrt(d)
    while True:
        x = stream.normal()
        v = (1 + c * x) ** 3
        if v <= 0:
            continue
        u = stream.uniform()
        if u < 1 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d * (1 - v + math.log(v)):
            if alpha >= 1:
                return d * v
            with np.errstate(divide="ignore", over="ignore"):  # of 0 and near it
                return d * v * float(np.power(stream.uniform(), np.divide(1, alpha)))


def _poisson_number(stream: Stream, rate: float) -> float:
    if not 0 <= rate < 1e300:
        return 0.0 if rate < 0 else rate
    if rate < 10:
        left, count = stream.uniform(), 0.0
        while left > math.exp(-rate):
            left, count = left * stream.uniform(), count + 1
        return count
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    while True:
        u, v = stream.uniform() - 0.5, stream.uniform()
        shifted = 0.5 - abs(u)
        k = math.floor((2 * a / shifted + b) * u + rate + 0.43)
        if shifted >= 0.07 and v <= 0.9277 - 3.6224 / (b - 2):
            return k
        if k < 0 or (shifted < 0.013 and v > shifted):
            continue
        inverse = 1.1239 + 1.1328 / (b - 3.4)
        s = math.log(v * inverse / (a / shifted**2 + b))
        if s <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return k


_NUMBERS = {"gamma": _gamma_number, "poisson": _poisson_number}


def _drawn(
    draw: str, key: Array, counter: Array, parameters: Array, shape: Array, dtype: DType
) -> Array:
    dims = tuple(int(d) for d in shape.reshape(-1))
    kinds = parameters.reshape(-1).astype(np.float64).tolist()
    samples = math.prod(dims) // max(len(kinds), 1)

    def numbers() -> Iterator[float]:
        for place in range(samples):
            for kind, parameter in enumerate(kinds):
                yield _NUMBERS[draw](Stream(key, counter, kind * samples + place), parameter)

    found = np.fromiter(numbers(), np.float64, samples * len(kinds))
    return found.astype(dtype.numpy).reshape(dims)


# -- by a key and a counter


def _infer_keyed(c: Inference) -> Dims:
    """key, counter, parameters, shape: whose last dims are those of the parameters."""
    dims = tuple(as_dim(d) for d in c.need(3).reshape(-1))
    return match_ending(c, dims, c.dims(2))


_FUNCTIONS = {
    "gamma": ("sqrt", "log", "log1p", "pow"),
    "poisson": ("exp", "log", "sqrt", "floor", "lgamma"),
}
_NORMAL = ("normal_radius", "normal_sin", "normal_cos")


def _lower_keyed(draw: str) -> Callable[[Node], Native]:
    functions = _FUNCTIONS[draw] + (_NORMAL if draw == "gamma" else ())

    def lower(node: Node) -> Native:
        parameters, dims = node.inputs[2], node.output.dims
        kinds = parameters.type.size
        samples = product(dims[: len(dims) - len(parameters.dims)])
        return Native(
            getattr(kernels, draw),
            arguments=(samples, kinds),
            parallel=ceildiv(samples * kinds, kernels.UNIT),
            constants={"UNIT": kernels.UNIT, "RESERVED": kernels.RESERVED},
            functions=tuple(f"{name}_f64" for name in functions),
        )

    return lower


def _keyed_reference(draw: str) -> Callable[..., Array]:
    def reference(
        key: Array, counter: Array, parameters: Array, shape: Array, *, dtype: DType
    ) -> Array:
        return _drawn(draw, key, counter, parameters, shape, dtype)

    return reference


_KEY = "u64[1]=[81985529216486895] u64[2]=[0,1311768467463790320]"
_OF_KEY = {
    "gamma": (FLOATS, "T[2]=[1,0.5] i32[2]=[3,2]", "f64[]=7.5 i32[1]=[70]", "f32[0] i32[2]=[2,0]"),
    "poisson": (REALS, "T[2]=[2,40] i32[2]=[5,2]", "f64[]=11.5 i32[1]=[70]", "f32[0] i32[1]=[0]"),
}
for _draw, (_kinds, *_parameters) in _OF_KEY.items():
    define(
        f"{_draw}_of_key",
        f"_{_draw.title()}OfKey(key: u64, counter: u64, parameters: T, shape: i32; T: {_kinds},"
        f" dtype: {REALS}) -> output: dtype",
        infer=_infer_keyed,
        lowering=_lower_keyed(_draw),
        reference=_keyed_reference(_draw),
        examples=tuple(f"{_KEY} {p}; dtype=f64" for p in _parameters),
    )


def _drawing(b: Builder, draw: str, key: Value, counter: Value, rest: Any) -> Value:
    parameters, dims, dtype = rest
    call = b.gamma_of_key if draw == "gamma" else b.poisson_of_key
    return call(key, counter, parameters, b.sizes(dims), dtype=dtype)


# -- by seeds


def _infer_seeded(c: Inference) -> Dims:
    """shape, two seeds, parameters."""
    need_dims(c, 1, "seed", (2,))
    return _infer_ending(c, 2)


def _infer_of_key(c: Inference) -> Dims:
    """shape, key, counter, algorithm, parameters."""
    need_keyed(c)
    return _infer_ending(c, 4)


def _infer_ending(c: Inference, i: int) -> Dims:
    return match_ending(c, infer_shape(c), c.dims(i))


def _decompose_seeded(draw: str) -> Decompose:
    def build(b: Builder, node: Node) -> Value:
        _, seed, parameters = node.inputs
        out = node.output.type
        key, counter = b.stateless_random_get_key_counter(seed)
        return _drawing(b, draw, key, counter, (parameters, out.dims, out.dtype))

    return Decompose(build)


def _seeded_reference(draw: str) -> Callable[..., Array]:
    def reference(shape: Array, seed: Array, parameters: Array, *, dtype: Any = None) -> Array:
        keys = op_named("stateless_random_get_key_counter").reference
        assert keys is not None
        wanted = dtypes.as_dtype(parameters.dtype) if dtype is None else dtype
        key, counter = keys(seed)
        return _drawn(draw, key, counter, parameters, shape, wanted)

    return reference


def _gamma_gradient(i: int) -> Callable[..., Any]:
    """The gradient of the parameters, input `i`: the derivatives of the numbers that were drawn
    with each, added up."""

    def gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
        alpha = node.inputs[i]
        change = b.mul(dy, b.random_gamma_grad(alpha, node.output))
        samples = b.rank_of(node.output) - b.rank_of(alpha)
        none = [None] * len(node.inputs)
        return (*none[:i], b.sum(change, np.arange(samples, dtype=np.int32)), *none[i + 1 :])

    return gradient


define(
    "stateless_random_gamma_v2",
    f"StatelessRandomGammaV2(shape: T, seed: Tseed, alpha: dtype; dtype: {FLOATS},"
    f" T: {SEED}, Tseed: {SEED} = i64) -> output: dtype",
    infer=_infer_seeded,
    lowering=_decompose_seeded("gamma"),
    reference=_seeded_reference("gamma"),
    gradient=_gamma_gradient(2),
    examples=(
        "i32[2]=[4,2] i64[2]=[1,2] dtype[2]=[0.5,2]",
        "i64[1]=[5] i32[2]=[5,-6] f64[]=1",
        "i32[2]=[3,0] i64[2]=[1,2] f32[0]",
    ),
)
define(
    "stateless_random_gamma_v3",
    "StatelessRandomGammaV3(shape: shape_dtype, key: u64, counter: u64, alg: i32, alpha: dtype;"
    f" dtype: {FLOATS}, shape_dtype: {SEED} = i32) -> output: dtype",
    infer=_infer_of_key,
    lowering=Decompose(
        lambda b, node: _drawing(
            b,
            "gamma",
            *checked_keys(b, node),
            (node.inputs[4], node.output.dims, node.output.type.dtype),
        )
    ),
    reference=lambda shape, key, counter, alg, alpha: _drawn(
        "gamma", key, counter, alpha, shape, dtypes.as_dtype(alpha.dtype)
    ),
    gradient=_gamma_gradient(4),
    examples=(f"i32[2]=[4,2] {_KEY} i32[]=1 dtype[2]=[0.5,2]",),
)
define(
    "stateless_random_poisson",
    f"StatelessRandomPoisson(shape: T, seed: Tseed, lam: Rtype; Rtype: {REALS}, dtype: {REALS},"
    f" T: {SEED}, Tseed: {SEED} = i64) -> output: dtype",
    infer=_infer_seeded,
    lowering=_decompose_seeded("poisson"),
    reference=_seeded_reference("poisson"),
    examples=(
        "i32[2]=[6,2] i64[2]=[1,2] Rtype[2]=[3,20]; dtype=i64",
        "i64[1]=[40] i32[2]=[5,-6] f64[]=12.5; dtype=f32",
    ),
)


# -- shuffled


def _decompose_shuffle(b: Builder, node: Node) -> Value:
    value = node.inputs[0]
    rows = value.dims[0]
    words = drawn_words(b, *checked_keys(b, node), rows)
    order = b.permutation_of_words(words, (rows,))
    return b.gather(value, order, np.int32(0))


def _infer_shuffle(c: Inference) -> Dims:
    need_keyed(c)
    if not c.rank(0):
        raise c.fail("value must be at least a vector")
    return c.dims(0)


def _shuffled(value: Array, key: Array, counter: Array, alg: Array) -> Array:
    order = np.arange(len(value))
    words = bits.philox.reference
    assert words is not None
    for i, word in enumerate(words(key, counter, np.array([len(value)]), stride=1)[: len(value)]):
        j = i + int(word) % (len(value) - i)
        order[[i, j]] = order[[j, i]]
    return value[order]


define(
    "stateless_shuffle",
    "StatelessShuffle(value: T, key: u64, counter: u64, alg: i32; T: type) -> output: T",
    infer=_infer_shuffle,
    lowering=Decompose(_decompose_shuffle),
    reference=_shuffled,
    examples=(
        f"T[9] {_KEY} i32[]=1",
        f"f32[5,2] {_KEY} i32[]=1",
        f"i32[0] {_KEY} i32[]=1",
        "i32[6] u64[1] u64[2] i32[]=1",
    ),
)


# -- with a state


def _infer_stateful(c: Inference) -> Dims:
    return (*infer_shape(c), *c.dims(1))


def _emit(draw: str) -> Callable[..., Sequence[Bound]]:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        shape, parameters = (value_of(x, bound) for bound in inputs)
        wanted = x.b.emit(op_named("fill"), (shape, x.b.const(np.zeros((), bool))), {}).output.dims
        rest = (
            parameters,
            (*wanted, *parameters.dims),
            attrs.get("dtype") or parameters.type.dtype,
        )
        return [
            drawing(
                x,
                attrs,
                lambda key, counter: _drawing(x.b, draw, key, counter, rest),
                lambda dims: product(dims) * RESERVED,
            )
        ]

    return emit


_SEEDS = f"seed: int = 0, seed2: int = 0, S: {SEED}"
for _name, _signature, _draw in (
    (
        "random_gamma",
        f"RandomGamma(shape: S, alpha: T; {_SEEDS}, T: {FLOATS}) -> output: T",
        "gamma",
    ),
    (
        "random_poisson",
        f"RandomPoisson(shape: S, rate: dtype; {_SEEDS}, dtype: {FLOATS}) -> output: dtype",
        "poisson",
    ),
    (
        "random_poisson_v2",
        f"RandomPoissonV2(shape: S, rate: R; {_SEEDS}, R: {REALS} = f64, dtype: {REALS} = i64)"
        " -> output: dtype",
        "poisson",
    ),
):
    define(
        _name,
        _signature,
        infer=_infer_stateful,
        lowering=Extracted(_emit(_draw)),
        gradient=_gamma_gradient(1) if _draw == "gamma" else None,
        traits=STATE | {"random"},
    )
