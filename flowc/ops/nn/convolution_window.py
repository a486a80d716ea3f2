"""The geometry of windows that slide over images, as those of convolutions and of pooling do: over
which axes, how much is padded, how large the result is.

In: sizes, and a node's attrs as TensorFlow writes them (one value an axis, in the order of
`data_format`). Out: a `SlidingWindow` of the spatial axes alone. Invariant: sizes may be symbolic;
what can be checked when compiling is checked here, in TensorFlow's words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc.dataclass import dataclass
from flowc.ir.dims import Dim, ceildiv, maximum
from flowc.ir.inference import Inference
from flowc.ir.layout import layout_of
from flowc.ir.types import Dims
from flowc.ops.nn.through_channels_last import explicit_pairs

EMPTY_FILTER = "filter must not have zero elements (i.e. all dimensions must be non-zero)"


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """One entry for each spatial axis. `output`: how often the window fits."""

    sizes: Dims
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pad: tuple[tuple[Dim, Dim], ...]
    output: Dims


def sliding_window(
    image: Sequence[Dim], window: Sequence[Dim], attrs: Mapping[str, Any]
) -> SlidingWindow:
    """A window of these spatial sizes over an image of these; attrs must be checked."""
    layout, padding = layout_of(attrs.get("data_format", "NHWC")), attrs["padding"]
    strides = layout.logical(attrs["strides"])[1:-1]
    rates = attrs.get("dilations", attrs.get("rates"))
    dilations = layout.logical(rates)[1:-1] if rates else (1,) * len(strides)
    reach = [(k - 1) * d + 1 for k, d in zip(window, dilations)]
    pad: tuple[tuple[Dim, Dim], ...] = ((0, 0),) * len(strides)
    if padding == "SAME":
        pad = tuple(_same(n, r, s) for n, r, s in zip(image, reach, strides))
    elif padding == "EXPLICIT":
        pad = layout.logical(explicit_pairs(attrs))[1:-1]
    output = tuple(
        ceildiv(n, s) if padding == "SAME" else (n + low + high - r) // s + 1
        for n, r, s, (low, high) in zip(image, reach, strides, pad)
    )
    return SlidingWindow(tuple(window), strides, dilations, pad, output)


def covers_last_axis(image: Sequence[Dim], window: SlidingWindow) -> bool:
    """Whether the window has one place along the last axis and meets all of it and nothing else, as
    in convolutions over words whose vectors are the rows."""
    size, is_padded = window.sizes[-1], window.pad[-1] != (0, 0)
    return image[-1] == size and size != 1 and window.dilations[-1] == 1 and not is_padded


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
            fault = f"{attr} must be at least 1, found {list(values)}"
            built = f"Stride must be > 0, but got {min(values)}" if attr == "strides" else ""
            raise c.fail(fault, built=built)
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


def check_fit(c: Inference, image: Sequence[Dim], window: SlidingWindow) -> None:
    """Raises where a window is larger than the padded image, or has no elements. As many results as
    an image has ("SAME") always fit, also none."""
    for size in window.sizes:
        c.at_least(size, 1, EMPTY_FILTER)
    if c.attrs["padding"] == "SAME":
        return
    for n, k, d, (low, high) in zip(image, window.sizes, window.dilations, window.pad):
        padded, reach = n + low + high, (k - 1) * d + 1
        if isinstance(padded, int) and isinstance(reach, int) and padded < reach:
            raise c.fail(f"Negative dimension size caused by subtracting {reach} from {padded}")


def check_gradient(c: Inference, given: Dims, computed: Dims) -> None:
    """Raises where the result's gradient has other dims than the result."""
    for at, (actual, expected) in enumerate(zip(given, computed)):
        fault = f"actual = {actual}, computed = {expected} in dimension {at}"
        c.equal(actual, expected, f"Size of out_backprop doesn't match computed: {fault}")
