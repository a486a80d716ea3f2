"""What is done with each element of a transposed convolution joins it, before pixels are spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ir_reference import reference_results
from tensor_types import tensor_type

from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes

RANDOM = np.random.default_rng(3)
Emit = Callable[[Builder, Value], Value]


def f32(*dims: int) -> np.ndarray:
    return RANDOM.normal(size=dims).astype(np.float32)


def swish(b: Any, y: Value) -> Value:
    biased = b.add(y, b.const(f32(3)))
    return b.mul(biased, b.sigmoid(biased))


def scaled(b: Any, y: Value) -> Value:
    return b.maximum(b.mul(y, b.const(np.float32(2))), b.const(f32(1, 1, 1, 3)))


def by_pixel(b: Any, y: Value) -> Value:
    return b.add(y, b.const(f32(1, 16, 16, 1)))


def kept(b: Any, y: Value) -> Value:
    """Others see the elements as the convolution makes them."""
    return b.add(b.relu(y), b.reverse(y, b.const(np.array([1], np.int32))))


def upside_down(b: Any, y: Value) -> Value:
    """Any view will do that keeps channels."""
    return b.relu(b.reverse(y, b.const(np.array([1], np.int32))))


def by_channel(b: Any, y: Value) -> Value:
    return b.relu(b.reverse(y, b.const(np.array([3], np.int32))))


def cut(b: Any, y: Value) -> Value:
    return b.relu(b.slice(y, np.array([0, 3, 2, 0], np.int32), np.array([2, 3, 9, 3], np.int32)))


def built(emit: Emit, window: int, step: int) -> Computation:
    b: Any = Builder()
    x = b.parameter("x", tensor_type("f32", (2, 16 // step, 16 // step, 5)))
    sizes = b.const(np.array([2, 16, 16, 3], np.int32))
    w = b.const(f32(window, window, 3, 5))
    y = b.conv2d_backprop_input(sizes, w, x, strides=(1, step, step, 1), padding="SAME")
    return b.build([emit(b, y)])


@pytest.mark.parametrize(
    ("emit", "joins"),
    [
        (swish, True),
        (scaled, True),
        (by_pixel, False),
        (kept, True),
        (upside_down, True),
        (by_channel, False),
        (cut, False),
    ],
)
@pytest.mark.parametrize(("window", "step"), [(2, 2), (3, 2), (5, 4)])
def test_elementwise_ops_join_the_convolution(
    emit: Emit, joins: bool, window: int, step: int
) -> None:
    c = built(emit, window, step)
    first = next(n for n in run_passes(c, Options()).nodes if n.op.name == "cluster")
    assert first.attrs["kind"] == "convolution"
    inside = [n.op.name for n in first.attrs["body"].nodes]
    assert ("map" in inside) == joins
    x = f32(2, 16 // step, 16 // step, 5)
    (y,) = load_executable(c, Options(), spec_of(c, ["x"], ["y"]), threads=1).run((x,))
    (expected,) = reference_results(c, [x])
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-5)
