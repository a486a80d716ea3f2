"""Window functions of signals: factors [window_length] that let frames begin and end softly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones
from flowc.api.arrays.filling import range as range_of
from flowc.api.arrays.shaping import concat
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.reductions import cumsum
from flowc.api.nn.activations import relu
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape_inference import constant_elements


def _checked(window_length: Any, dtype: Any) -> tuple[Tensor, DType]:
    kind = dtypes.as_dtype(dtype)
    if not kind.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {kind!r}")
    length = as_tensor(window_length, dtypes.i32, "window_length")
    length.shape.assert_has_rank(0)
    return length, kind


def _raised_cosine(function_name: str, middle: float) -> Callable[..., Tensor]:
    def window(
        window_length: Any, periodic: bool = True, dtype: Any = dtypes.f32, name: str | None = None
    ) -> Tensor:
        length, kind = _checked(window_length, dtype)
        with name_scope(name, function_name, [window_length]):
            known = constant_elements(length)
            if known is not None and int(known) == 1:
                return ones([1], kind)
            even = 1 - length % 2
            period = cast(length + (even if periodic else 0) - 1, kind)

            def cosine() -> Tensor:
                turns = as_tensor(2 * np.pi, kind) * cast(range_of(length), kind) / period
                return middle - (1 - middle) * elementwise.cos(turns)

            if known is not None:
                return cosine()
            return cond(elementwise.equal(length, 1), lambda: ones([length], kind), cosine)

    doc = (
        f"A raised cosine that is {2 * middle - 1:.2g} at its ends. `periodic`: one that goes on "
        "smoothly where it is repeated. Raises `ValueError` for a dtype that is not of floats."
    )
    return named(window, function_name, doc)


hann_window = _raised_cosine("hann_window", 0.5)
hamming_window = _raised_cosine("hamming_window", 0.54)


def kaiser_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dtypes.f32, name: str | None = None
) -> Tensor:
    """Kaiser's window; a greater `beta` makes it narrower. Raises `ValueError` for a dtype that is
    not of floats."""
    length, kind = _checked(window_length, dtype)
    with name_scope(name, "kaiser_window"):
        known = constant_elements(length)
        if known is not None and int(known) == 1:
            return ones([1], kind)
        half = (cast(length, kind) - 1.0) / 2.0
        at = (cast(range_of(length), kind) - half) / half
        width = as_tensor(beta, kind)
        inner = width * elementwise.sqrt(relu(1.0 - elementwise.square(at)))
        bessel = elementwise.bessel_i0e
        return elementwise.exp(inner - width) * (bessel(inner) / bessel(width))


def kaiser_bessel_derived_window(
    window_length: Any, beta: Any = 12.0, dtype: Any = dtypes.f32, name: str | None = None
) -> Tensor:
    """The window derived from Kaiser's whose halves' squares sum to 1, of an even length. Floats of
    `dtype`: [window_length]. Raises `ValueError` for a length that is no scalar."""
    length, kind = _checked(window_length, dtype)
    with name_scope(name, "kaiser_bessel_derived_window"):
        sums = cumsum(kaiser_window(length // 2 + 1, beta, kind))
        half = elementwise.sqrt(sums[:-1] / sums[-1])
        return concat([half, half[::-1]], 0)


def vorbis_window(window_length: Any, dtype: Any = dtypes.f32, name: str | None = None) -> Tensor:
    """Vorbis' window, of a length that is a power of two. Floats of `dtype`: [window_length].
    Raises `ValueError` for a length that is no scalar."""
    length, kind = _checked(window_length, dtype)
    with name_scope(name, "vorbis_window"):
        at = (cast(range_of(length), kind) + 0.5) * (np.pi / cast(length, kind))
        return elementwise.sin(np.pi / 2.0 * elementwise.square(elementwise.sin(at)))
