"""Kernels of convolutions against NumPy: strides, dilations, paddings, groups, transposed."""

from __future__ import annotations

import re
from functools import lru_cache

import numpy as np
import pytest
from compiled_source import Compiled
from contraction_kernels import (
    Window,
    assert_close,
    axis_sizes,
    reference_conv,
    shape_for,
    spatial,
    taps_of,
    values,
)

from flowc import dtypes
from flowc.codegen.cpu.conv_transpose import conv_transpose_source, pack_conv_transpose_weights
from flowc.codegen.cpu.convolution import ConvSpec, conv_source, pack_conv_weights
from flowc.codegen.cpu.depthwise import (
    DepthwiseSpec,
    depthwise_source,
)
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cpu.tiles import TileShape, tile_shape


@lru_cache(maxsize=64)
def conv_kernel(shape: TileShape, rank: int) -> Compiled:
    return Compiled(conv_source(ConvSpec(shape, rank)))


@lru_cache(maxsize=64)
def transpose_kernel(shape: TileShape, rank: int) -> Compiled:
    return Compiled(conv_transpose_source(ConvSpec(shape, rank)))


CONVOLUTIONS: list[tuple[tuple[int, ...], tuple[int, ...], int, Window]] = [
    # x, weights, groups, (strides, dilations, pads)
    ((1, 5, 6, 3), (3, 3, 3, 4), 1, ((1, 1), (1, 1), (1, 1))),
    ((2, 9, 7, 8), (3, 2, 8, 40), 1, ((2, 1), (1, 2), (1, 0))),
    ((1, 9, 9, 300), (3, 3, 300, 20), 1, ((1, 1), (1, 1), (1, 1))),
    ((2, 8, 8, 12), (3, 3, 4, 24), 3, ((1, 2), (2, 1), (2, 1))),
    ((1, 20, 17, 4), (7, 7, 4, 7), 1, ((2, 2), (1, 1), (3, 3))),
    ((1, 12, 13, 5), (1, 1, 5, 33), 1, ((1, 1), (1, 1), (0, 0))),
    ((1, 4, 4, 6), (1, 1, 1, 12), 6, ((1, 1), (1, 1), (0, 0))),
    ((1, 3, 3, 2), (5, 5, 2, 3), 1, ((1, 1), (1, 1), (4, 4))),
    ((2, 3, 5, 4, 3), (2, 3, 1, 3, 5), 1, ((1, 2, 1), (1, 1, 2), (1, 1, 0))),
]


@pytest.mark.parametrize(("name", "bits"), [("f32", 512), ("f64", 128)])
def test_conv(name: str, bits: int) -> None:
    dtype = dtypes.as_dtype(name)
    shape = shape_for(dtype, bits)
    for x_shape, w_shape, groups, window in CONVOLUTIONS:
        if bits == 128 and len(x_shape) == 5:
            continue
        x, w = values(x_shape, dtype), values(w_shape, dtype, 1)
        expected = reference_conv(x, w, window, groups)
        y = np.full(expected.shape, 77, dtype.numpy)
        strides, dilations, pads = window
        sizes = axis_sizes(
            **{"in": x_shape[1:-1], "out": y.shape[1:-1], "kernel": w_shape[:-2]},
            stride=strides,
            dilation=dilations,
            pad=pads,
        )
        conv_kernel(shape, len(x_shape) - 2)(
            x,
            pack_conv_weights(w, ConvSpec(shape), groups=groups).array(),
            y,
            splits=2,
            batch=len(x),
            channels=w_shape[-2],
            n=w_shape[-1] // groups,
            groups=groups,
            parts=3,
            x_stride=x_shape[-1],
            c_stride=w_shape[-1],
            **sizes,
        )
        assert_close(y, expected.astype(dtype.numpy), int(np.prod(w_shape[:-1])))


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], int, Window]] = [
    # x, weights, rows of output beyond what the input reaches, (strides, dilations, pads)
    ((1, 5, 6, 3), (3, 3, 4, 3), 0, ((1, 1), (1, 1), (1, 1))),
    ((2, 5, 4, 8), (3, 2, 40, 8), 1, ((2, 1), (1, 2), (1, 0))),
    ((1, 7, 7, 300), (4, 4, 20, 300), 0, ((2, 2), (1, 1), (1, 1))),
    ((2, 4, 5, 12), (3, 3, 24, 12), 0, ((2, 3), (2, 2), (2, 1))),
    ((1, 4, 4, 5), (1, 1, 7, 5), 1, ((2, 2), (1, 1), (0, 0))),
    ((1, 3, 3, 5), (2, 2, 270, 5), 0, ((3, 3), (1, 1), (0, 0))),
]


def test_conv_transpose() -> None:
    shape = shape_for(dtypes.f32, 512)
    for x_shape, w_shape, more, window in TRANSPOSED:
        x, w = values(x_shape, dtypes.f32), values(w_shape, dtypes.f32, 1)
        strides, dilations, pads = window
        out = spatial(x, window, w_shape[:-2], back=True)
        out[0] += more
        expected = np.zeros((len(x), *out, w_shape[-2]))
        for tap, small, big in taps_of(x_shape[1:-1], out, w_shape[:-2], window):
            expected[(slice(None), *big)] += x[(slice(None), *small)] @ w[tap].T
        y = np.full(expected.shape, 77, np.float32)
        sizes = axis_sizes(
            **{"in": x_shape[1:-1], "out": out, "kernel": w_shape[:-2]},
            stride=strides,
            dilation=dilations,
            pad=pads,
        )
        transpose_kernel(shape, 2)(
            x,
            pack_conv_transpose_weights(w, shape, strides, dilations).array(),
            y,
            splits=3,
            batch=len(x),
            channels=x_shape[-1],
            n=w_shape[-2],
            parts=2,
            x_stride=x_shape[-1],
            y_stride=w_shape[-2],
            **sizes,
        )
        assert_close(y, expected.astype(np.float32), int(np.prod(w.shape)) // w_shape[-2])


@pytest.mark.parametrize(
    ("name", "absent"), [("x86-64-v2", "ymm"), ("x86-64-v3", "zmm"), ("x86-64-v4", "nothing")]
)
def test_a_target_gets_its_own_vectors_and_calls_nothing_but_memset(name: str, absent: str) -> None:
    target = cpu_target(name)
    shape = tile_shape(
        dtypes.f32, target.vector_bits, registers=target.registers, fma=target.has_fma
    )
    for source in (conv_source(ConvSpec(shape)), depthwise_source(DepthwiseSpec(shape, (3, 3)))):
        assembly = target.kernel_text(source.kernel, "asm")
        assert "xmm" in assembly
        assert absent not in assembly
        own = set(re.findall(r"^(r_\w+):", assembly, re.MULTILINE))  # routines that kernels share
        called = re.findall(r"call\S*\s+(mem\w+|\S+@PLT)", assembly)
        assert {name.removesuffix("@PLT") for name in called} <= {"memset", *own}
