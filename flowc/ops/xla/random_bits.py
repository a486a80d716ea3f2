"""XlaRngBitGenerator: the words of Philox and ThreeFry in XLA's order.

In: an algorithm, a state (a key and a counter) and a shape. Out: the state behind what was drawn,
and integers of all bits. Invariant: equal states give equal numbers, those of XLA on a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim, ceildiv, product
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.random import bits
from flowc.ops.random.stateless import AUTOMATIC, PHILOX, THREEFRY

Array = np.ndarray[Any, Any]
_DTYPES = "{u8, i8, i32, i64, u32, u64}"


def _infer(c: Inference) -> list[Dims]:
    algorithm = c.need_int(0)
    if algorithm not in (PHILOX, THREEFRY, AUTOMATIC):
        raise c.fail(f"unknown algorithm {algorithm}", hint="1 (Philox), 2 (ThreeFry), 3 (either)")
    lengths = ((2,),) if algorithm == THREEFRY else ((2,), (3,))
    if c.dims(1) not in lengths:
        shown = " or ".join(str(n) for (n,) in lengths)
        raise c.fail(f"initial_state must have {shown} elements, found {c.inputs[1]}")
    if algorithm == THREEFRY and c.dims(2) != (1,):
        c.need_int_vector(2)  # which dimension is halved depends on the sizes
    return [c.dims(1), c.need_sizes(2, "Dimension {size} must be >= 0 (at position {place})")]


def _word_dtype(dtype: DType) -> DType:
    """The dtype of the words that numbers are made of: of a u32, 8-bit numbers are the low bits."""
    return dtypes.u32 if dtype.size == 1 else dtype


def _interleaved_axis(dims: Dims) -> int:
    """The axis along which the two words of ThreeFry alternate: the first of even size, else the
    first of the largest ones."""
    even = [i for i, d in enumerate(dims) if isinstance(d, int) and d % 2 == 0]
    if even or len(dims) < 2:
        return even[0] if even else 0
    sizes = [d for d in dims if isinstance(d, int)]
    return sizes.index(max(sizes))


def _sizes(b: Builder, *sizes: Dim) -> Value:
    """Which may be as large as a file or a feed says."""
    return b.sizes(sizes, dtypes.i64)


def _moved_on(b: Builder, state: Value, steps: Dim) -> Value:
    """The state with a counter that is so many steps on: of 64 bits, or of 128, the low ones
    first."""
    key, low, *high = (b.slice(state, (i,), (1,)) for i in range(state.type.static_dims[0]))
    after = b.add(low, b.cast(_sizes(b, steps), DstT=dtypes.u64))
    high = [b.add(h, b.cast(b.less(after, low), DstT=dtypes.u64)) for h in high]
    return b.concat(key, after, *high, b.const(np.int32(0)))


def _philox(b: Builder, state: Value, dims: Dims, dtype: DType) -> tuple[Value, Dim]:
    n = product(dims)
    blocks = ceildiv(n * bits.words_of(dtype), 4)
    key = b.slice(state, (0,), (1,))
    counter = b.slice(state, (1,), (2,)) if state.dims == (3,) else b.reverse(state, (0,))
    words = b.philox(key, counter, _sizes(b, blocks))
    return b.reshape(b.integers_of_words(words, _sizes(b, n), dtype=dtype), dims), blocks


def _threefry(b: Builder, state: Value, dims: Dims, dtype: DType) -> tuple[Value, Dim]:
    """Two words a counter: one number of 64 bits, or two neighbours along one dimension."""
    key, counter = (b.slice(state, (i,), (1,)) for i in range(2))
    if dtype.size == 8:
        n = product(dims)
        words = b.threefry(key, counter, _sizes(b, n))
        return b.reshape(b.integers_of_words(words, _sizes(b, n), dtype=dtype), dims), n
    at, whole = _interleaved_axis(dims), dims or (1,)
    half = (*whole[:at], ceildiv(whole[at], 2), *whole[at + 1 :])
    n = product(half)
    words = b.threefry(key, counter, _sizes(b, n))
    numbers = b.integers_of_words(words, _sizes(b, 2 * n), dtype=dtype)
    pairs = b.reshape(numbers, (*half, 2))
    rank = len(half)
    order = (*range(at + 1), rank, *range(at + 1, rank))
    pairs = b.transpose(pairs, b.const(np.array(order, np.int32)))
    both = b.reshape(pairs, (*half[:at], 2 * half[at], *half[at + 1 :]))
    wanted = b.slice(both, _sizes(b, *[0] * rank), _sizes(b, *whole))
    return b.reshape(wanted, dims), n


def _build(b: Builder, node: Node) -> list[Value]:
    algorithm, state, _ = node.inputs
    assert algorithm.constant is not None
    out = node.types[1]
    draw = _threefry if int(algorithm.constant) == THREEFRY else _philox
    numbers, steps = draw(b, state, out.dims, _word_dtype(out.dtype))
    if numbers.type.dtype is not out.dtype:
        numbers = b.cast(numbers, DstT=out.dtype)
    return [_moved_on(b, state, steps), numbers]


# -- with NumPy


def _reference(algorithm: Array, state: Array, shape: Array, *, dtype: DType) -> list[Array]:
    dims = tuple(int(d) for d in shape)
    wide = _word_dtype(dtype)
    key, low = int(state[0]), int(state[1])
    if int(algorithm) == THREEFRY:
        at, whole = _interleaved_axis(dims), dims or (1,)
        half = (*whole[:at], -(-whole[at] // 2), *whole[at + 1 :]) if wide.size < 8 else dims
        steps = int(np.prod(half, dtype=np.int64))
        counters = np.uint64(low) + np.arange(steps, dtype=np.uint64)
        words = bits.threefry_words(key, counters)
        if wide.size == 8:
            found = words.view(wide.numpy)
        else:
            rows = [np.take(words[:, k].reshape(half), range(half[at]), at) for k in (0, 1)]
            both = np.stack(rows, at + 1)
            both = both.reshape(*half[:at], 2 * half[at], *half[at + 1 :])
            found = np.take(both, range(whole[at]), at).view(wide.numpy)
        after = np.array([key, (low + steps) % 2**64], np.uint64)
    else:
        n = int(np.prod(dims, dtype=np.int64))
        steps = -(-n * bits.words_of(wide) // 4)
        high = int(state[2]) if len(state) == 3 else key
        places = [(low + (high << 64) + k) % 2**128 for k in range(steps + 1)]
        pairs = np.array([[p % 2**64, p >> 64] for p in places], np.uint64)
        words = bits.philox_words(key, pairs[:-1]).reshape(-1)
        found = bits.integers_reference(words, np.array([n]), dtype=wide)
        after = np.array([key, *pairs[-1]], np.uint64)[: len(state)]
    return [after, found.reshape(dims).astype(dtype.numpy)]


define(
    "xla_rng_bit_generator",
    f"XlaRngBitGenerator(algorithm: i32, initial_state: u64, shape: Tshape; dtype: {_DTYPES} = u64,"
    " Tshape: {i32, i64} = i32) -> (output_key: u64, output: dtype)",
    infer=_infer,
    lowering=Decompose(_build),
    reference=_reference,
    traits=frozenset({"no_fold"}),  # all numbers are drawn to find the state behind them
    examples=(
        "i32[]=1 u64[3]=[5,18446744073709551615,9] i32[2]=[3,5]; dtype=u32",
        "i32[]=3 u64[2]=[5,7] i64[1]=[5]; dtype=u64",
        "i32[]=1 u64[3]=[5,18446744073709551615,18446744073709551615] i32[1]=[11]; dtype=u8",
        "i32[]=2 u64[2]=[81985529216486895,18446744073709551615] i32[1]=[7]; dtype=u32",
        "i32[]=2 u64[2]=[5,7] i32[3]=[3,4,2]; dtype=u32",
        "i32[]=2 u64[2]=[5,7] i32[2]=[3,5]; dtype=u8",
        "i32[]=2 u64[2]=[5,7] i32[2]=[2,3]; dtype=u64",
        "i32[]=2 u64[2]=[5,7] i32[0]; dtype=u32",
        "i32[]=1 u64[2]=[5,7] i32[2]=[0,4]; dtype=u64",
        "i32[]=1 u64[3]=[5,7,9] i32[1]=[3]; dtype=i8",
        "i32[]=2 u64[2]=[5,7] i32[1]=[3]; dtype=i32",
        "i32[]=1 u64[3]=[5,7,9] i32[1]=[3]; dtype=i64",
    ),
)
