"""Pure random ops: a key and a counter, or seeds of theirs, decide the numbers.

In: shapes, parameters of distributions, keys and counters or seeds. Out: TensorFlow's numbers for
the same ones. Invariant: equal inputs give equal numbers, on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import UnimplementedError
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, ceildiv, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.random import bits

if TYPE_CHECKING:
    from flowc.ir.builder import Builder

Array = np.ndarray[Any, Any]
FLOATS = "{f16, bf16, f32, f64}"
PHILOX = 1
THREEFRY = 2
AUTOMATIC = 3
_UNSUPPORTED = "Unsupported algorithm id"
_SUPPORTED = "1 (Philox) or 3 (automatic)"

# Builds the elements: builder, key, counter, count, dtype, further inputs.
Draw = Callable[["Builder", Value, Value, Dim, DType, Sequence[Value]], Value]


# -- the numbers, as a vector


def drawn_words(b: Builder, key: Value, counter: Value, words: Dim) -> Value:
    return b.philox(key, counter, (ceildiv(words, 4),))


def _of_words(make: Callable[..., Value]) -> Draw:
    """Numbers that each take the same number of words."""

    def draw(
        b: Builder, key: Value, counter: Value, n: Dim, dtype: DType, rest: Sequence[Value]
    ) -> Value:
        return make(b, drawn_words(b, key, counter, n * bits.words_of(dtype)), n, dtype, *rest)

    return draw


def _first(b: Builder, numbers: Value, n: Dim, dtype: DType) -> Value:
    """The first n of what was made in whole groups."""
    if numbers.dims != (n,):
        numbers = b.slice(numbers, (0,), (n,))
    return numbers if numbers.type.dtype is dtype else b.cast(numbers, DstT=dtype)


def _computed_as(dtype: DType) -> DType:
    return dtypes.f64 if dtype is dtypes.f64 else dtypes.f32


def _normal(
    b: Builder, key: Value, counter: Value, n: Dim, dtype: DType, rest: Sequence[Value]
) -> Value:
    wide = _computed_as(dtype)
    words = drawn_words(b, key, counter, n * bits.words_of(wide))
    return _first(b, b.normals_of_words(words, dtype=wide), n, dtype)


def _truncated(
    b: Builder, key: Value, counter: Value, n: Dim, dtype: DType, rest: Sequence[Value]
) -> Value:
    wide = _computed_as(dtype)
    groups = ceildiv(n, bits.group_of(wide))
    words = b.philox(key, counter, (groups,), stride=bits.stride_of(wide))
    normals = b.truncate_normals(key, counter, b.normals_of_words(words, dtype=wide))
    return _first(b, normals, n, dtype)


# -- inference


def infer_shape(c: Inference, i: int = 0) -> Dims:
    """The dims that input i states."""
    c.need_rank(i, 1, f"shape must be a vector, got rank {c.rank(i)}")
    return c.need_sizes(i, "Dimension {size} must be >= 0 (at position {place} of the shape)")


def match_ending(c: Inference, dims: Dims, own: Dims) -> Dims:
    """`dims`, which must end with the sizes of the parameters: TensorFlow's kernels say so, and its
    shape functions nothing."""
    fault = "Shape passed in must end with broadcasted shape."
    if len(own) > len(dims):
        raise c.fail(fault)
    for x, y in zip(dims[len(dims) - len(own) :], own):
        if isinstance(x, int) and isinstance(y, int) and x != y:
            raise c.fail(fault)
        c.equal(x, y, fault)
    return dims


def need_dims(c: Inference, i: int, name: str, dims: Dims) -> None:
    shown = ",".join(str(d) for d in dims)
    c.need_dims(i, dims, f"{name} must have shape [{shown}], found {c.inputs[i]}")


def _infer_keyed(c: Inference) -> Dims:
    """shape, key, counter, algorithm, and scalars."""
    need_keyed(c)
    for i in range(4, len(c.inputs)):
        need_dims(c, i, "minval and maxval", ())
    return infer_shape(c)


def need_keyed(c: Inference) -> None:
    """key, counter and algorithm behind what is asked for. Which numbers the counter needs, and
    which algorithms there are, the run says."""
    need_dims(c, 1, "key", (1,))
    c.need_rank(2, 1, f"counter must be a vector, found {c.inputs[2]}")
    words = c.dims(2)[0]
    if isinstance(words, int) and words < 2 and not c.builds:  # another number: the first two
        raise c.fail(
            f"counter must be a vector with length at least 2; got shape: [{words}]. "
            "(Note that batched counters are not supported yet.)"
        )
    need_dims(c, 3, "alg", ())
    if not c.builds:
        need_algorithm(c, 3, knows_threefry=False)


def need_algorithm(c: Inference, i: int, *, knows_threefry: bool = True) -> None:
    """`knows_threefry`: generators with a state tell it from numbers that are no algorithm."""
    need_dims(c, i, "alg", ())
    known = c.content(i)
    found = None if known is None else known.reshape(-1)[0]
    if not isinstance(found, (int, np.integer)) or int(found) in (PHILOX, AUTOMATIC):
        return
    if int(found) == THREEFRY and knows_threefry:
        raise UnimplementedError(
            "Non-XLA devices don't support the ThreeFry algorithm", node=c.node_name
        )
    raise c.fail(f"{_UNSUPPORTED}: {int(found)}", hint=_SUPPORTED)


def checked_keys(b: Builder, node: Node) -> tuple[Value, Value]:
    """The key and the counter of a node; its algorithm is looked at by the run, where only the run
    knows it."""
    _, key, counter, alg, *_ = node.inputs
    if b.content(alg) is None:
        one, other = (b.equal(alg, np.int32(known)) for known in (PHILOX, AUTOMATIC))
        b.check(b.logical_or(one, other), message=f"{_UNSUPPORTED}, expected {_SUPPORTED}")
    return key, counter


def _infer_seeded(c: Inference) -> Dims:
    """shape, two seeds, and scalars."""
    need_dims(c, 1, "seed", (2,))
    for i in range(2, len(c.inputs)):
        need_dims(c, i, "minval and maxval", ())
    return infer_shape(c)


# -- keys of seeds


def _key_of_seeds(seed: Array) -> tuple[Array, Array]:
    """TensorFlow's scrambling: a block of Philox at the seeds, under a fixed key."""
    counter = seed.astype(np.int64).view(np.uint64).reshape(1, 2)
    a, b, c, d = (int(x) for x in bits.philox_words(0x02461E293EC8F720, counter)[0])
    key = np.array([a | b << 32], np.uint64)
    return key, np.array([0, c | d << 32], np.uint64)


def _decompose_key(b: Builder, node: Node) -> list[Value]:
    (seed,) = node.inputs
    counter = b.cast(b.cast(seed, DstT=dtypes.i64), DstT=dtypes.u64)
    fixed = b.const(np.array([0x02461E293EC8F720], np.uint64))
    mixed = b.integers_of_words(b.philox(fixed, counter, (1,)), (2,), dtype=dtypes.u64)
    zero = b.const(np.zeros(1, np.uint64))
    counter = b.concat(zero, b.slice(mixed, (1,), (1,)), b.const(np.int32(0)))
    return [b.slice(mixed, (0,), (1,)), counter]


def _infer_key(c: Inference) -> list[Dims]:
    need_dims(c, 0, "seed", (2,))
    return [(1,), (2,)]


SEED = "{i32, i64}"
_SEED_EXAMPLES = ("Tseed[2]=[1,2]", "i64[2]=[-1,9223372036854775807]", "i32[2]=[-7,0]")

stateless_random_get_key_counter = define(
    "stateless_random_get_key_counter",
    f"StatelessRandomGetKeyCounter(seed: Tseed; Tseed: {SEED} = i64) -> (key: u64, counter: u64)",
    infer=_infer_key,
    lowering=Decompose(_decompose_key),
    reference=_key_of_seeds,
    examples=_SEED_EXAMPLES,
)
stateless_random_get_alg = define(
    "stateless_random_get_alg",
    "StatelessRandomGetAlg() -> alg: i32",
    infer=lambda c: (),
    lowering=Decompose(lambda b, node: b.const(np.int32(PHILOX))),
    reference=lambda: np.asarray(PHILOX, np.int32),
    examples=("",),
    content=True,
)
stateless_random_get_key_counter_alg = define(
    "stateless_random_get_key_counter_alg",
    f"StatelessRandomGetKeyCounterAlg(seed: Tseed; Tseed: {SEED} = i64)"
    " -> (key: u64, counter: u64, alg: i32)",
    infer=lambda c: [*_infer_key(c), ()],
    lowering=Decompose(lambda b, node: [*_decompose_key(b, node), b.const(np.int32(PHILOX))]),
    reference=lambda seed: (*_key_of_seeds(seed), np.asarray(PHILOX, np.int32)),
    examples=_SEED_EXAMPLES,
)


# -- pure ops


def _numbers(draw: str, key: Array, counter: Array, dims: Array, dtype: DType, rest: Any) -> Array:
    """The reference of every distribution."""
    shape = tuple(int(d) for d in dims)
    n, stride = int(np.prod(shape)), 1
    wide = _computed_as(dtype) if draw in ("normal", "truncated") else dtype
    blocks = -(-n * bits.words_of(wide) // 4)
    if draw == "truncated":
        stride = bits.stride_of(wide)
    call = bits.philox.reference
    assert call is not None
    words = call(key, counter, np.array([blocks]), stride=stride)
    count = np.array([n])
    match draw:
        case "uniform":
            found = bits.uniform_reference(words, count, dtype=dtype)
        case "range":
            low, high = rest
            found = bits.range_reference(words, low, high, count)
        case "integers":
            found = bits.integers_reference(words, count, dtype=dtype)
        case _:
            found = bits.normals_reference(words, dtype=wide)
            if draw == "truncated":
                found = bits.truncate_reference(key, counter, found)
    return found[:n].astype(dtype.numpy).reshape(shape)


def _reference(draw: str, keyed: bool) -> Callable[..., Array]:
    """A reference whose inputs are shape, key, counter and algorithm (`keyed`), or shape and seeds;
    then the bounds of the numbers, if any."""

    def drawn(shape: Array, *given: Array, dtype: DType) -> Array:
        key, counter = given[:2] if keyed else _key_of_seeds(given[0])
        return _numbers(draw, key, counter, shape, dtype, given[3 if keyed else 1 :])

    def in_range(*inputs: Array) -> Array:
        return drawn(*inputs, dtype=dtypes.as_dtype(inputs[-1].dtype))

    return in_range if draw == "range" else drawn


_DRAWS: dict[str, Draw] = {
    "uniform": _of_words(lambda b, w, n, dtype: b.uniform_of_words(w, (n,), dtype=dtype)),
    "normal": _normal,
    "truncated": _truncated,
    "range": _of_words(lambda b, w, n, _, low, high: b.range_of_words(w, low, high, (n,))),
    "integers": _of_words(lambda b, w, n, dtype: b.integers_of_words(w, (n,), dtype=dtype)),
}
_KEY = "u64[1]=[81985529216486895] u64[2]=[0,1311768467463790320]"
_DTYPES = {"range": "{i32, i64}", "integers": "{i32, i64, u32, u64}"}
_WIDE = "{i32, i64, u32, u64}"


def _define_pure(name: str, tf: str, draw: str) -> None:
    """The two forms of a pure op: by key and counter, by two seeds."""

    def drawn(b: Builder, node: Node, key: Value, counter: Value, rest: Sequence[Value]) -> Value:
        out = node.output.type
        numbers = _DRAWS[draw](b, key, counter, product(out.dims), out.dtype, rest)
        return b.reshape(numbers, out.dims)

    def keyed(b: Builder, node: Node) -> Value:
        return drawn(b, node, *checked_keys(b, node), node.inputs[4:])

    def seeded(b: Builder, node: Node) -> Value:
        _, seed, *rest = node.inputs
        key, counter = b.stateless_random_get_key_counter(seed)
        return drawn(b, node, key, counter, rest)

    by_range = draw == "range"
    inputs = ", minval: dtype, maxval: dtype" if by_range else ""
    default = {"range": "", "integers": " = u64"}.get(draw, " = f32")
    dtype = "" if by_range else "; dtype={}"
    shapes = ("i32[2]=[3,5]", "i64[1]=[1030]", "i32[2]=[0,4]", "i32[0]")
    ends = " dtype[]=3 dtype[]=100" if by_range else ""
    kinds = ("i32", "i64") if draw in _DTYPES else ("f16", "bf16", "f32", "f64")
    examples: list[str] = []
    for k, kind in enumerate(kinds):
        for shape in shapes[: 4 if k == 0 else 2]:
            bounds = ends.replace("dtype", kind)
            examples.append(f"{shape} {{}}{bounds}{dtype.format(kind)}")
    define(
        f"{name}",
        f"{tf}V2(shape: Tshape, key: u64, counter: u64, alg: i32{inputs};"
        f" dtype: {_WIDE if draw in _DTYPES else FLOATS}{default},"
        " Tshape: {i32, i64} = i32) -> output: dtype",
        infer=_infer_keyed,
        lowering=Decompose(keyed),
        reference=_reference(draw, keyed=True),
        examples=tuple(e.format(f"{_KEY} i32[]=1") for e in examples),
    )
    define(
        f"{name}_v1",
        f"{tf}(shape: T, seed: Tseed{inputs};"
        f" dtype: {_DTYPES.get(draw, FLOATS)}{default},"
        f" T: {{i32, i64}}{'' if by_range else ' = i32'},"
        f" Tseed: {_WIDE if draw == 'integers' else SEED} = i64)"
        " -> output: dtype",
        infer=_infer_seeded,
        lowering=Decompose(seeded),
        reference=_reference(draw, keyed=False),
        examples=tuple(e.format("i64[2]=[5,-6]") for e in examples),
    )


_define_pure("stateless_random_uniform", "StatelessRandomUniform", "uniform")
_define_pure("stateless_random_normal", "StatelessRandomNormal", "normal")
_define_pure("stateless_truncated_normal", "StatelessTruncatedNormal", "truncated")
_define_pure("stateless_random_uniform_int", "StatelessRandomUniformInt", "range")
_define_pure("stateless_random_uniform_full_int", "StatelessRandomUniformFullInt", "integers")
