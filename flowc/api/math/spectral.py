"""Fourier transforms of real numbers along the last one, two or three axes, and their inverses.

In: real tensors, or spectra of them. Out: tensors of the same precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import zeros
from flowc.api.arrays.shaping import concat, pad, rank, shape, stack
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.shape_inference import constant_elements


def _of_real(op_type: str, axes: int) -> Callable[..., Tensor]:
    function_name = op_type.lower()

    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with name_scope(name, function_name, [input_tensor, fft_length]) as scope:
            tensor = as_tensor(input_tensor, preferred=dtypes.f32)
            if tensor.base_dtype not in (dtypes.f32, dtypes.f64):
                raise ValueError(f"RFFT requires tf.float32 or tf.float64 inputs, got: {tensor}")
            length = _length(tensor, axes, fft_length, 0)
            padded = _padded(tensor, axes, length)
            wide = dtypes.c64 if tensor.base_dtype is dtypes.f32 else dtypes.c128
            return output(op_type, padded, length, Tcomplex=wide, name=scope)

    doc = (
        f"The Fourier transform of real numbers along the last {axes} axes, of which the last "
        "keeps length // 2 + 1 elements. `fft_length` [axes]: to which lengths the axes are cut or "
        "filled with zeros. Raises `ValueError` for other dtypes than float32 and float64."
    )
    return named(function, function_name, doc)


def _to_real(op_type: str, axes: int) -> Callable[..., Tensor]:
    function_name = op_type.lower()

    def function(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with name_scope(name, function_name, [input_tensor, fft_length]) as scope:
            tensor = as_tensor(input_tensor, preferred=dtypes.c64)
            if tensor.base_dtype not in (dtypes.c64, dtypes.c128):
                raise ValueError(
                    f"IRFFT requires tf.complex64 or tf.complex128 inputs, got: {tensor}"
                )
            length = _length(tensor, axes, fft_length, 1)
            half = concat([length[:-1], length[-1:] // 2 + 1], 0)
            padded = _padded(tensor, axes, half)
            narrow = dtypes.f32 if tensor.base_dtype is dtypes.c64 else dtypes.f64
            return output(op_type, padded, length, Treal=narrow, name=scope)

    doc = (
        f"The inverse of `{function_name[1:]}`: real numbers. `fft_length` [axes]: the lengths of "
        "the result, by default twice the last axis less 2. Raises `ValueError` for other dtypes "
        "than complex64 and complex128."
    )
    return named(function, function_name, doc)


def _length(tensor: Tensor, axes: int, given: Any, halved: int) -> Tensor:
    """The lengths of the transform; `halved`: the last axis holds half of the spectrum."""
    tensor.shape.with_rank_at_least(axes)
    if given is not None:
        return as_tensor(given, dtypes.i32)
    sizes = tensor.shape[-axes:] if tensor.shape.ndims is not None else None
    if sizes is not None and sizes.is_fully_defined():
        known = list(sizes.as_list())
        if halved:
            known[-1] = max(0, 2 * ((known[-1] or 0) - 1))
        return as_tensor(known, dtypes.i32)
    found = shape(tensor)[-axes:]
    if not halved:
        return found
    return concat([found[:-1], elementwise.maximum(0, 2 * (found[-1:] - 1))], 0)


def _padded(tensor: Tensor, axes: int, wanted: Tensor) -> Tensor:
    """The tensor with zeros behind its last axes, up to the lengths wanted."""
    known, dims = constant_elements(wanted), tensor.shape.ndims
    if known is not None and dims is not None and tensor.shape[-axes:].is_fully_defined():
        pairs = zip(known.tolist(), tensor.shape[-axes:].as_list())
        missing = [[0, max(0, size - (found or 0))] for size, found in pairs]
        if not any(after for _, after in missing) or 0 in tensor.shape.as_list():
            return tensor
        return pad(tensor, [[0, 0]] * (dims - axes) + missing)
    outer = zeros([elementwise.maximum(0, rank(tensor) - axes)], dtypes.i32)
    behind = concat([outer, elementwise.maximum(0, wanted - shape(tensor)[-axes:])], 0)
    return pad(tensor, stack([behind - behind, behind], axis=1))


rfft, rfft2d, rfft3d = _of_real("RFFT", 1), _of_real("RFFT2D", 2), _of_real("RFFT3D", 3)
irfft, irfft2d, irfft3d = _to_real("IRFFT", 1), _to_real("IRFFT2D", 2), _to_real("IRFFT3D", 3)
