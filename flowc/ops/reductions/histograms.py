"""HistogramFixedWidth: how many values lie in each of some equal bins of a range.

In: values, the two ends of a range, a number of bins. Out: counts; the first and the last bin count
what lies outside, too. Invariant: places are computed in f64, as TensorFlow computes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowc import dtypes
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.lowering import Decompose
from flowc.ir.op import define
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.dtypes import DType
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Array = np.ndarray[Any, Any]


def _infer(c: Inference) -> Dims:
    if c.rank(1) != 1:
        raise c.fail("value_range should be a vector.")
    c.need_dims(1, (2,), f"value_range should be a vector of 2 elements, got {c.inputs[1]}")
    if c.rank(2) != 0:
        raise c.fail("nbins should be a scalar.")
    ends = c.content(1)
    if ends is not None and not ends[0] < ends[1]:
        raise c.fail(
            "value_range should satisfy value_range[0] < value_range[1], but got "
            f"'[{', '.join(f'{end:g}' for end in ends)}]'"
        )
    return (c.need_size(2, "nbins should be a positive number, but got '{size}'"),)


def _build(b: Builder, node: Node) -> Value:
    values, ends, _ = node.inputs
    own, (count,) = values.type.dtype, node.output.dims
    kind: DType = node.attrs["dtype"]
    ends = b.cast(ends, DstT=own) if ends.type.dtype is not own else ends
    low = b.reshape(b.slice(ends, (0,), (1,)), ())
    high = b.reshape(b.slice(ends, (1,), (1,)), ())
    bins = b.reshape(b.sizes((count,), dtypes.i64), ())

    def distance(far: Value) -> Value:
        """From `low`; that of integers may be none of their dtype."""
        ends = (b.cast(x, DstT=dtypes.f64) for x in (far, low)) if own.is_integer else (far, low)
        return b.cast(b.sub(*ends), DstT=dtypes.f64)

    step = b.real_div(distance(high), b.cast(bins, DstT=dtypes.f64))
    above = distance(b.maximum(values, low))
    last = b.cast(b.sub(bins, b.const(1, dtypes.i64)), DstT=dtypes.f64)
    places = b.cast(b.minimum(b.real_div(above, step), last), DstT=dtypes.i32)
    flat = b.reshape(places, (values.type.size,))
    return b.dense_bincount(flat, b.cast(bins, DstT=dtypes.i32), b.const(np.zeros(0), kind))


def _reference(values: Array, value_range: Array, nbins: Array, *, dtype: DType) -> Array:
    low, high = value_range.astype(values.dtype)
    count = int(nbins)
    if count <= 0:
        raise InvalidArgumentError(f"nbins should be a positive number, but got '{count}'")
    far = np.maximum(values, low)
    if values.dtype.kind == "i":  # distances may be beyond the dtype
        low, high, far = np.float64(low), np.float64(high), far.astype(np.float64)
    step = float(high - low) / count
    places = (far - low).astype(np.float64).reshape(-1) / step
    bins = np.minimum(places, count - 1).astype(np.int64)
    return np.bincount(bins, minlength=count).astype(dtype.numpy)


define(
    "histogram_fixed_width",
    "HistogramFixedWidth(values: T, value_range: T, nbins: i32; T: {i32, i64, f32, f64},"
    " dtype: {i32, i64} = i32) -> out: dtype",
    infer=_infer,
    lowering=Decompose(_build),
    reference=_reference,
    examples=(
        "T[9] T[2]=[-1,2] i32[]=4",
        "f32[2,3] f32[2]=[-0.5,0.5] i32[]=3; dtype=i64",
        "f32[0] f32[2]=[0,1] i32[]=2",
    ),
)
