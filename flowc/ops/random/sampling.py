"""Classes drawn by their logits: Multinomial, by seeds and with a state.

In: logits, one row of them a distribution, and how many classes to draw of each. Out: TensorFlow's
classes for the same seeds. Invariant: a class without a finite logit is never drawn. Source: Vose's
plain inversion: the place of a uniform number among the running sums of the probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Value
from flowc.ir.dims import ceildiv
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Extracted
from flowc.ir.op import Attrs, define, op_named
from flowc.ir.types import Dims
from flowc.ops.random.stateful import RESERVED, drawing
from flowc.ops.random.stateless import PHILOX, SEED
from flowc.ops.reductions.folds import lowest
from flowc.ops.state.variables import STATE, value_of

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
_REAL = "{f32, f64, i32, u8, i16, i8, i64, bf16, u16, f16, u32, u64}"
_INDEX = "output_dtype: {i32, i64} = i64"


def _infer(c: Inference) -> Dims:
    c.need_rank(0, 2, f"logits should be a matrix, got {c.inputs[0]}")
    c.need_rank(1, 0, f"num_samples should be a scalar, got {c.inputs[1]}")
    if len(c.inputs) == 3:
        c.need_dims(2, (2,), f"seed must have shape [2], not {c.inputs[2]}")
    count = c.need_size(1, "num_samples should be nonnegative, got {size}")
    rows, classes = c.dims(0)
    if classes == 0 and isinstance(count, int) and count > 0:
        raise c.fail("num_classes should be positive, got 0")
    return (rows, count)


def _running_sums(b: Builder, logits: Value) -> Value:
    """Running sums of the unnormalised probabilities in each row."""
    wide = logits if logits.type.dtype is dtypes.f64 else b.cast(logits, DstT=dtypes.f64)
    finite = b.is_finite(wide)
    axis = b.const(np.int32(1))
    least = b.const(np.float64(lowest(logits.type.dtype)))
    most = b.maximum(b.max(b.select_v2(finite, wide, least), axis, keep_dims=True), least)
    return b.cumsum(b.select_v2(finite, b.exp(b.sub(wide, most)), np.float64(0)), axis)


def _decompose_keyed(b: Builder, node: Node) -> Value:
    logits, _, key, counter = node.inputs
    rows, count = node.output.dims
    sums = _running_sums(b, logits)
    words = b.philox(key, counter, (ceildiv(rows * count * 2, 4),))
    uniform = b.uniform_of_words(words, (rows * count,), dtype=dtypes.f64)
    last = b.slice(sums, (0, logits.dims[1] - 1), (rows, 1))
    sought = b.mul(b.reshape(uniform, (rows, count)), last)
    return b.upper_bound(sums, sought, out_type=node.attrs["output_dtype"])


def _decompose_stateless(b: Builder, node: Node) -> Value:
    logits, count, seed = node.inputs
    keys = b.stateless_random_get_key_counter(seed)
    return b.multinomial_of_key(logits, count, *keys, output_dtype=node.attrs["output_dtype"])


def _keyed_reference(
    logits: Array, num_samples: Array, key: Array, counter: Array, *, output_dtype: dtypes.DType
) -> Array:
    uniform_of = op_named("stateless_random_uniform").reference
    assert uniform_of is not None
    dims = (len(logits), int(num_samples))
    uniform = uniform_of(np.array(dims), key, counter, np.int32(PHILOX), dtype=dtypes.f64)
    wide = logits.astype(np.float64)
    finite = np.isfinite(wide)
    least = float(lowest(dtypes.as_dtype(logits.dtype)))
    most = np.where(finite, wide, least).max(1, initial=least, keepdims=True)
    sums = np.cumsum(np.where(finite, np.exp(np.where(finite, wide - most, 0)), 0), 1)
    found = [np.searchsorted(s, u * s[-1], "right") for s, u in zip(sums, uniform)]
    return np.array(found, output_dtype.numpy).reshape(dims)


def _stateless_reference(
    logits: Array, num_samples: Array, seed: Array, *, output_dtype: dtypes.DType
) -> Array:
    keys = op_named("stateless_random_get_key_counter").reference
    assert keys is not None
    return _keyed_reference(logits, num_samples, *keys(seed), output_dtype=output_dtype)


multinomial_of_key = define(
    "multinomial_of_key",
    "_MultinomialOfKey(logits: T, num_samples: i32, key: u64, counter: u64;"
    f" T: {_REAL}, {_INDEX}) -> output: output_dtype",
    infer=_infer,
    lowering=Decompose(_decompose_keyed),
    reference=_keyed_reference,
    examples=("f32[3,4] i32[]=5 u64[1]=[81985529216486895] u64[2]=[0,1311768467463790320]",),
)
stateless_multinomial = define(
    "stateless_multinomial",
    f"StatelessMultinomial(logits: T, num_samples: i32, seed: Tseed; T: {_REAL},"
    f" Tseed: {SEED} = i64, {_INDEX}) -> output: output_dtype",
    infer=_infer,
    lowering=Decompose(_decompose_stateless),
    reference=_stateless_reference,
    examples=(
        "T[3,4] i32[]=5 i64[2]=[1,2]",
        "f32[2,1] i32[]=3 i32[2]=[5,-6]; output_dtype=i32",
        "f64[1,9] i32[]=400 i64[2]=[7,8]",
        "f32[0,3] i32[]=2 i64[2]=[1,2]",
        "f32[2,3] i32[]=0 i64[2]=[1,2]",
    ),
)


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    logits, samples = (value_of(x, bound) for bound in inputs)
    pure = op_named("multinomial_of_key")
    given = {"output_dtype": attrs["output_dtype"]}

    def draw(key: Value, counter: Value) -> Value:
        return x.b.emit(pure, (logits, samples, key, counter), given).output

    # TensorFlow sets aside two numbers an element, for rows of whole groups of four.
    return [drawing(x, attrs, draw, lambda dims: dims[0] * ceildiv(dims[1], 4) * 8 * RESERVED)]


multinomial = define(
    "multinomial",
    "Multinomial(logits: T, num_samples: i32; seed: int = 0, seed2: int = 0,"
    f" T: {_REAL}, {_INDEX}) -> output: output_dtype",
    infer=_infer,
    lowering=Extracted(_emit),
    traits=STATE,
)
