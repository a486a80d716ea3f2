"""Random ops that keep a state: a key and a counter in a variable that the graph does not show.

In: shapes, parameters of distributions, and the seeds of a node. Out: TensorFlow's numbers for the
same seeds. The counter moves on by what TensorFlow reserves for a call, so a second run of a
Session goes on where the first one ended. Invariant: a node gives what the pure op (`random`) gives
for its key and counter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, product
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.random.stateless import FLOATS, PHILOX, SEED, drawn_words, infer_shape, need_dims
from flowc.ops.state.variables import STATE, value_of

# Counters that TensorFlow reserves for each element of a call.
RESERVED = 256
# [counter, its upper half, key], as the variable of a tf.random.Generator holds them.
STATE_DIMS = (3,)


def random_state(x: Extractor, attrs: Attrs) -> Resource:
    """The hidden variable of a node. It starts from the node's seeds; where both are 0, from
    numbers that nobody chose (`start` None)."""
    seed, seed2 = int(attrs["seed"]), int(attrs["seed2"])
    start = np.array([0, seed2, seed], np.int64) if seed or seed2 else None
    # No node's name has a colon.
    return x.variable(f"{x.name}:random_state", dtypes.i64, STATE_DIMS, {"start": start})


def drawing(
    x: Extractor,
    attrs: Attrs,
    draw: Callable[[Value, Value], Value],
    counters: Callable[[Dims], Dim],
) -> Value:
    """What `draw` makes of the key and counter of this call. The next call starts `counters` of the
    dims later."""
    state = random_state(x, attrs)
    now = value_of(x, state)
    drawn = drawing_at(x, now, draw)
    used = counters(drawn.dims)
    x.replace(state, x.b.add(now, x.b.sizes((used, 0, 0), dtypes.i64)))
    return drawn


def drawing_at(x: Extractor, state: Value, draw: Callable[[Value, Value], Value]) -> Value:
    """What `draw` makes of the key and counter that a state holds."""
    # Each part is cast for itself: a slice and its cast are one kernel.
    key, counter = (x.b.slice(state, (start,), (size,)) for start, size in ((2, 1), (0, 2)))
    return draw(x.b.cast(key, DstT=dtypes.u64), x.b.cast(counter, DstT=dtypes.u64))


def emit_draw(draw: str) -> Callable[..., Sequence[Bound]]:
    def emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
        shape, *rest = (value_of(x, bound) for bound in inputs)
        given = {"dtype": attrs.get("dtype") or rest[0].type.dtype}
        pure = op_named(f"stateless_{draw}")

        def call(key: Value, counter: Value) -> Value:
            alg = x.b.const(np.int32(PHILOX))
            return x.b.emit(pure, (shape, key, counter, alg, *rest), given).output

        return [drawing(x, attrs, call, lambda dims: product(dims) * RESERVED)]

    return emit


def _emit_shuffle(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    value = value_of(x, inputs[0])
    size = value.type.size
    if not value.dims or (isinstance(size, int) and size <= 1):
        return [value]
    rows = value.dims[0]

    def order(key: Value, counter: Value) -> Value:
        return x.b.permutation_of_words(drawn_words(x.b, key, counter, rows), (rows,))

    # One word an exchange, of which there is one less than rows; none are none, too.
    found = drawing(x, attrs, order, lambda dims: (dims[0] + 2) // 4)
    return [x.b.gather(value, found, x.b.const(np.int32(0)))]


def _infer_drawn(c: Inference) -> Dims:
    for i in range(1, len(c.inputs)):
        need_dims(c, i, "minval and maxval", ())
    return infer_shape(c)


def _define_stateful(
    name: str,
    signature: str,
    emit: Callable[..., Sequence[Bound]],
    infer: Callable[[Inference], Dims] = _infer_drawn,
) -> None:
    define(name, signature, infer=infer, lowering=Extracted(emit), traits=STATE | {"random"})


_SEEDS = "seed: int = 0, seed2: int = 0"
for _name, _tf, _pure in (
    ("random_uniform", "RandomUniform", "random_uniform"),
    ("random_standard_normal", "RandomStandardNormal", "random_normal"),
    ("truncated_normal", "TruncatedNormal", "truncated_normal"),
):
    _define_stateful(
        _name,
        f"{_tf}(shape: T; {_SEEDS}, dtype: {FLOATS}, T: {SEED}) -> output: dtype",
        emit_draw(_pure),
    )
_define_stateful(
    "random_uniform_int",
    f"RandomUniformInt(shape: T, minval: Tout, maxval: Tout; {_SEEDS}, Tout: {{i32, i64}},"
    f" T: {SEED}) -> output: Tout",
    emit_draw("random_uniform_int"),
)
_define_stateful(
    "random_shuffle",
    f"RandomShuffle(value: T; {_SEEDS}, T: type) -> output: T",
    _emit_shuffle,
    lambda c: c.dims(0),
)
