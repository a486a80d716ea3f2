"""Convolutions, and their gradients, whose window has one place along the columns of the image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ir_reference import reference_results
from tensor_types import tensor_type

from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.lowering import Convolution
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes

RANDOM = np.random.default_rng(5)


COVERING = pytest.mark.parametrize(
    ("image", "window", "strides", "width"),
    [
        ((2, 9, 6, 1), (3, 6, 1, 4), (1, 1), 1),
        ((2, 9, 5, 3), (2, 5, 3, 4), (2, 3), 1),
        ((1, 4, 4, 2), (4, 4, 2, 3), (1, 1), 1),
        ((2, 9, 6, 1), (3, 5, 1, 4), (1, 1), 5),  # two places
        ((2, 9, 1, 3), (3, 1, 3, 4), (1, 1), 1),
    ],
)


def widths_of(c: Any) -> list[int]:
    """The widths of the windows of all convolutions."""
    return [
        n.inputs[1].dims[1]
        for cluster in run_passes(c, Options()).nodes
        if cluster.op.name == "cluster"
        for n in cluster.attrs["body"].nodes
        if isinstance(n.lowering, Convolution)
    ]


@COVERING
def test_columns_that_the_window_covers_are_channels(
    image: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, int], width: int
) -> None:
    b: Any = Builder()
    rows, columns = ((n - k) // s + 1 for n, k, s in zip(image[1:3], window, strides))
    w = b.parameter("w", tensor_type("f32", window))
    dy = b.parameter("dy", tensor_type("f32", (image[0], rows, columns, window[-1])))
    sizes = b.const(np.array(image, np.int32))
    attrs = {"strides": (1, *strides, 1), "padding": "VALID"}
    c = b.build([b.conv2d_backprop_input(sizes, w, dy, **attrs)])
    feeds = [RANDOM.normal(size=v.dims).astype(np.float32) for v in (w, dy)]
    assert widths_of(c) == [width]
    (dx,) = load_executable(c, Options(), spec_of(c, ["w", "dy"], ["dx"]), threads=1).run(feeds)
    (expected,) = reference_results(c, feeds)
    np.testing.assert_allclose(dx, expected, rtol=1e-5, atol=1e-5)


@COVERING
@pytest.mark.parametrize("padding", ["VALID", "EXPLICIT"])
def test_columns_that_a_window_covers_are_channels_forward(
    image: tuple[int, ...],
    window: tuple[int, ...],
    strides: tuple[int, int],
    width: int,
    padding: str,
) -> None:
    b: Any = Builder()
    x, w = (b.parameter(n, tensor_type("f32", s)) for n, s in (("x", image), ("w", window)))
    attrs: dict[str, Any] = {"strides": (1, *strides, 1), "padding": padding}
    if padding == "EXPLICIT":
        attrs["explicit_paddings"] = (0, 0, 1, 2, 0, 0, 0, 0)
    c = b.build([b.conv2d(x, w, **attrs)])
    feeds = [RANDOM.normal(size=v.dims).astype(np.float32) for v in (x, w)]
    assert widths_of(c) == [width]
    (y,) = load_executable(c, Options(), spec_of(c, ["x", "w"], ["y"]), threads=1).run(feeds)
    (expected,) = reference_results(c, feeds)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
@pytest.mark.parametrize("sides", [((2, 1), (0, 0)), ((2, 1), (1, 1)), ((0, 0), (1, 0))])
def test_padding_joins_a_window_that_covers_the_columns(
    sides: tuple[tuple[int, int], tuple[int, int]], data_format: str
) -> None:
    """As in taggers of music, whose spectrogram is padded in time."""
    b: Any = Builder()
    (rows, columns), last = sides, data_format == "NHWC"
    image, window = (2, 9, 6, 1) if last else (2, 1, 9, 6), (3, 6 + sum(columns), 1, 4)
    x, w = (b.parameter(n, tensor_type("f32", s)) for n, s in (("x", image), ("w", window)))
    nothing = (0, 0)
    amounts = (nothing, rows, columns, nothing) if last else (nothing, nothing, rows, columns)
    padded = b.pad(x, b.const(np.array(amounts, np.int32)))
    c = b.build([b.conv2d(padded, w, strides=(1,) * 4, padding="VALID", data_format=data_format)])
    feeds = [RANDOM.normal(size=v.dims).astype(np.float32) for v in (x, w)]
    (y,) = load_executable(c, Options(), spec_of(c, ["x", "w"], ["y"]), threads=1).run(feeds)
    np.testing.assert_allclose(y, reference_results(c, feeds)[0], rtol=1e-5, atol=1e-5)
