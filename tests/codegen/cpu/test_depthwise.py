"""Kernels of depthwise convolutions against NumPy, and which routines they call."""

from __future__ import annotations

import itertools
import os
from functools import lru_cache

import compiled_ir
import numpy as np
import pytest
from compiled_source import Compiled
from contraction_kernels import Window, assert_close, axis_sizes, reference_conv, shape_for, values
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.depthwise import (
    DepthwiseSpec,
    channel_block,
    depthwise_source,
    fitted_to_image,
    pack_depthwise,
)
from flowc.codegen.cpu.tiles import TileShape
from flowc.ir.builder import Builder
from flowc.ir.text.dim_parsing import parse_dim


@lru_cache(maxsize=64)
def depthwise_kernel(spec: DepthwiseSpec) -> Compiled:
    return Compiled(depthwise_source(spec))


DEPTHWISE: list[tuple[tuple[int, ...], tuple[int, int], Window]] = [
    ((1, 5, 6, 3), (3, 3), ((1, 1), (1, 1), (1, 1))),
    ((2, 9, 13, 24), (3, 2), ((2, 1), (1, 2), (1, 0))),
    ((1, 14, 14, 70), (5, 5), ((2, 2), (1, 1), (2, 2))),
    ((1, 12, 12, 33), (3, 3), ((1, 1), (2, 2), (2, 2))),
    ((1, 2, 2, 16), (5, 5), ((1, 1), (1, 1), (2, 2))),
    ((1, 3, 90, 19), (2, 40), ((1, 1), (1, 1), (0, 3))),
    ((1, 2, 80, 16), (1, 67), ((1, 1), (1, 1), (0, 0))),
    ((2, 6, 31, 8), (5, 5), ((1, 1), (1, 1), (2, 2))),
    ((1, 7, 20, 8), (3, 3), ((1, 2), (1, 1), (1, 1))),
    ((1, 7, 40, 1), (3, 7), ((2, 1), (1, 3), (1, 9))),
    ((1, 4, 25, 12), (1, 3), ((1, 1), (2, 4), (0, 4))),
    ((1, 9, 11, 23), (7, 7), ((1, 1), (1, 1), (3, 3))),
    ((1, 5, 9, 5), (3, 3), ((1, 3), (1, 1), (0, 1))),
    ((1, 0, 9, 5), (3, 3), ((1, 1), (1, 1), (2, 1))),
    ((2, 4, 7, 210), (5, 5), ((1, 1), (1, 1), (2, 2))),
    ((1, 5, 9, 24), (3, 5), ((1, 1), (1, 2), (1, 4))),
]


@pytest.mark.parametrize("bits", [128, 256, 512])
def test_depthwise(bits: int) -> None:
    for x_shape, kernel, window in DEPTHWISE[bits == 128 :: 2 if bits < 512 else 1]:
        assert_depthwise(shape_for(dtypes.f32, bits), x_shape, kernel, window, is_known=bits > 128)


@pytest.mark.parametrize("dtype", [dtypes.f64, dtypes.i32], ids=str)
def test_depthwise_of_other_dtypes(dtype: dtypes.DType) -> None:
    for x_shape, kernel, window in DEPTHWISE[:2]:
        assert_depthwise(shape_for(dtype, 256), x_shape, kernel, window, is_known=True)


@pytest.mark.skipif("FLOWC_FUZZ" not in os.environ, reason="a campaign, which takes minutes")
@pytest.mark.parametrize("channels", [1, 2, 3, 7, 8, 13, 16, 20, 24, 40, 72, 97])
def test_fuzz_depthwise(channels: int) -> None:
    for size, stride, dilation in itertools.product((3, 5, 7), (1, 2), (1, 2)):
        for width, bits in ((size, 512), (33, 512), (20, 256)):
            window = (stride, stride), (dilation, dilation), (size // 2, size // 2)
            shape = shape_for(dtypes.f32, bits)
            assert_depthwise(shape, (1, 9, width, channels), (size, size), window, is_known=True)


def assert_depthwise(
    shape: TileShape,
    x_shape: tuple[int, ...],
    kernel: tuple[int, int],
    window: Window,
    *,
    is_known: bool,
) -> None:
    """`is_known`: sizes are, when the kernel is made."""
    channels, dtype = x_shape[-1], shape.dtype
    x, w = values(x_shape, dtype), values((*kernel, channels, 1), dtype, 1)
    expected = reference_conv(x, w.reshape(*kernel, 1, channels), window, channels)
    y = np.full(expected.shape, 77, dtype.numpy)
    strides, dilations, pads = window
    sizes = axis_sizes(
        **{"in": x_shape[1:-1], "out": y.shape[1:-1], "kernel": kernel},
        stride=strides,
        dilation=dilations,
        pad=pads,
    )
    spec = DepthwiseSpec(shape, kernel if is_known else None, strides[1], dilations[1])
    if is_known:
        inside = x_shape[2] - (kernel[1] - 1) * dilations[1]
        spec = fitted_to_image(spec, channels, len(y[0, 0]), inside, wide=True)
    block = channel_block(spec, channels, x_shape[2])
    assert isinstance(block, int)
    sizes |= {"channels": channels, "block": block}
    taps = pack_depthwise(w, spec, block)
    depthwise_kernel(spec)(x, taps, y, splits=2, batch=len(x), in_blocks=1, **sizes)
    assert_close(y, expected.astype(dtype.numpy), kernel[0] * kernel[1])
    if spec.repeat == 1:
        again = np.full_like(y, 77)
        depthwise_kernel(spec)(x, w, again, splits=2, batch=len(x), in_blocks=0, **sizes)
        np.testing.assert_array_equal(again, y)


def depthwise_calls(side: int, channels: int, taps: int, stride: int = 1) -> list[tuple]:
    """What the kernel of a square map calls: the routine, and of a group its channels."""
    out = -(-side // stride)
    spec = DepthwiseSpec(shape_for(dtypes.f32, 512), (taps, taps), stride)
    spec = fitted_to_image(spec, channels, out, side + 1 - taps, wide=True)
    source = depthwise_source(spec)
    found: list[tuple] = []
    known: dict = {"idiv": lambda a, b: a // b, "least": min, "ceil_div": lambda a, b: -(-a // b)}
    known |= {"advance": lambda p, n: p + n}
    known |= {"first_tap": lambda position, step: -(min(0, position) // step)}
    for name in source.symbols.keys() - known:
        known[name] = lambda kind, *a: found.append((kind, a[8] if kind != "single" else 1))
    bound = [x if isinstance(x, int) else name for name, x in source.bound.items()]
    exec(source.text, known)
    sizes = axis_sizes(
        **{"in": (side, side), "out": (out, out), "kernel": (taps, taps)},
        stride=(stride, stride),
        dilation=(1, 1),
        pad=(taps // 2, taps // 2),
    )
    sizes |= {"channels": channels, "block": channel_block(spec, channels, side), "batch": 1}
    ints = [sizes.get(a.name, 0) for a in source.arguments[:-2]]
    given = {a.name: i for a, i in zip(source.arguments, ints)}
    tasks = parse_dim(source.tasks, given)
    known[source.name](*bound, *ints, 0, tasks)
    return found


def test_no_pixel_of_a_short_depthwise_row_is_computed_by_itself() -> None:
    assert depthwise_calls(7, 32, 5) == [("edge", 32)] * 7
    assert depthwise_calls(14, 32, 5, stride=2) == [("edge", 32)] * 7
    assert [kind for kind, _ in depthwise_calls(2, 32, 3)] == ["edge"] * 2
    assert depthwise_calls(28, 32, 5)[:4] == [("edge", 32), *[("group", 32)] * 2, ("edge", 32)]
    assert [kind for kind, _ in depthwise_calls(28, 32, 3)].count("single") == 2 * 28


def test_depthwise_rows_share_the_taps_of_a_block_of_channels() -> None:
    assert depthwise_calls(7, 200, 3) == [("edge", 96)] * 7 + [("edge", 104)] * 7
    assert {count for kind, count in depthwise_calls(40, 200, 3) if kind == "group"} == {200}
    assert depthwise_calls(40, 200, 5)[-1] == ("edge", 104)
    assert depthwise_calls(7, 1152, 3) == [("edge", 96)] * (7 * 12)  # 84 tasks for threads


def test_what_follows_a_depthwise_convolution_has_every_block_of_channels_once() -> None:
    b = Builder()
    image = b.parameter("x", tensor_type(dtypes.f32, (1, 6, 7, 200)))
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    y = b.depthwise_conv2d(image, b.const(values((3, 3, 200, 1), dtypes.f32)), **attrs)
    y = b.add(b.add(y, y), b.const(values((200,), dtypes.f32)))
    compiled = compiled_ir.Compiled(b.build([y]))
    assert len(compiled.plan.steps) == 1
    compiled.check(values((1, 6, 7, 200), dtypes.f32, 1))
