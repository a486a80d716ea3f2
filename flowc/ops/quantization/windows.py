"""Products, convolutions, pools, concatenation, shapes and sizes of quantised numbers.

In: quantised tensors and their ranges. Out: the same. Invariant: what only moves or compares
numbers leaves the range as it is; products are sums of 32 bits that wrap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.errors import ResourceExhaustedError
from flowc.ir.dims import Dim
from flowc.ir.inference import Inference, NeedsContent
from flowc.ir.op import op_named
from flowc.ir.types import Dims
from flowc.ops.image.resize import check_image, new_size
from flowc.ops.nn.convolution_window import sliding_window
from flowc.ops.nn.pooling import infer_pool
from flowc.ops.quantization.conversions import (
    as_number,
    ends_of,
    product_range,
    requantized,
)
from flowc.ops.quantization.definition import define_formula, need_scalars, ranged
from flowc.ops.quantization.elementwise import check_ranges, shifted

Attrs = Mapping[str, Any]
_BYTES = ("qu8", "qi8")
_MATRIX_RANGES = ("max_a must be larger than min_a.", "max_b must be larger than min_b.")


# -- products


def _infer_matmul(c: Inference) -> list[Dims]:
    need_scalars(c, 2)
    for i in (0, 1):
        c.need_rank(i, 2, f"In[{i}] is not a matrix")
    a, b = c.dims(0), c.dims(1)
    a = a[::-1] if c.attrs["transpose_a"] else a
    b = b[::-1] if c.attrs["transpose_b"] else b
    c.equal(a[1], b[0], f"Matrix size-incompatible: In[0]: {c.inputs[0]}, In[1]: {c.inputs[1]}")
    return ranged((a[0], b[1]))


def _matmul(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    a, b, *ends = operands
    ends = check_ranges(k, ends, _MATRIX_RANGES)
    transposed = {name: attrs[name] for name in ("transpose_a", "transpose_b")}
    left, right = shifted(k, a, ends[0], ends[1]), shifted(k, b, ends[2], ends[3])
    product = k.apply("mat_mul", left, right, **transposed)
    return product, *product_range(k, tuple(ends), (k.dtype(a), k.dtype(b)))


def _infer_conv(c: Inference) -> list[Dims]:
    need_scalars(c, 2)
    attrs, image, window = c.attrs, c.dims(0), c.dims(1)
    c.need_rank(0, 4, f"input must be rank 4 but is rank {len(image)}")
    c.need_rank(1, 4, f"filter must be rank 4 but is rank {len(window)}")
    strides = attrs["strides"]
    if len(strides) != 4:
        raise c.fail("Sliding window strides field must specify 4 dimensions")
    if strides[0] != 1 or strides[3] != 1 or min(strides) < 1:
        raise c.fail(
            "Current implementation does not yet support strides in the batch and depth dimensions."
        )
    if strides[1] != strides[2]:
        raise c.fail(
            "Current implementation only supports equal length strides in the row and column"
            " dimensions."
        )
    if attrs["dilations"] != (1, 1, 1, 1):
        raise c.fail("Dilated convolutions of quantized numbers are not supported.")
    c.equal(image[3], window[2], "input and filter must have the same depth")
    found = sliding_window(image[1:3], window[:2], attrs)
    if any(isinstance(n, int) and n <= 0 for n in found.output):
        raise c.fail("the filter must not be larger than the input")
    return ranged((image[0], *found.output, window[3]))


def _conv(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, w, *ends = operands
    images, weights = shifted(k, x, ends[0], ends[1]), shifted(k, w, ends[2], ends[3])
    images = _centred(k, images, k.dims(w), attrs)
    how = {"strides": attrs["strides"], "padding": attrs["padding"]}
    product = k.apply("conv2d", images, weights, **how)
    return product, *product_range(k, tuple(ends), (k.dtype(x), k.dtype(w)))


def _centred(k: Any, x: Any, window: Dims, attrs: Attrs) -> Any:
    """The images from where TensorFlow lays the first window: where windows leave pixels out, half
    of these lie before it."""
    dims = list(k.dims(x))
    found = sliding_window(dims[1:3], window[:2], attrs)
    starts: list[Dim] = [0] * 4
    for axis in (1, 2):
        size, reach = dims[axis], window[axis - 1]
        count, step = found.output[axis - 1], found.strides[axis - 1]
        left = size - (count - 1) * step - reach
        if isinstance(left, int):
            start = max(left - (attrs["padding"] == "VALID"), 0) // 2
            starts[axis], dims[axis] = start, size - start
    return k.apply("slice", x, tuple(starts), tuple(dims)) if any(starts) else x


define_formula(
    "quantized_matmul",
    "QuantizedMatMul(a: T1, b: T2, min_a: f32, max_a: f32, min_b: f32, max_b: f32; T1: {qu8},"
    " T2: {qu8}, Toutput: {qi32} = qi32, transpose_a: bool = False, transpose_b: bool ="
    " False, Tactivation: {qu8} = qu8) -> (out: Toutput, min_out: f32, max_out: f32)",
    _infer_matmul,
    _matmul,
    (
        "qu8[3,5]~any qu8[5,4]~any f32[]=-3.0 f32[]=2.0 f32[]=-1.0 f32[]=4.0",
        "qu8[5,3]~any qu8[4,5]~any f32[]=-3.0 f32[]=2.0 f32[]=0.0 f32[]=4.0; transpose_a=True,"
        " transpose_b=True",
    ),
)
_CONV_ENDS = "f32[]=-3.0 f32[]=2.0 f32[]=-1.0 f32[]=4.0"
define_formula(
    "quantized_conv2d",
    "QuantizedConv2D(input: Tinput, filter: Tfilter, min_input: f32, max_input: f32, min_filter:"
    " f32, max_filter: f32; Tinput: {qu8}, Tfilter: {qu8}, out_type: {qi32} = qi32,"
    ' strides: list(int), padding: {"SAME", "VALID"}, dilations: list(int) = [1, 1, 1, 1])'
    " -> (output: out_type, min_output: f32, max_output: f32)",
    _infer_conv,
    _conv,
    (
        f'qu8[2,5,6,3]~any qu8[3,3,3,4]~any {_CONV_ENDS}; strides=[1,1,1,1], padding="SAME"',
        f'qu8[1,7,6,2]~any qu8[3,2,2,3]~any {_CONV_ENDS}; strides=[1,2,2,1], padding="VALID"',
        f'qu8[1,11,12,2]~any qu8[1,1,2,3]~any {_CONV_ENDS}; strides=[1,4,4,1], padding="VALID"',
        f'qu8[1,8,9,2]~any qu8[1,1,2,3]~any {_CONV_ENDS}; strides=[1,3,3,1], padding="SAME"',
    ),
)


# -- pools


def _infer_windows(c: Inference) -> list[Dims]:
    need_scalars(c, 1)
    return ranged(infer_pool(c))


def _pool_attrs(attrs: Attrs) -> Attrs:
    return {name: attrs[name] for name in ("ksize", "strides", "padding")}


def _max_pool(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, low, high = operands
    return k.apply("max_pool", x, **_pool_attrs(attrs)), low, high


def _avg_pool(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    """The quotient of whole numbers: f64 holds the sums, and rounds no quotient up to a whole."""
    x, low, high = operands
    mean = k.apply("avg_pool", k.cast(x, dtypes.f64), **_pool_attrs(attrs))
    return k.cast(mean, k.dtype(x)), low, high


for _name, _tf_name, _formula in (
    ("quantized_max_pool", "QuantizedMaxPool", _max_pool),
    ("quantized_avg_pool", "QuantizedAvgPool", _avg_pool),
):
    define_formula(
        _name,
        f"{_tf_name}(input: T, min_input: f32, max_input: f32; T: {{qu8, qi8}}, ksize: list(int),"
        ' strides: list(int), padding: {"SAME", "VALID"}) -> (output: T, min_output: f32,'
        " max_output: f32)",
        _infer_windows,
        _formula,
        tuple(
            f"{t}[1,5,6,3]~any f32[]=-3.0 f32[]=2.0; ksize=[1,2,3,1], strides=[1,2,1,1],"
            f' padding="{padding}"'
            for t in _BYTES
            for padding in ("SAME", "VALID")
        ),
    )


# -- pieces and shapes


def _infer_concat(c: Inference) -> list[Dims]:
    count = (len(c.inputs) - 1) // 3
    need_scalars(c, 1 + count)
    axis = c.need_int(0)
    first = c.dims(1)
    if not 0 <= axis < len(first):
        raise c.fail(
            "ConcatOp : Expected concatenating dimensions in the range "
            f"[0, {len(first)}), but got {axis}"
        )
    total: Dim = 0
    for i in range(1, 1 + count):
        dims = c.dims(i)
        if len(dims) != len(first):
            raise c.fail(f"ConcatOp : Ranks of all input tensors should match: input {i - 1}")
        for a, (x, y) in enumerate(zip(first, dims)):
            if a != axis:
                c.equal(x, y, f"ConcatOp : Dimensions of inputs should match: input {i - 1}")
        total = total + dims[axis]
    return ranged((*first[:axis], total, *first[axis + 1 :]))


def _concat(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    axis, values, lows, highs = operands
    low, high = lows[0], highs[0]
    for other_low, other_high in zip(lows[1:], highs[1:]):
        low, high = k.minimum(low, other_low), k.maximum(high, other_high)
    kind = k.dtype(values[0])
    if ends_of(kind)[0] < 0:
        high = k.maximum(abs(low), abs(high))
        low = -high
    pieces: list[Any] = []
    for x, own_low, own_high in zip(values, lows, highs):
        same = k.where(k.equal(own_low, low), k.equal(own_high, high), k.const(0, dtypes.bool_))
        moved = requantized(k, x, (own_low, own_high), (low, high), kind)
        pieces.append(k.where(same, x, moved))
    at = np.array(int(k.numbers(axis)[()]), np.int32)
    return k.apply("concat", *pieces, at), low, high


def _infer_reshape(c: Inference) -> list[Dims]:
    need_scalars(c, 2)
    found = op_named("reshape").infer(c)
    assert isinstance(found, tuple)
    return ranged(found)


def _reshape(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, shape, low, high = operands
    return k.apply("reshape", x, shape), low, high


define_formula(
    "quantized_concat",
    "QuantizedConcat(concat_dim: i32, values: N*T, input_mins: N*f32, input_maxes: N*f32; N: int >="
    " 2, T: {qu8, qi32}) -> (output: T, output_min: f32, output_max: f32)",
    _infer_concat,
    _concat,
    tuple(
        f"i32[]=1 {t}[2,3]~any {t}[2,4]~any {t}[2,1]~any f32[]=-3.0 f32[]=-1.0 f32[]=-3.0 f32[]=2.0"
        " f32[]=5.0 f32[]=5.0"
        for t in ("qu8", "qi32")
    ),
)
define_formula(
    "quantized_reshape",
    "QuantizedReshape(tensor: T, shape: Tshape, input_min: f32, input_max: f32; T: {qu8, qi32},"
    " Tshape: {i32, i64} = i32) -> (output: T, output_min: f32, output_max: f32)",
    _infer_reshape,
    _reshape,
    (
        "qu8[2,6]~any i32[2]=[3,-1] f32[]=-3.0 f32[]=2.0",
        "qi32[4]~any i64[2]=[2,2] f32[]=-3.0 f32[]=2.0",
    ),
)


# -- sizes of images

# Of integers: the bits of weights behind the point, and what holds the products.
_MOST_PIXELS = 2**31 - 1  # of a row or column
_MOST_TABLED = 2**24  # new pixels of a row or column, whose places are constants
_WEIGHTS = {dtypes.u8: (7, dtypes.i32), dtypes.i32: (30, dtypes.i64)}


def _infer_resize(c: Inference) -> list[Dims]:
    need_scalars(c, 2)
    check_image(c)
    batch, *sizes, channels = c.dims(0)
    new = new_size(c, 1, "output dimensions")
    old = [n for n in sizes if isinstance(n, int)]
    wanted = [n for n in new if isinstance(n, int)]
    if len(old) < 2 or len(wanted) < 2:
        raise NeedsContent(f"{c.op.tf_name} needs sizes that are known: {c.inputs[0]} to {new}")
    if 0 in sizes:
        raise c.fail("input image must be of non-zero size")
    if max(old) > _MOST_PIXELS:
        raise c.fail("input sizes must be between 0 and max int32")
    if max(wanted) > _MOST_TABLED:
        raise ResourceExhaustedError(
            f"{c.op.tf_name} to {new[0]} x {new[1]} pixels; flowc computes where {_MOST_TABLED} of"
            " a row or column lie, and no more",
            node=c.node_name,
        )
    return ranged((batch, *new, channels))


def _resize(k: Any, operands: Sequence[Any], attrs: Attrs) -> Sequence[Any]:
    x, size, low, high = operands
    kind, old, new = k.dtype(x), k.dims(x)[1:3], [int(n) for n in k.numbers(size)]
    if list(old) == new:
        return x, low, high
    rows, columns = (_places(int(a), b, attrs) for a, b in zip(old, new))
    bits, wide = _WEIGHTS.get(kind, (0, kind))
    one = k.const(1 << bits, wide)
    x = as_number(k, x, wide)

    def weights(part: np.ndarray, axis: int) -> Any:
        scaled = (part * np.float32(1 << bits)).astype(wide.numpy)
        return k.const(scaled.reshape([len(part) if i == axis else 1 for i in range(4)]), wide)

    lines: list[Any] = []
    for places in rows[:2]:
        line = k.apply("gather", x, places, np.array(1, np.int32))
        left, right = (k.apply("gather", line, p, np.array(2, np.int32)) for p in columns[:2])
        lines.append(left * one + (right - left) * weights(columns[2], 2))
    upper, lower = lines
    if not bits:
        return upper + (lower - upper) * weights(rows[2], 1), low, high
    found = upper + k.truncated_quotient(lower - upper, one) * weights(rows[2], 1)
    return k.cast(k.truncated_quotient(found + (1 << bits) // 2, one), kind), low, high


def _places(old: int, new: int, attrs: Attrs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pixels on both sides of each new one, and how far behind the first it lies."""
    f32 = np.float32
    align = attrs["align_corners"] and new > 1
    scale = f32(old - 1) / f32(new - 1) if align else f32(old) / f32(new)
    at = np.arange(new, dtype=f32)
    at = (at + f32(0.5)) * scale - f32(0.5) if attrs["half_pixel_centers"] else at * scale
    below = np.floor(at)
    last = np.minimum(np.ceil(at).astype(np.int32), old - 1)
    first = np.minimum(np.maximum(below.astype(np.int32), 0), last)
    return first, last, at - below


define_formula(
    "quantized_resize_bilinear",
    "QuantizedResizeBilinear(images: T, size: i32, min: f32, max: f32; T: {qu8, qi32, f32},"
    " align_corners: bool = False, half_pixel_centers: bool = False) -> (resized_images: T,"
    " out_min: f32, out_max: f32)",
    _infer_resize,
    _resize,
    (
        "qu8[1,3,4,2]~any i32[2]=[5,7] f32[]=-3.0 f32[]=2.0",
        "qi32[1,3,4,2]~any i32[2]=[5,7] f32[]=-3.0 f32[]=2.0; align_corners=True",
        "f32[1,3,4,2] i32[2]=[5,7] f32[]=-3.0 f32[]=2.0; half_pixel_centers=True",
        "qu8[1,3,4,1]~any i32[2]=[2,9] f32[]=-3.0 f32[]=2.0; half_pixel_centers=True",
        "qu8[1,3,4,1]~any i32[2]=[3,4] f32[]=-3.0 f32[]=2.0",
    ),
)
