"""Kernels of gradients by weights against NumPy: odd sizes, steps, padding, both orders of rows and
columns, lines of taps; and that nothing is copied for them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest
from compiled_source import Compiled
from contraction_kernels import (
    Window,
    assert_close,
    axis_sizes,
    shape_for,
    spatial,
    taps_of,
    values,
)
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.products.filter_gradients import filter_gradient_source
from flowc.codegen.cpu.tile_shape import TileShape
from flowc.ir.builder import Builder
from flowc.options import Options
from flowc.passes.pipeline import run_passes

# Images, the window, outputs; strides, dilations, pads.
CASES: list[tuple[tuple[int, ...], tuple[int, ...], int, Window]] = [
    ((2, 8, 8, 16), (3, 3), 16, ((1, 1), (1, 1), (1, 1))),
    ((3, 9, 7, 33), (3, 2), 20, ((2, 1), (1, 1), (1, 0))),
    ((2, 30, 31, 5), (2, 3), 7, ((1, 1), (1, 2), (0, 2))),
    ((20, 3, 3, 8), (5, 5), 70, ((1, 1), (1, 1), (2, 2))),
    ((1, 2, 40, 3), (1, 4), 1, ((1, 3), (1, 1), (0, 2))),
    ((2, 4, 5, 6, 9), (3, 3, 2), 35, ((2, 1, 1), (1, 2, 1), (1, 2, 1))),
    ((0, 4, 4, 3), (3, 3), 5, ((1, 1), (1, 1), (1, 1))),
    ((1, 1, 1, 3), (3, 3), 5, ((1, 1), (2, 2), (2, 2))),
]


@lru_cache(maxsize=64)
def kernel_of(shape: TileShape, rows: int, columns: int, swapped: bool) -> Compiled:
    return Compiled(filter_gradient_source(shape, rows, columns, swapped=swapped))


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_filter_gradients(bits: int) -> None:
    for number, (image, taps, outputs, window) in enumerate(CASES):
        if bits == 512 or number % 2 == bits // 256:
            for swapped in (False, True):
                assert_gradient(shape_for(dtypes.f32, bits), image, taps, outputs, window, swapped)


def test_filter_gradients_of_other_dtypes() -> None:
    for image, taps, outputs, window in CASES[:3]:
        assert_gradient(shape_for(dtypes.f64, 256), image, taps, outputs, window, False)


def assert_gradient(
    shape: TileShape,
    image: tuple[int, ...],
    taps: tuple[int, ...],
    outputs: int,
    window: Window,
    swapped: bool,
) -> None:
    x = values(image, shape.dtype)
    out = spatial(x, window, taps, back=False)
    dy = values((image[0], *out, outputs), shape.dtype, 1)
    expected = np.zeros((*taps, image[-1], outputs))
    pixels = list(range(len(image) - 1))
    for tap, small, big in taps_of(out, image[1:-1], taps, window):
        made, seen = dy[(slice(None), *small)], x[(slice(None), *big)]
        expected[tap] = np.tensordot(seen.astype(float), made.astype(float), (pixels, pixels))
    if swapped:
        expected = np.swapaxes(expected, -1, -2)
    y = np.full(expected.shape, 77, shape.dtype.numpy)
    strides, dilations, pads = window
    sizes = dict.fromkeys((f"{n}_{a}" for n in ("in", "out", "kernel", "stride", "dilation")
                           for a in "dh"), 1)  # fmt: skip
    sizes |= {"pad_d": 0, "pad_h": 0}
    sizes |= axis_sizes(
        **{"in": image[1:-1], "out": out, "kernel": taps},
        stride=strides,
        dilation=dilations,
        pad=pads,
    )
    sizes |= {"batch": len(x), "channels": image[-1], "outputs": outputs}
    kernel_of(shape, *expected.shape[-2:], swapped)(x, dy, y, splits=3, **sizes)
    assert_close(y, expected.astype(shape.dtype.numpy), int(np.prod(dy.shape[:-1])))


def kinds_of(channels: int, outputs: int, target: str = "native") -> list[str]:
    """The kinds of the clusters of a gradient of windows of 3 x 3."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (4, 9, 9, channels)))
    dy = b.parameter("dy", tensor_type(dtypes.f32, (4, 9, 9, outputs)))
    sizes = b.const(np.array([3, 3, channels, outputs], np.int32))
    made = b.conv2d_backprop_filter(x, sizes, dy, strides=(1, 1, 1, 1), padding="SAME")
    c = run_passes(b.build([made]), Options(target=target))
    return [n.attrs["kind"] for n in c.nodes if n.op.name == "cluster"]


def test_operands_are_read_where_they_stand() -> None:
    assert kinds_of(32, 64) == kinds_of(80, 1) == ["filter_gradient"]


def test_images_are_padded_for_lines_of_taps() -> None:
    assert kinds_of(3, 64) == kinds_of(32, 1) == ["loop", "filter_gradient"]


def test_of_few_outputs_the_result_is_transposed() -> None:
    assert kinds_of(32, 3) == ["filter_gradient", "loop"]


def test_a_gpu_computes_a_convolution() -> None:
    assert "filter_gradient" not in kinds_of(32, 64, "cuda:90")
