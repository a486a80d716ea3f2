"""Numbers of few bits: quantized, read back, and rounded to what so many bits can hold.

In: tensors of f32, or quantized ones, and the range that they have. Out: tensors, and for quantized
ones both ends of the range that they really have. An `axis` has one range for each index along it.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.framework.raw_ops import call


def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """(output, output_min, output_max): f32 numbers of a range as integers of `T`, a quantized
    dtype; those beyond the range become its ends. The ends are scalars, or vectors along `axis`.

    Raises `ValueError` for other modes, dtypes and shapes; a run raises `InvalidArgumentError`
    where the range ends before it begins.
    """
    return call(
        "QuantizeV2",
        input,
        min_range,
        max_range,
        name=name,
        T=T,
        mode=mode,
        round_mode=round_mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        ensure_minimum_range=ensure_minimum_range,
    )


def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    narrow_range: bool = False,
    axis: int | None = None,
    ensure_minimum_range: float = 0.01,
) -> Any:
    """`quantize` with its older order of arguments. Raises what it raises."""
    return quantize(
        input,
        min_range,
        max_range,
        T,
        mode,
        round_mode,
        name,
        narrow_range,
        axis,
        ensure_minimum_range,
    )


def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    axis: int | None = None,
    narrow_range: bool = False,
    dtype: Any = dtypes.f32,
) -> Any:
    """Quantized integers of a range as numbers of `dtype`, f32 or bf16, of the same shape.

    Raises `ValueError` for other modes, dtypes and shapes.
    """
    return call(
        "Dequantize",
        input,
        min_range,
        max_range,
        name=name,
        mode=mode,
        narrow_range=narrow_range,
        axis=-1 if axis is None else axis,
        dtype=dtype,
    )


def quantize_and_dequantize_v2(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Any:
    """Floats rounded to the nearest that `num_bits` bits can hold, and still floats. Gradients flow
    to the elements within the range, and to no others.

    Raises `ValueError` for numbers of bits out of range, and for an axis out of range.
    """
    return _rounded("QuantizeAndDequantizeV4", **locals())


def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
    axis: int | None = None,
) -> Any:
    """`quantize_and_dequantize_v2` whose gradients flow to all elements. Raises what it raises."""
    return _rounded("QuantizeAndDequantizeV2", **locals())


def _rounded(
    op_type: str, input: Any, input_min: Any, input_max: Any, axis: int | None, **given: Any
) -> Any:
    axis = -1 if axis is None else axis
    return call(op_type, input, input_min, input_max, axis=axis, **given)
