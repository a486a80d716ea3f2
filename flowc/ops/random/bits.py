"""Random words, and the numbers made of them: what the random ops decompose into.

In: a key, a counter, how many words or numbers. Out: words in the order of their counters; numbers
of each dtype in TensorFlow's order. These records are internal. Invariant: everything is a pure
function of its inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.dims import Dim, as_dim, ceildiv
from flowc.ir.inference import Inference
from flowc.ir.lowering import Native, View
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.kernels import random as kernels

if TYPE_CHECKING:
    from flowc.ir.computation import Node
    from flowc.ir.scalar import ScalarBuilder

Array = np.ndarray[Any, Any]
UNIT = 1024
LOW_WORD = 0xFFFFFFFF


def _units(count: Dim) -> Dim:
    return ceildiv(count, UNIT)


def _count(c: Inference, i: int) -> Dim:
    return as_dim(c.need(i).reshape(-1)[0])


# -- Philox


def philox_words(key: int, counters: Array) -> Array:
    """Philox4x32-10 of 128-bit counters (uint64[n, 2], the low half first): uint32[n, 4]."""
    mask, shift = np.uint64(LOW_WORD), np.uint64(32)
    low, high = counters[:, 0], counters[:, 1]
    x0, x1, x2, x3 = low & mask, low >> shift, high & mask, high >> shift
    k0, k1 = key & LOW_WORD, key >> 32
    for _ in range(10):
        a, b = x0 * np.uint64(0xD2511F53), x2 * np.uint64(0xCD9E8D57)
        x0, x2 = (b >> shift) ^ x1 ^ np.uint64(k0), (a >> shift) ^ x3 ^ np.uint64(k1)
        x1, x3 = b & mask, a & mask
        k0, k1 = (k0 + 0x9E3779B9) & LOW_WORD, (k1 + 0xBB67AE85) & LOW_WORD
    return np.stack([x0, x1, x2, x3], -1).astype(np.uint32)


def _advanced(counter: Array, steps: Array) -> Array:
    """A 128-bit counter moved on by each of `steps`."""
    low = counter[0] + steps.astype(np.uint64)
    high = counter[1] + (low < counter[0]).astype(np.uint64)
    return np.stack([low, high], -1)


def _philox_reference(key: Array, counter: Array, blocks: Array, *, stride: int) -> Array:
    steps = np.arange(int(blocks.reshape(-1)[0]), dtype=np.uint64) * np.uint64(stride)
    return philox_words(int(key.reshape(-1)[0]), _advanced(counter, steps)).reshape(-1)


def _infer_philox(c: Inference) -> Dims:
    return (4 * _count(c, 2),)


def _lower_philox(node: Node) -> Native:
    blocks = node.output.dims[0] // 4
    return Native(
        kernels.philox,
        arguments=(blocks, node.attrs["stride"]),
        parallel=_units(blocks),
        constants={"UNIT": UNIT},
    )


philox = define(
    "philox",
    "_Philox(key: u64, counter: u64, blocks: T; stride: int = 1, T: {i32, i64}) -> words: u32",
    infer=_infer_philox,
    lowering=_lower_philox,
    reference=_philox_reference,
    examples=(
        "u64[1]=[42] u64[2]=[0,7] i32[1]=[5]",
        "u64[1]=[0] u64[2]=[0,0] i64[1]=[0]",
        "u64[1]=[99] u64[2]=[18446744073709551615,18446744073709551615] i32[1]=[3]; stride=256",
        "u64[1]=[12345678901234567] u64[2]=[1,2] i32[1]=[1500]; stride=2",
    ),
)


# -- ThreeFry


def threefry_words(key: int, counters: Array) -> Array:
    """ThreeFry2x32-20 of 64-bit counters (uint64[n]): uint32[n, 2]."""
    keys = [key & LOW_WORD, key >> 32]
    keys.append(keys[0] ^ keys[1] ^ 0x1BD11BDA)
    x = (counters & np.uint64(LOW_WORD)).astype(np.uint32)
    y = (counters >> np.uint64(32)).astype(np.uint32)
    x, y = x + np.uint32(keys[0]), y + np.uint32(keys[1])
    for group in range(5):
        for turn in ((13, 15, 26, 6), (17, 29, 16, 24))[group % 2]:
            x = x + y
            y = (y << np.uint32(turn) | y >> np.uint32(32 - turn)) ^ x
        x = x + np.uint32(keys[(group + 1) % 3])
        y = y + np.uint32((keys[(group + 2) % 3] + group + 1) & LOW_WORD)
    return np.stack([x, y], -1)


def _threefry_reference(key: Array, counter: Array, count: Array) -> Array:
    steps = np.arange(int(count.reshape(-1)[0]), dtype=np.uint64)
    return threefry_words(int(key.reshape(-1)[0]), counter.reshape(-1)[0] + steps).reshape(-1)


def _lower_threefry(node: Node) -> Native:
    count = node.output.dims[0] // 2
    return Native(
        kernels.threefry,
        arguments=(count,),
        parallel=_units(count),
        constants={"UNIT": UNIT},
    )


threefry = define(
    "threefry",
    "_ThreeFry(key: u64, counter: u64, count: T; T: {i32, i64}) -> words: u32",
    infer=lambda c: (2 * _count(c, 2),),
    lowering=_lower_threefry,
    reference=_threefry_reference,
    examples=(
        "u64[1]=[42] u64[1]=[7] i32[1]=[5]",
        "u64[1]=[0] u64[1]=[0] i64[1]=[0]",
        "u64[1]=[12345678901234567] u64[1]=[18446744073709551615] i32[1]=[1500]",
    ),
)


# -- words -> uniform numbers


def words_of(dtype: DType) -> int:
    """Words that one number takes."""
    return 2 if dtype.size == 8 else 1


# Mantissa bits, and the bits of 1.0, of the float that a number is made as.
_FORMATS = {"f16": (10, 0x3C00), "bf16": (7, 0x3F80), "f32": (23, 0x3F800000)}


def _lower_uniform(node: Node) -> View:
    dtype: DType = node.attrs["dtype"]
    if dtype is dtypes.f64:
        return View(_uniform_f64)
    mantissa, one = _FORMATS[dtype.short]
    carrier = dtypes.u32 if dtype is dtypes.f32 else dtypes.u16

    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        kept = k.bitwise_and(k.load(0, index), (1 << mantissa) - 1)
        bits = k.bitwise_or(k.cast(kept, carrier), one)
        return k.sub(k.bitcast(bits, dtype), 1.0)

    return View(read)


def _uniform_f64(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
    (i,) = index
    high = k.cast(k.bitwise_and(k.load(0, (2 * i,)), 0xFFFFF), dtypes.u64)
    low = k.cast(k.load(0, (2 * i + 1,)), dtypes.u64)
    bits = k.bitwise_or(k.bitwise_or(k.shift_left(high, 32), low), 0x3FF0000000000000)
    return k.sub(k.bitcast(bits, dtypes.f64), 1.0)


def uniform_reference(words: Array, count: Array, *, dtype: DType) -> Array:
    n = int(count.reshape(-1)[0])
    if dtype is dtypes.f64:
        pairs = words[: 2 * n].reshape(-1, 2).astype(np.uint64)
        bits = ((pairs[:, 0] & np.uint64(0xFFFFF)) << np.uint64(32)) | pairs[:, 1]
        return (bits | np.uint64(0x3FF0000000000000)).view(np.float64) - 1.0
    mantissa, one = _FORMATS[dtype.short]
    bits = (words[:n] & np.uint32((1 << mantissa) - 1)) | np.uint32(one)
    if dtype is dtypes.f32:
        return bits.view(np.float32) - np.float32(1)
    # The numbers are multiples of the last place of 1, so the difference is exact.
    return bits.astype(np.uint16).view(dtype.numpy) - dtype.numpy.type(1)


uniform_of_words = define(
    "uniform_of_words",
    "_UniformOfWords(words: u32, count: T; dtype: {f16, bf16, f32, f64}, T: {i32, i64})"
    " -> numbers: dtype",
    infer=lambda c: (_count(c, 1),),
    lowering=_lower_uniform,
    reference=uniform_reference,
    examples=(
        "u32[8]~any i32[1]=[8]; dtype=f32",
        "u32[8]~any i32[1]=[3]; dtype=f64",
        "u32[12]~any i64[1]=[11]; dtype=f16",
        "u32[4]~any i32[1]=[4]; dtype=bf16",
        "u32[0] i32[1]=[0]; dtype=f32",
    ),
)


# -- words -> normal numbers


def _normal_functions(dtype: DType) -> tuple[str, ...]:
    return tuple(f"normal_{part}_{dtype}" for part in ("radius", "sin", "cos"))


def _lower_normals(node: Node) -> Native:
    dtype: DType = node.attrs["dtype"]
    pairs = node.output.dims[0] // 2
    return Native(
        kernels.normals,
        arguments=(pairs,),
        parallel=_units(pairs),
        constants={"UNIT": UNIT, "WIDE": dtype is dtypes.f64},
        functions=_normal_functions(dtype),
    )


def normals_reference(words: Array, *, dtype: DType) -> Array:
    n = len(words) // words_of(dtype)
    uniform = uniform_reference(words, np.array([n]), dtype=dtype).reshape(-1, 2)
    u = np.maximum(uniform[:, 0], dtype.numpy.type(1e-7)).astype(np.float64)
    angle = (uniform[:, 1].astype(np.float64) * (2 * np.pi)).astype(dtype.numpy)
    radius = np.sqrt(np.log(u).astype(dtype.numpy) * dtype.numpy.type(-2))
    wide = angle.astype(np.float64)
    circle = np.stack([np.sin(wide), np.cos(wide)], -1).astype(dtype.numpy)
    return (circle * radius[:, None]).reshape(-1)


normals_of_words = define(
    "normals_of_words",
    "_NormalsOfWords(words: u32; dtype: {f32, f64}) -> numbers: dtype",
    infer=lambda c: (c.dims(0)[0] // words_of(c.attrs["dtype"]),),
    lowering=_lower_normals,
    reference=normals_reference,
    examples=("u32[8]~any; dtype=f32", "u32[400]~any; dtype=f64", "u32[0]; dtype=f32"),
)


# -- truncated normal numbers


def group_of(dtype: DType) -> int:
    """Numbers that TensorFlow makes at once, of the words from one counter on."""
    return 4 // words_of(dtype)


def stride_of(dtype: DType) -> int:
    """Counters that TensorFlow reserves for such a group."""
    return 128 if dtype is dtypes.f64 else 256


def _lower_truncate(node: Node) -> Native:
    dtype = node.output.type.dtype
    groups = node.output.dims[0] // group_of(dtype)
    return Native(
        kernels.truncate,
        arguments=(groups,),
        parallel=_units(groups),
        constants={"UNIT": UNIT, "WIDE": dtype is dtypes.f64, "STRIDE": stride_of(dtype)},
        functions=_normal_functions(dtype),
        updates=2,
    )


def truncate_reference(key: Array, counter: Array, normals: Array) -> Array:
    dtype = dtypes.as_dtype(normals.dtype)
    size, stride = group_of(dtype), stride_of(dtype)
    rows = normals.reshape(-1, size).copy()
    for group in np.nonzero((np.abs(rows) >= 2).any(-1))[0]:
        kept = [x for x in rows[group] if abs(x) < 2]
        step = 1
        while len(kept) < size:
            place = np.array([group * stride + step], np.uint64)
            words = philox_words(int(key.reshape(-1)[0]), _advanced(counter, place)).reshape(-1)
            kept += [x for x in normals_reference(words, dtype=dtype) if abs(x) < 2]
            step += 1
        rows[group] = kept[:size]
    return rows.reshape(-1)


truncate_normals = define(
    "truncate_normals",
    "_TruncateNormals(key: u64, counter: u64, normals: T; T: {f32, f64}) -> numbers: T",
    infer=lambda c: c.dims(2),
    lowering=_lower_truncate,
    reference=truncate_reference,
    examples=(
        "u64[1]=[3] u64[2]=[0,9] f32[8]=[0,1,2,-1,-3,3,2,4]",
        "u64[1]=[3] u64[2]=[18446744073709551615,9] f64[6]=[0,1,2,-1,-3,3]",
        "u64[1]=[3] u64[2]=[0,9] T[0]",
    ),
)


# -- words -> integers


def _lower_range(node: Node) -> Native:
    dtype = node.output.type.dtype
    count = node.output.dims[0]
    return Native(
        kernels.integers_in_range,
        arguments=(count,),
        parallel=_units(count),
        constants={"UNIT": UNIT, "WIDE": dtype.size == 8},
        errors=("Need minval < maxval, got {a} >= {b}",),
    )


def integers_reference(words: Array, count: Array, *, dtype: DType) -> Array:
    n = int(count.reshape(-1)[0])
    whole = np.ascontiguousarray(words[: n * words_of(dtype)])
    return whole.view(f"u{dtype.size}").view(dtype.numpy)


def range_reference(words: Array, low: Array, high: Array, count: Array) -> Array:
    dtype = dtypes.as_dtype(low.dtype)
    bits = integers_reference(words, count, dtype=dtype).view(f"u{dtype.size}")
    if len(bits) and low >= high:
        raise InvalidArgumentError(f"Need minval < maxval, got {low} >= {high}")
    start = low.reshape(1).view(bits.dtype)
    size = np.maximum(high.reshape(1).view(bits.dtype) - start, 1)
    return (start + bits % size).view(dtype.numpy)


range_of_words = define(
    "range_of_words",
    "_RangeOfWords(words: u32, low: T, high: T, count: S; T: {i32, i64, u32, u64},"
    " S: {i32, i64}) -> numbers: T",
    infer=lambda c: (_count(c, 3),),
    lowering=_lower_range,
    reference=range_reference,
    examples=(
        "u32[8]~any T[]=2 T[]=9 i32[1]=[4]",
        "u32[8]~any i32[]=-2147483648 i32[]=2147483647 i32[1]=[8]",
        "u32[4]~any i64[]=-9223372036854775808 i64[]=9223372036854775807 i32[1]=[2]",
        "u32[0] i32[]=3 i32[]=3 i32[1]=[0]",
    ),
)


def _integer_of(dtype: DType) -> Callable[[ScalarBuilder, tuple[Dim, ...]], Any]:
    def read(k: ScalarBuilder, index: tuple[Dim, ...]) -> Any:
        (i,) = index
        if dtype.size == 4:
            return k.bitcast(k.load(0, index), dtype)
        low = k.cast(k.load(0, (2 * i,)), dtypes.u64)
        high = k.cast(k.load(0, (2 * i + 1,)), dtypes.u64)
        return k.bitcast(k.bitwise_or(k.shift_left(high, 32), low), dtype)

    return read


integers_of_words = define(
    "integers_of_words",
    "_IntegersOfWords(words: u32, count: T; dtype: {i32, i64, u32, u64}, T: {i32, i64})"
    " -> numbers: dtype",
    infer=lambda c: (_count(c, 1),),
    lowering=lambda node: View(_integer_of(node.attrs["dtype"])),
    reference=integers_reference,
    examples=(
        "u32[8]~any i32[1]=[7]; dtype=i32",
        "u32[8]~any i32[1]=[4]; dtype=i64",
        "u32[4]~any i32[1]=[2]; dtype=u64",
        "u32[4]~any i32[1]=[4]; dtype=u32",
    ),
)


# -- words -> a permutation


def _permutation_reference(words: Array, count: Array) -> Array:
    n = int(count.reshape(-1)[0])
    order = np.arange(n, dtype=np.int64)
    for i in range(n - 1):
        j = i + int(words[i]) % (n - i)
        order[[i, j]] = order[[j, i]]
    return order


permutation_of_words = define(
    "permutation_of_words",
    "_PermutationOfWords(words: u32, count: T; T: {i32, i64}) -> order: i64",
    infer=lambda c: (_count(c, 1),),
    lowering=lambda node: Native(kernels.permutation, arguments=node.output.dims),
    reference=_permutation_reference,
    examples=(
        "u32[12]~any i32[1]=[11]",
        "u32[4]~any i64[1]=[1]",
        "u32[0] i32[1]=[0]",
    ),
)
