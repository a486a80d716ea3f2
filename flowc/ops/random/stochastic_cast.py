"""stochastic_cast_to_int: floats as integers, rounded up as often as their fraction says.

In: floats, a key, a counter and an algorithm. Out: integers, whose mean is the float. Invariant:
whole numbers stay as they are, and those beyond the integers become the nearest of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Node, Value
from flowc.ir.dims import product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define, op_named
from flowc.ir.types import Dims
from flowc.ops.random.stateless import FLOATS, PHILOX, checked_keys, drawn_words, need_keyed

if TYPE_CHECKING:
    from flowc.ir.builder import Builder

Array = np.ndarray[Any, Any]
_KEYS = "u64[1]=[7] u64[2]=[1,2] i32[]=1"


def _infer(c: Inference) -> Dims:
    need_keyed(c)
    return c.dims(0)


def _wide(dtype: dtypes.DType) -> dtypes.DType:
    """In which halves are added to fractions, of which their own precision has few."""
    return dtypes.f64 if dtype is dtypes.f64 else dtypes.f32


def _build(b: Builder, node: Node) -> Value:
    x, key, counter = node.inputs[0], *checked_keys(b, node)
    wide, out = _wide(x.type.dtype), node.output.type.dtype
    count = product(x.dims)
    words = drawn_words(b, key, counter, count * (wide.numpy.itemsize // 4))
    u = b.reshape(b.uniform_of_words(words, (count,), dtype=wide), x.dims)
    x = x if x.type.dtype is wide else b.cast(x, DstT=wide)
    low, high = (b.const(end, wide) for end in _ends(out))
    whole = b.floor(x)
    # The numbers that round up are those below the fraction, as far from 0 as they may be.
    up = b.select_v2(b.less(x, b.const(0, wide)), b.add(x, u), b.sub(b.add(x, b.const(1, wide)), u))
    found = b.select_v2(b.equal(whole, x), x, b.floor(up))
    inside = b.maximum(b.minimum(found, high), low)
    known = b.select_v2(b.is_nan(x), b.const(0, wide), inside)
    below = b.cast(known, DstT=out)
    most = b.const(np.iinfo(out.numpy).max, out)  # which f32 has not
    return b.select_v2(b.greater_equal(known, high), most, below)


def _ends(dtype: dtypes.DType) -> tuple[int, int]:
    limits = np.iinfo(dtype.numpy)
    return int(limits.min), int(limits.max)


def _rounded(x: Array, key: Array, counter: Array, alg: Array, *, Tout: dtypes.DType) -> Array:
    wide = _wide(dtypes.as_dtype(x.dtype))
    uniform = op_named("stateless_random_uniform").reference
    assert uniform is not None
    u = uniform(np.array(x.shape, np.int64), key, counter, np.int32(PHILOX), dtype=wide)
    x = x.astype(wide.numpy)
    low, high = (wide.numpy.type(end) for end in _ends(Tout))
    with np.errstate(invalid="ignore"):
        up = np.where(x < 0, x + u, x + 1 - u)
        found = np.clip(np.where(np.floor(x) == x, x, np.floor(up)), low, high)
        found = np.where(np.isnan(x), 0, found)
        most = np.array(np.iinfo(Tout.numpy).max, Tout.numpy)
        return np.where(found >= high, most, found.astype(Tout.numpy))


define(
    "stochastic_cast_to_int",
    f"StochasticCastToInt(input: Tin, key: u64, counter: u64, alg: i32; Tin: {FLOATS},"
    " Tout: {i8, i16, i32}) -> output: Tout",
    infer=_infer,
    lowering=Decompose(_build),
    reference=_rounded,
    # Whole numbers and those beyond the ends: TensorFlow shares its stream out among vectors.
    examples=(
        f"f16[4]=[3,-2,300,-1e999] {_KEYS}; Tout=i8",
        f"bf16[4]=[3,-2,250,0] {_KEYS}; Tout=i16",
        f"f32[4]=[3,-2,2e9,-1e999] {_KEYS}; Tout=i32",
        f"f64[4]=[3,-2,3e9,-3e9] {_KEYS}; Tout=i32",
    ),
)
