"""XLA's sorts along one dimension: of keys, of values by keys, and by a function of the graph.

In: tensors of one shape. Out: their elements in order. Invariants: floats have XLA's total order
(-NaN, -inf... -0, 0... inf, NaN), and what is equal keeps its order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted
from flowc.ir.op import define
from flowc.ops.xla.scalar_functions import constant, for_elements, op_of, values

Array = np.ndarray[Any, Any]
_KEYS = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
_BITS = {2: dtypes.i16, 4: dtypes.i32, 8: dtypes.i64}

# -- by keys


def _order_preserving(b: Builder, bits: Value) -> Value:
    """The bits of floats as integers in the same order, and back."""
    width = 8 * bits.type.dtype.size - 1
    kind = bits.type.dtype.numpy
    sign = b.right_shift(bits, b.const(np.array(width, kind)))
    most = b.const(np.array((1 << width) - 1, kind))
    return b.bitwise_xor(bits, b.bitwise_and(sign, most))


def _as_integers(b: Builder, x: Value) -> Value:
    kind = x.type.dtype
    if kind.is_floating:
        return _order_preserving(b, b.bitcast(x, type=_BITS[kind.size]))
    return b.cast(x, DstT=dtypes.u8) if kind is dtypes.bool_ else x


def _from_integers(b: Builder, x: Value, kind: DType) -> Value:
    if kind.is_floating:
        return b.bitcast(_order_preserving(b, x), type=kind)
    return b.cast(x, DstT=kind)


def _sorted_lines(b: Builder, keys: Value) -> tuple[Value, Value]:
    """Keys in ascending order along the last dimension, and where each was."""
    inverted = b.invert(_as_integers(b, keys))
    found, order = b.top_k(inverted, b.scalar_size(keys.dims[-1]))
    return _from_integers(b, b.invert(found), keys.type.dtype), order


def _infer_sort(c: Inference) -> Any:
    c.refuse(0, *dtypes.COMPLEX, dtypes.string)
    if c.rank(0) < 1:
        raise c.fail("a scalar has no dimension to sort")
    if len(c.inputs) == 1:
        return c.dims(0)
    c.match_dims(c.dims(0), c.dims(1), "keys and values must have one shape")
    return [c.dims(0), c.dims(1)]


def _build_key_values(b: Builder, node: Node) -> list[Value]:
    keys, carried = node.inputs
    found, order = _sorted_lines(b, keys)
    last = keys.type.rank - 1
    return [found, b.gather(carried, order, np.int32(last), batch_dims=last)]


def _order(keys: Array) -> Array:
    """Where the elements in ascending order are, along the last dimension."""
    if keys.dtype.kind in "fV":
        bits = keys.view(f"i{keys.dtype.itemsize}")
        keys = bits ^ ((bits >> (8 * bits.itemsize - 1)) & np.iinfo(bits.dtype).max)
    return np.argsort(keys, axis=-1, kind="stable")


def _key_values(keys: Array, carried: Array) -> list[Array]:
    order = _order(keys)
    return [np.take_along_axis(a, order, -1) for a in (keys, carried)]


define(
    "xla_sort",
    "XlaSort(input: T; T: type) -> output: T",
    infer=_infer_sort,
    lowering=Decompose(lambda b, node: _sorted_lines(b, node.inputs[0])[0]),
    reference=lambda x: _key_values(x, x)[0],
    examples=(
        *(f"{kind}[3,9]" for kind in _KEYS.strip("{}").split(", ")),
        "f32[2,3,17]~any",
        "f64[7]~any",
        "i32[0]",
        "bool[2,3]",
    ),
)
define(
    "xla_key_value_sort",
    f"XlaKeyValueSort(keys: K, values: V; K: {_KEYS}, V: type)"
    " -> (sorted_keys: K, sorted_values: V)",
    infer=_infer_sort,
    lowering=Decompose(_build_key_values),
    reference=_key_values,
    examples=("K[3,9]~distinct i32[3,9]", "f32[7]~distinct V[7]"),
)


# -- by a function


def _variadic_sort(
    x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]
) -> Sequence[Bound]:
    *arrays, dimension = values(x, inputs)
    b, rank = x.b, arrays[0].type.rank
    if dimension.type.size != 1:
        raise InvalidArgumentError(f"'{x.name}' sorts along one dimension, found {dimension.type}")
    axis = int(constant(x, dimension).reshape(-1)[0])
    if not -rank <= axis < rank or any(a.dims != arrays[0].dims for a in arrays):
        raise InvalidArgumentError(
            f"'{x.name}' cannot sort dimension {axis} of {', '.join(str(a.type) for a in arrays)}"
        )
    axis %= rank
    last = rank - 1
    order = (*(a for a in range(rank) if a != axis), axis)
    lines = [b.transpose(a, order) for a in arrays]
    places = _places(x, attrs["comparator"], lines)
    back = tuple(order.index(a) for a in range(rank))
    found = (b.gather(line, places, np.int32(last), batch_dims=last) for line in lines)
    return [b.transpose(line, back) for line in found]


def _places(x: Extractor, comparator: Any, lines: Sequence[Value]) -> Value:
    """Where the elements in order are, along the last dimension. The comparator takes two scalars
    of each tensor."""
    b = x.b
    kinds = [line.type.dtype for line in lines for _ in range(2)]
    name, arguments = op_of(x, comparator, kinds)
    if arguments and arguments[0] // 2 == arguments[1] // 2 and name in ("less", "greater"):
        keys = lines[arguments[0] // 2]
        if keys.type.dtype.is_floating:  # of equal zeros, the first one stays first
            keys = b.add(keys, b.const(np.zeros((), keys.type.dtype.numpy)))
        descending = (name == "greater") == (arguments[0] < arguments[1])
        if not descending:
            return _sorted_lines(b, keys)[1]
        return b.top_k(_as_integers(b, keys), b.scalar_size(keys.dims[-1]))[1]
    return _network(x, comparator, lines)


def _network(x: Extractor, comparator: Any, lines: Sequence[Value]) -> Value:
    """A bitonic sorting network, padded to a power of two: in each of its steps, all elements are
    compared with others at once. Which element of `lines` is at each position, in order."""
    *outer, count = lines[0].dims
    if not isinstance(count, int):
        raise UnsupportedError(
            f"'{x.name}' sorts a dimension whose size the run knows, by a function of its own",
            node=x.name,
        )
    b, width = x.b, 1 << max(count - 1, 0).bit_length()
    numbers = np.arange(width, dtype=np.int32)
    places = b.broadcast_to(b.const(numbers), (*outer, width))
    size, distance = (b.const(np.int32(n)) for n in (2, 1))

    def condition(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        size = values(inner, inputs)[0]
        return [inner.b.less_equal(size, inner.b.const(np.int32(width)))]

    def body(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        size, distance, places, *lines = values(inner, inputs)
        found = _step(inner, comparator, count, size, distance, places, lines)
        b = inner.b
        one, two = (b.const(np.int32(n)) for n in (1, 2))
        ends = b.equal(distance, one)
        larger = b.select_v2(ends, b.mul(size, two), size)
        nearer = b.select_v2(ends, size, b.floor_div(distance, two))
        return [larger, nearer, found, *lines]

    done = values(x, x.loop(condition, body, [size, distance, places, *lines]))[2]
    return b.slice(done, (0,) * len(outer) + (0,), (*outer, count))


def _step(
    x: Extractor,
    comparator: Any,
    count: int,
    size: Value,
    distance: Value,
    places: Value,
    lines: Sequence[Value],
) -> Value:
    """One step of the network: each position and the one `distance` from it (their numbers differ
    in that bit) exchange what they hold if it is out of order: ascending in runs of `size` of even
    number, descending in the others. `places`: which elements of `lines` the positions hold; those
    from `count` on are padding, and stay behind all others."""
    b, last = x.b, places.type.rank - 1
    width = places.dims[-1]
    assert isinstance(width, int)
    own = b.const(np.arange(width, dtype=np.int32))
    partner = b.bitwise_xor(own, distance)
    theirs = b.gather(places, partner, np.int32(last))
    zero = b.const(np.int32(0))
    most = b.const(np.int32(max(count - 1, 0)))
    sides = [
        [b.gather(line, b.minimum(p, most), np.int32(last), batch_dims=last) for line in lines]
        for p in (places, theirs)
    ]
    pairs = [side for pair in zip(*sides) for side in pair]
    swapped = [side for pair in zip(*reversed(sides)) for side in pair]
    (ahead,), (behind,) = (for_elements(x, comparator, given) for given in (pairs, swapped))
    real, other = (b.less_equal(p, most) for p in (places, theirs))
    first = b.less(places, theirs)
    tie = b.equal(ahead, behind)
    both = b.logical_and(real, other)
    before = b.select_v2(both, b.select_v2(tie, first, ahead), first)
    ascending = b.equal(b.bitwise_and(own, size), zero)
    wanted = b.equal(b.less(own, partner), ascending)
    return b.select_v2(b.equal(before, wanted), places, theirs)


define(
    "xla_variadic_sort",
    "XlaVariadicSort(inputs: T, dimension: i32; T: list(type) >= 1, comparator: func,"
    " is_stable: bool) -> outputs: T",
    infer=lambda c: [t.dims for t in c.inputs[:-1]],
    lowering=Extracted(_variadic_sort),
)
