"""Random ops whose state is a variable of the program, as a tf.random.Generator has one.

In: the handle of a variable i64[3] (a counter, its upper half, a key) and what is to be drawn. Out:
TensorFlow's numbers for the same state, which moves on by what TensorFlow reserves for a call.
Invariant: numbers are those of the pure op (`stateless`) for the key and counter held before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import product
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.random.stateful import RESERVED, drawing_at, emit_draw
from flowc.ops.random.stateless import FLOATS, PHILOX, SEED, infer_shape, need_algorithm, need_dims
from flowc.ops.state.variables import STATE, value_of, variable_of

_WORDS = 3


def held_state(x: Extractor, bound: Bound) -> tuple[Resource, Value]:
    """The variable and the words that it holds."""
    variable = variable_of(x, bound)
    held = value_of(x, variable)
    if held.type.dtype is not dtypes.i64:
        raise InvalidArgumentError(
            f"dtype of RNG state variable must be int64, not {held.type.dtype.numpy.name}",
            node=x.name,
        )
    if len(held.dims) != 1:
        raise InvalidArgumentError(
            f"RNG state must have one and only one dimension, not {len(held.dims)}", node=x.name
        )
    (words,) = held.dims
    if isinstance(words, int) and words < _WORDS:
        raise InvalidArgumentError(
            f"For the Philox algorithm, the size of state must be at least {_WORDS}; got {words}",
            node=x.name,
        )
    return variable, held


def moved_state(b: Builder, held: Value, counters: Value) -> Value:
    """The state so many counters (u64[1]) later; a counter has 128 bits."""
    words = b.cast(held, DstT=dtypes.u64)
    low = b.slice(words, (0,), (1,))
    moved = b.add(low, counters)
    carry = b.cast(b.less(moved, low), DstT=dtypes.u64)
    high = b.add(b.slice(words, (1,), (1,)), carry)
    rest = b.slice(words, (2,), (held.dims[0] - 2,))
    return b.cast(b.concat(moved, high, rest, b.const(np.int32(0))), DstT=dtypes.i64)


# -- numbers


def _emit_drawn(draw: str) -> Callable[..., Sequence[Bound]]:
    """`draw`: the pure op, which is given a key, a counter and an algorithm."""

    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        variable, held = held_state(x, inputs[0])
        shape, *rest = (value_of(x, bound) for bound in inputs[2:])
        given = {"dtype": rest[0].type.dtype if rest else attrs["dtype"]}

        def call(key: Value, counter: Value) -> Value:
            alg = x.b.const(np.int32(PHILOX))
            return x.b.emit(op_named(draw), (shape, key, counter, alg, *rest), given).output

        drawn = drawing_at(x, held, call)
        used = x.b.sizes((product(drawn.dims) * RESERVED,), dtypes.i64)
        x.replace(variable, moved_state(x.b, held, x.b.cast(used, DstT=dtypes.u64)))
        return [drawn]

    return emit


def _infer_drawn(c: Inference) -> Dims:
    """resource, algorithm, shape, and scalars."""
    need_algorithm(c, 1)
    for i in range(3, len(c.inputs)):
        need_dims(c, i, "minval and maxval", ())
    return infer_shape(c, 2)


for _name, _draw, _dtypes, _default in (
    ("Uniform", "stateless_random_uniform", FLOATS, " = f32"),
    ("StandardNormalV2", "stateless_random_normal", FLOATS, " = f32"),
    ("TruncatedNormal", "stateless_truncated_normal", FLOATS, " = f32"),
    ("UniformFullInt", "stateless_random_uniform_full_int", "{i32, i64, u32, u64}", " = u64"),
    ("UniformInt", "stateless_random_uniform_int", "{i32, i64, u32, u64}", " = i64"),
):
    _ends = ", minval: dtype, maxval: dtype" if _name == "UniformInt" else ""
    define(
        f"resource_{_draw.removeprefix('stateless_').removeprefix('random_')}",
        f"Stateful{_name}(resource: resource, algorithm: i64, shape: shape_dtype{_ends};"
        f" dtype: {_dtypes}{_default}, shape_dtype: {SEED} = i64) -> output: dtype",
        infer=_infer_drawn,
        lowering=Extracted(_emit_drawn(_draw)),
        traits=STATE | {"random"},
    )


# -- the state alone


def _emit_skip(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    variable, held = held_state(x, inputs[0])
    delta = x.b.cast(value_of(x, inputs[2]), DstT=dtypes.u64)
    counters = x.b.reshape(x.b.mul(delta, np.uint64(RESERVED)), (1,))
    x.replace(variable, moved_state(x.b, held, counters))
    return [x.b.slice(held, (0,), (_WORDS,))]


def _emit_silent_skip(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    _emit_skip(x, inputs, attrs)
    return []


def _infer_skip(c: Inference) -> Dims:
    need_algorithm(c, 1)
    need_dims(c, 2, "delta", ())
    return (_WORDS,)


def _infer_silent_skip(c: Inference) -> list[Dims]:
    _infer_skip(c)
    return []


define(
    "rng_read_and_skip",
    "RngReadAndSkip(resource: resource, alg: i32, delta: u64) -> value: i64",
    infer=_infer_skip,
    lowering=Extracted(_emit_skip),
    traits=STATE | {"random"},
)
define(
    "rng_skip",
    "RngSkip(resource: resource, algorithm: i64, delta: i64)",
    infer=_infer_silent_skip,
    lowering=Extracted(_emit_silent_skip),
    traits=STATE | {"random"},
)


# -- numbers that nobody chose


def _emit_unseeded(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    return emit_draw("random_uniform_full_int")(x, inputs, {**attrs, "seed": 0, "seed2": 0})


define(
    "non_deterministic_ints",
    "NonDeterministicInts(shape: shape_dtype; dtype: {i32, i64, u32, u64} = i64,"
    f" shape_dtype: {SEED} = i64) -> output: dtype",
    infer=infer_shape,
    lowering=Extracted(_emit_unseeded),
    traits=STATE | {"random"},
)
