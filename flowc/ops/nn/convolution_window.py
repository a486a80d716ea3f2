"""The geometry of convolutions: which axes slide, how much is padded, how large the result is.

In: dims, and a convolution's attrs as TensorFlow writes them (one value an axis, in the order of
`data_format`). Out: a `ConvolutionWindow` of the spatial axes alone. Invariant: sizes may be
symbolic; what can be checked when compiling is checked here, in TensorFlow's words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowc.errors import FlowcError
from flowc.ir.dims import Dim, ceildiv, maximum
from flowc.ir.layout import layout_of
from flowc.ir.op import Inference
from flowc.ir.types import Dims
from flowc.ops.nn.through_channels_last import explicit_pairs


@dataclass(frozen=True, slots=True)
class ConvolutionWindow:
    """One entry for each spatial axis. `output` are the sizes of a forward convolution's result."""

    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pad: tuple[tuple[Dim, Dim], ...]
    output: Dims


def convolution_window(
    sizes: Sequence[Dim], window: Sequence[Dim], attrs: Mapping[str, Any]
) -> ConvolutionWindow:
    """The geometry for spatial `sizes` of the input and of the `window`; attrs must be checked."""
    layout = layout_of(attrs["data_format"])
    strides = layout.logical(attrs["strides"])[1:-1]
    dilations = layout.logical(attrs["dilations"])[1:-1]
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    pairs = layout.logical(explicit_pairs(attrs))[1:-1] if attrs["padding"] == "EXPLICIT" else ()
    pad, output = slid(sizes, reach, strides, attrs["padding"], pairs)
    return ConvolutionWindow(strides, dilations, pad, output)


def slid(
    sizes: Sequence[Dim],
    reach: Sequence[Dim],
    strides: Sequence[int],
    padding: str,
    explicit: Sequence[tuple[Dim, Dim]] = (),
) -> tuple[tuple[tuple[Dim, Dim], ...], Dims]:
    """The zeros before and after each axis, and how often a window that reaches so far fits."""
    if padding == "SAME":
        pad = tuple(_same(n, r, s) for n, r, s in zip(sizes, reach, strides))
        return pad, tuple(ceildiv(n, s) for n, s in zip(sizes, strides))
    pad = tuple(explicit) if padding == "EXPLICIT" else ((0, 0),) * len(strides)
    output = tuple(
        (n + low + high - r) // s + 1 for n, r, s, (low, high) in zip(sizes, reach, strides, pad)
    )
    return pad, output


def _same(size: Dim, reach: Dim, stride: int) -> tuple[Dim, Dim]:
    """The zeros before and after, so that every stride-th element has a window round it."""
    total = maximum((ceildiv(size, stride) - 1) * stride + reach - size, 0)
    return total // 2, total - total // 2


def check_attrs(c: Inference, rank: int) -> None:
    """Checks strides, dilations and paddings. Raises `ShapeError`."""
    name, layout = c.op.tf_name, layout_of(c.attrs["data_format"])
    for attr, word in (("strides", "stride"), ("dilations", "dilations")):
        values = c.attrs[attr]
        if len(values) != rank:
            raise c.fail(
                f"{name} requires the {word} attribute to contain {rank} values, "
                f"but got: {len(values)}"
            )
        batch, *spatial, channel = layout.logical(values)
        if batch != 1 or channel != 1:
            raise c.fail(
                f"Current implementation does not yet support {attr} in the batch and depth "
                "dimensions."
            )
        if min(spatial) < 1:
            raise c.fail(f"{attr} must be at least 1, found {list(values)}")
    _check_paddings(c, rank)


def _check_paddings(c: Inference, rank: int) -> None:
    explicit = c.attrs.get("explicit_paddings", ())
    if c.attrs["padding"] != "EXPLICIT":
        return
    if len(explicit) != 2 * rank:
        raise c.fail(
            f"explicit_paddings attribute must contain {2 * rank} values, but got: {len(explicit)}"
        )
    if min(explicit) < 0:
        raise c.fail(f"All elements of explicit_paddings must be nonnegative: {list(explicit)}")
    layout = layout_of(c.attrs["data_format"])
    batch, *_, channel = layout.logical(explicit_pairs(c.attrs))
    if batch != (0, 0) or channel != (0, 0):
        raise c.fail("Nonzero explicit padding in the batch or depth dimensions is not supported")


def check_rank(c: Inference, operand: int, rank: int) -> None:
    """Raises `ShapeError` where an operand's rank is another."""
    if c.rank(operand) != rank:
        raise c.fail(f"Shape must be rank {rank} but is rank {c.rank(operand)}")


def check_fit(
    fail: Callable[[str], FlowcError],
    sizes: Sequence[Dim],
    window: Sequence[Dim],
    geometry: ConvolutionWindow,
) -> None:
    """Raises where a window is larger than the padded input, or has no elements."""
    if 0 in window:
        raise fail("filter must not have zero elements (i.e. all dimensions must be non-zero)")
    for n, k, d, (low, high) in zip(sizes, window, geometry.dilations, geometry.pad):
        padded, reach = n + low + high, (k - 1) * d + 1
        if isinstance(padded, int) and isinstance(reach, int) and padded < reach:
            raise fail(f"Negative dimension size caused by subtracting {reach} from {padded}")


def check_gradient(c: Inference, given: Dims, computed: Dims) -> None:
    """Raises where the result's gradient has other dims than the result."""
    for at, (actual, expected) in enumerate(zip(given, computed)):
        fault = f"actual = {actual}, computed = {expected} in dimension {at}"
        c.equal(actual, expected, f"Size of out_backprop doesn't match computed: {fault}")
