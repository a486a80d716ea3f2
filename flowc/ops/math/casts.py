"""Changes of element type: Cast (values) and Bitcast (bits).

`cast_array` is the rule of Cast for every pair of dtypes, which `k.cast` of a kernel follows. Where
TensorFlow's CPU kernel gives different results for the vectors and for the last few elements of a
tensor (floats outside an 8 or 16 bit integer's range), it is the vectors' result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose, Elementwise, Lowering, View
from flowc.ir.op import define
from flowc.ir.types import Dims
from flowc.ops.gradients import Forward, GradientBuilder, no_gradient
from flowc.ops.math.elementwise import Array
from flowc.ops.math.narrow_types import decode, encode, is_cast_of_narrow

_COMPUTED = "f16, bf16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, bool, c64, c128"
_QUANTIZED = "qi8, qu8, qi16, qu16, qi32"
_ANY = f"{{{_COMPUTED}, f8e5m2, f8e4m3fn, i4, u4, {_QUANTIZED}}}"
_BITS = f"{{bf16, f16, f32, f64, i64, i32, u8, u16, u32, u64, i8, i16, c64, c128, {_QUANTIZED}}}"
_UNSIGNED = {1: dtypes.u8, 2: dtypes.u16, 4: dtypes.u32, 8: dtypes.u64}
_MANTISSA_BITS = {"f16": 10, "bf16": 7, "f32": 23, "f64": 52}


def cast_array(x: Array, dtype: DType) -> Array:
    """Cast: floats truncate to integers, numbers become True where they are not 0, integers wrap,
    complex numbers lose their imaginary part. Floats out of an integer's range (and NaN) give:

    i32, i64: the least integer. u32, u64 of B bits: [-2^(B-1), 2^B) wraps, all else is 2^(B-1).
    i8, i16, u8, u16: what i32 gives, saturated to the range.
    Quantised integers are cast as the integers that they are.
    """
    if x.dtype == object:
        return x
    if dtype.is_quantized:
        dtype = dtype.carrier
    source = dtypes.as_dtype(x.dtype)
    with np.errstate(all="ignore"):
        if dtype in (dtypes.i4, dtypes.u4) and source.is_integer:
            return (x.astype(np.uint8) & 15).view(dtype.numpy)
        if source.is_narrow:
            wide = np.float32 if source in (dtypes.f8e5m2, dtypes.f8e4m3fn) else np.int8
            return cast_array(x.astype(wide), dtype)
        if source.is_complex and not (dtype.is_complex or dtype is dtypes.bool_):
            return cast_array(np.real(x), dtype)
        if source.is_floating and dtype.is_integer:
            return np.asarray(_float_to_int(x, dtype))
        return np.asarray(x.astype(dtype.numpy))


def _float_to_int(x: Array, dtype: DType) -> Array:
    wide = np.trunc(x.astype(np.float64))
    if dtype.size < 4:
        limits = np.iinfo(dtype.numpy)
        return np.clip(_float_to_int(x, dtypes.i32), limits.min, limits.max).astype(dtype.numpy)
    bits = dtype.size * 8
    least = -(2.0 ** (bits - 1))
    if dtype.kind == "int":
        inside = (wide >= least) & (wide < -least)
        exact = np.where(inside, wide, 0).astype(dtype.numpy)
        return np.where(inside, exact, np.iinfo(dtype.numpy).min)
    below = (wide >= least) & (wide < 0)
    above = (wide >= 0) & (wide < -2 * least)
    signed = np.where(below, wide, 0).astype(f"i{dtype.size}").view(dtype.numpy)
    found = np.where(below, signed, np.where(above, wide, 0).astype(dtype.numpy))
    return np.where(below | above, found, dtype.numpy.type(2 ** (bits - 1)))


def _dropped_bits(source: DType, target: DType) -> int:
    """How many low mantissa bits a Cast with Truncate zeroes before it narrows a float."""
    source, target = source.real_dtype, target.real_dtype
    if not (source.is_floating and target.is_floating and source.size > target.size):
        return 0
    return _MANTISSA_BITS[source.short] - _MANTISSA_BITS[target.short]


def _without_low_bits(x: Array, count: int) -> Array:
    if x.dtype.kind == "c":
        found = np.empty_like(x)
        found.real = _without_low_bits(np.real(x), count)
        found.imag = _without_low_bits(np.imag(x), count)
        return found
    size = x.dtype.itemsize
    kept = (2 ** (8 * size) - 1) - (2**count - 1)
    word = np.ascontiguousarray(x).view(f"u{size}")
    return (word & np.asarray(kept, f"u{size}")).view(x.dtype).reshape(x.shape)


def _cast_reference(x: Array, *, DstT: DType, Truncate: bool) -> Array:
    x = np.asarray(x)
    dropped = _dropped_bits(dtypes.as_dtype(x.dtype), DstT) if Truncate else 0
    return cast_array(_without_low_bits(x, dropped) if dropped else x, DstT)


def _cut(k: Any, x: Any, count: int) -> Any:
    if x.dtype.is_complex:
        return k.complex(_cut(k, k.real(x), count), _cut(k, k.imag(x), count))
    word = _UNSIGNED[x.dtype.size]
    kept = (2 ** (8 * word.size) - 1) - (2**count - 1)
    return k.bitcast(k.bitwise_and(k.bitcast(x, word), k.const(kept, word)), x.dtype)


def _lower_cast(node: Node) -> Lowering:
    source, target = node.inputs[0].type.dtype, node.output.type.dtype
    if source.is_quantized or target.is_quantized:
        return Decompose(_cast_quantized)
    dropped = _dropped_bits(source, target) if node.attrs["Truncate"] else 0
    if dropped:
        return Elementwise(lambda k, x: k.cast(_cut(k, x, dropped), target))
    if source.is_narrow or target.is_narrow:
        return Elementwise(lambda k, x: _cast_narrow(k, x, source, target))
    if source.is_complex and target is dtypes.bool_:
        return Elementwise(lambda k, x: k.ne(x, k.const(0, source)))
    return Elementwise(lambda k, x: k.cast(x, target))


def _cast_quantized(b: Builder, node: Node) -> Value:
    (x,), target = node.inputs, node.output.type.dtype
    source = x.type.dtype
    x = b.bitcast(x, type=source.carrier) if source.is_quantized else x
    if not target.is_quantized:
        return b.cast(x, DstT=target, Truncate=node.attrs["Truncate"])
    return b.bitcast(b.cast(x, DstT=target.carrier), type=target)


def _cast_narrow(k: Any, x: Any, source: DType, target: DType) -> Any:
    value = decode(k, x, source) if source.is_narrow else x
    return encode(k, value, target) if target.is_narrow else k.cast(value, target)


def _infer_cast(c: Inference) -> Dims:
    source, target = c.inputs[0].dtype, c.attrs["DstT"]
    if not is_cast_of_narrow(source, target):
        raise c.unimplemented(f"Cast {source.name} to {target.name} is not supported")
    return c.dims(0)


def _cast_gradient(b: GradientBuilder, node: Forward, dy: Any) -> Any:
    source, target = node.inputs[0].dtype, dy.dtype
    smooth = (source.is_floating or source.is_complex) and (target.is_floating or target.is_complex)
    return b.cast(dy, DstT=source) if smooth else None


def _cast_examples() -> Iterator[str]:
    """One for each pair. Floats that become narrow integers come in whole vectors, where
    TensorFlow saturates; complex numbers that do stay in range."""
    names = _COMPUTED.split(", ")
    for source in names:
        for target in names:
            narrow = target in ("i8", "i16", "u8", "u16")
            size = 64 if narrow and "f" in source else 17
            domain = "~small" if narrow and source in ("c64", "c128") else ""
            yield f"{source}[{size}]{domain}; DstT={target}"


cast = define(
    "cast",
    f"Cast(x: SrcT; SrcT: {_ANY}, DstT: {_ANY}, Truncate: bool = False) -> y: DstT",
    infer=_infer_cast,
    lowering=_lower_cast,
    reference=_cast_reference,
    gradient=_cast_gradient,
    # Only integer results are followed as sizes, so an int stays the same int.
    content=lambda x, *, DstT: cast_array(x, DstT),
    examples=(
        *_cast_examples(),
        "SrcT[2,3]~small; DstT=i32",
        "SrcT[]; DstT=f32",
        "SrcT[0]; DstT=bool",
        "f64[17]; DstT=f16, Truncate=True",
        "f32[17]; DstT=bf16, Truncate=True",
        *(f"i32[17]; DstT={target}" for target in _QUANTIZED.split(", ")),
    ),
)


# -- Bitcast


def _infer_bitcast(c: Inference) -> Dims:
    source, target = c.inputs[0].dtype, c.attrs["type"]
    dims = c.dims(0)
    if source.size >= target.size:
        return dims if source.size == target.size else (*dims, source.size // target.size)
    ratio = target.size // source.size
    if not dims or (isinstance(dims[-1], int) and dims[-1] != ratio):
        fault = f"Cannot bitcast from {source} to {target}: the last axis must have {ratio}"
        shown = f"{dims[-1]} does not match {ratio}" if dims else "Shape must be at least rank 1"
        built = f"Cannot bitcast from {source.enum} to {target.enum} due to shape. {shown}"
        raise c.fail(fault, built=built)
    c.equal(dims[-1], ratio)
    return dims[:-1]


def _words(k: Any, x: Any, word: DType) -> list[Any]:
    """The bits of x as unsigned words, the least significant first."""
    if x.dtype.is_complex:
        return _words(k, k.real(x), word) + _words(k, k.imag(x), word)
    whole = _UNSIGNED[x.dtype.size]
    bits = x if x.dtype is whole else k.bitcast(x, whole)
    if whole is word:
        return [bits]
    count = whole.size // word.size
    return [
        k.cast(k.shift_right(bits, k.const(8 * word.size * i, whole)), word) for i in range(count)
    ]


def _joined(k: Any, words: Sequence[Any], dtype: DType) -> Any:
    """The value of `dtype` whose bits are these words."""
    if dtype.is_complex:
        half = len(words) // 2
        part = dtype.real_dtype
        return k.complex(_joined(k, words[:half], part), _joined(k, words[half:], part))
    whole = _UNSIGNED[dtype.size]
    size = words[0].dtype.size
    bits = words[0] if len(words) == 1 else k.cast(words[0], whole)
    for i, word in enumerate(words[1:], 1):
        bits = k.bitwise_or(bits, k.shift_left(k.cast(word, whole), k.const(8 * size * i, whole)))
    return bits if dtype is whole else k.bitcast(bits, dtype)


def _lower_bitcast(node: Node) -> Lowering:
    source, target = node.inputs[0].type.dtype, node.output.type.dtype
    word = _UNSIGNED[min(source.real_dtype.size, target.real_dtype.size)]

    def split(k: Any, index: tuple[Dim, ...]) -> Any:
        words = _words(k, k.load(0, index[:-1]), word)
        step = len(words) * target.size // source.size
        groups = [_joined(k, words[i : i + step], target) for i in range(0, len(words), step)]
        found = groups[0]
        for i, value in enumerate(groups[1:], 1):
            found = k.select(k.in_range(index[-1], i, i + 1), value, found)
        return found

    def join(k: Any, index: tuple[Dim, ...]) -> Any:
        count = target.size // source.size
        words = [w for i in range(count) for w in _words(k, k.load(0, (*index, i)), word)]
        return _joined(k, words, target)

    if source.size == target.size:
        return Elementwise(lambda k, x: _joined(k, _words(k, x, word), target))
    return View(split if source.size > target.size else join)


def _bitcast_reference(input: Array, *, type: DType) -> Array:
    x = np.ascontiguousarray(input)
    source, target = x.dtype.itemsize, type.size
    dims = np.asarray(input).shape
    if source > target:
        dims = (*dims, source // target)
    elif source < target:
        dims = dims[:-1]
    return x.reshape(-1).view(type.numpy).reshape(dims)


bitcast = define(
    "bitcast",
    f"Bitcast(input: T; T: {_BITS}, type: {_BITS}) -> output: type",
    infer=_infer_bitcast,
    lowering=_lower_bitcast,
    reference=_bitcast_reference,
    gradient=no_gradient,
    examples=(
        "f32[7]; type=i32",
        "i32[2,3]; type=f32",
        "f64[3]; type=u8",
        "u8[3,4]; type=f32",
        "i16[2,4]; type=c64",
        "c128[2]; type=u16",
        "c64[5]; type=i64",
        "bf16[3]; type=u16",
        "f16[]; type=i16",
        "i64[0]; type=i32",
    ),
)
