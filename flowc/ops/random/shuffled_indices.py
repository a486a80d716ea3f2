"""Indices in a random order, each by itself: RandomIndexShuffle.

In: indices, a seed of three words, and the greatest index. Out: where TensorFlow puts each index.
Invariant: under one seed, the indices up to the greatest one are only exchanged. Source: Simon, of
"The SIMON and SPECK families of lightweight block ciphers" (2013), in the smallest block of an even
number of bits, at least 16, that holds the greatest index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.computation import Value
from flowc.ir.dims import ceildiv
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.kernels import random as kernels

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node

Array = np.ndarray[Any, Any]
_INDEX = "{i32, u32, i64, u64}"
MOST_ROUNDS = 1024  # of each index; the cipher has at most 44, and a graph may ask for 2^62
_ERRORS = ("index must be >= 0 but was {a}", "max_index must be >= index, but {b} < {a}")


def _rotated_left(x: int, by: int, half: int) -> int:
    return (x << by | x >> half - by) & (1 << half) - 1


def _encrypted(block: int, seed: list[int], half: int, rounds: int) -> int:
    mask = (1 << half) - 1
    keys, sequence = [word & mask for word in seed], 0x7369F885192C0EF5 & mask
    for i in range(3, rounds):
        three, four = (_rotated_left(keys[i - 1], half - by, half) for by in (3, 4))
        last = three ^ four
        keys.append((0xFFFFFFFC & mask) ^ (sequence >> i - 3 & 1) ^ keys[i - 3] ^ last)
    left, right = block >> half & mask, block & mask
    for key in keys[:rounds]:
        one, two, eight = (_rotated_left(right, by, half) for by in (1, 2, 8))
        left, right = right, left ^ (one & eight) ^ two ^ key
    return left << half | right


def _shuffled(index: int, seed: list[int], greatest: int, rounds: int) -> int:
    for wrong, message in zip((index < 0, greatest < index), _ERRORS):
        if wrong:
            raise InvalidArgumentError(message.format(a=index, b=greatest))
    half = next(h for h in range(8, 33) if h == 32 or 1 << 2 * h >= greatest)
    found = _encrypted(index, seed, half, rounds)
    while found > greatest:
        found = _encrypted(found, seed, half, rounds)
    return found


def _reference(index: Array, seed: Array, max_index: Array, *, rounds: int) -> Array:
    words = (seed & 0xFFFFFFFF) if seed.itemsize > 4 else seed.view(np.uint32)
    shape = np.broadcast_shapes(index.shape, words.shape[:-1], max_index.shape)
    given = [np.broadcast_to(x, shape).reshape(-1).tolist() for x in (index, max_index)]
    seeds = np.broadcast_to(words, (*shape, 3)).reshape(-1, 3).tolist()
    found = [_shuffled(i, s, m, rounds) for i, s, m in zip(given[0], seeds, given[1])]
    return np.array(found, index.dtype).reshape(shape)


def _infer(c: Inference) -> Dims:
    fault = "Seed must be a vector of size [3] or a matrix of size [n, 3]"
    if c.rank(1) not in (1, 2):
        raise c.fail(fault)
    c.equal(c.dims(1)[-1], 3, fault)
    if c.rank(0) > 1 or c.rank(2) > 1:
        raise c.fail("Index and max_index must be scalars or vectors")
    dims = c.broadcast_dims(c.broadcast(0, 2), c.dims(1)[:-1])
    if not 4 <= c.attrs["rounds"] <= MOST_ROUNDS or c.attrs["rounds"] % 2:
        raise c.fail(f"rounds must be an even number from 4 to {MOST_ROUNDS}")
    return dims


def _infer_each(c: Inference) -> Dims:
    dims = c.dims(0)
    c.match_dims((*dims, 3), c.dims(1), "as many seeds, of three words each, as indices")
    c.match_dims(dims, c.dims(2), "as many greatest indices as indices")
    return dims


def _build(b: Builder, node: Node) -> Value:
    index, seed, most = node.inputs
    dims = node.output.dims
    given = [x if x.dims == dims else b.broadcast_to(x, b.sizes(dims)) for x in (index, most)]
    words = b.cast(seed, DstT=dtypes.u32)
    words = b.broadcast_to(words, b.sizes((*dims, 3)))
    return b.shuffled_indices(given[0], words, given[1], rounds=node.attrs["rounds"])


define(
    "shuffled_indices",
    f"_ShuffledIndices(index: T, seed: u32, max_index: T; T: {_INDEX}, rounds: int) -> output: T",
    infer=_infer_each,
    lowering=lambda node: Native(
        kernels.shuffled_indices,
        arguments=(node.attrs["rounds"], node.inputs[0].type.size),
        parallel=ceildiv(node.inputs[0].type.size, kernels.UNIT),
        constants={"UNIT": kernels.UNIT},
        errors=_ERRORS,
    ),
    reference=_reference,
    traits=frozenset({"no_fold"}),  # the kernel is quick where many rounds take the reference long
    examples=(
        "T[4]=[0,4,5,1] u32[4,3] T[4]=[9,5,800,30]; rounds=4",
        "i64[]=5 u32[3]=[1,2,3] i64[]=1000000; rounds=24",
        "i32[0] u32[0,3] i32[0]; rounds=8",
    ),
)
define(
    "random_index_shuffle",
    "RandomIndexShuffle(index: dtype, seed: Tseed, max_index: dtype; rounds: int = 4,"
    f" dtype: {_INDEX}, Tseed: {_INDEX}) -> output: dtype",
    infer=_infer,
    lowering=Decompose(_build),
    reference=_reference,
    traits=frozenset({"no_fold"}),
    examples=(
        "dtype[10]=[0,1,2,3,4,5,6,7,8,9] u32[3]=[1,2,3] dtype[]=9",
        "i64[]=5 i64[3]=[1099511627777,-2,3] i64[]=70000; rounds=6",
        "i32[]=4 i32[2,3]=[7,-8,9,1,2,3] i32[2]=[100,4]",
        "u64[]=7 u64[3]=[1,2,3] u64[]=1099511627779; rounds=24",
    ),
)
