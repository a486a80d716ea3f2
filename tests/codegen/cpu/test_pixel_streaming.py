"""Depthwise convolutions and those of single pixels go through caches band by band, and give the
bits that they give one after another."""

from __future__ import annotations

import numpy as np
import pytest
from fused_text import assert_text_compiles_back
from partitions import PartitionedProgram, bits
from plan_memory import check_memory, plan_without_code
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.kernels.kernel import STREAMED, Launch
from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.analysis.pixel_chains import rows_of_band
from flowc.passes.pipeline import run_passes

# Images, rows, columns, channels, outputs; window, stride, dilation; whether the image is added.
Case = tuple[tuple[int, int, int, int, int], int, int, int, bool]
CASES: dict[str, Case] = {
    "3x3 with a residual": ((2, 24, 50, 64, 64), 3, 1, 1, True),
    "5x5, panels that are not whole": ((1, 46, 46, 72, 56), 5, 1, 1, False),
    "strides": ((1, 101, 90, 64, 24), 3, 2, 1, False),
    "wide pixels": ((1, 96, 96, 24, 40), 3, 1, 1, False),
    "dilated, few outputs": ((1, 63, 63, 48, 3), 3, 1, 2, False),
}


def block(case: Case) -> Computation:
    (images, rows, columns, channels, outputs), window, stride, dilation, adds = case
    random = np.random.default_rng(5)
    weights = lambda *dims: b.const(random.normal(size=dims).astype(np.float32))
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (images, rows, columns, channels)))
    steps = {"strides": [1, stride, stride, 1], "padding": "SAME"}
    steps["dilations"] = [1, dilation, dilation, 1]
    y = b.depthwise_conv2d(x, weights(window, window, channels, 1), **steps)
    y = b.relu6(b.add(y, weights(channels)))
    y = b.conv2d(y, weights(1, 1, channels, outputs), strides=[1, 1, 1, 1], padding="SAME")
    y = b.add(y, weights(outputs))
    return b.build([b.add(y, x) if adds else y])


def arrays_of(c: Computation) -> list[np.ndarray]:
    dims = [d for d in c.parameters[0].output.dims if isinstance(d, int)]
    return [np.random.default_rng(7).normal(size=dims).astype(np.float32)]


def run(c: Computation, options: Options) -> np.ndarray:
    return load_executable(c, options, spec_of(c, ["x"], ["y"]), 1).run(arrays_of(c))[0]


def launches(c: Computation, target: str = "x86-64-v4") -> list[Launch]:
    found = run_passes(c, Options())
    clusters = [n for n in found.nodes if n.op.name == "cluster"]
    return [x for n in clusters for x in cpu_target(target).launches(n)]


@pytest.mark.parametrize("target", ["native", "x86-64-v3"])
@pytest.mark.parametrize("name", CASES)
def test_same_bits_as_one_after_another(name: str, target: str) -> None:
    c = block(CASES[name])
    found = run(c, Options(target))
    assert bits(found) == bits(run(c, Options(target, skip=("stream_products",))))


@pytest.mark.parametrize("name", ["3x3 with a residual", "strides"])
def test_however_bands_are_shared(name: str) -> None:
    c = block(CASES[name])
    PartitionedProgram(c, Options()).run(arrays_of(c))


@pytest.mark.parametrize("name", CASES)
def test_one_launch_and_text_that_compiles_back(name: str) -> None:
    c = block(CASES[name])
    (chain,) = launches(c)
    assert [x.kernel.entry for x in chain.calls] == ["depthwise", "pointwise_conv"]
    assert sum(x is STREAMED for call in chain.calls for x in call.operands) == 2
    assert_text_compiles_back(run_passes(c, Options()))


def test_pixels_between_are_no_memory_of_the_run() -> None:
    c = block(CASES["5x5, panels that are not whole"])
    plan = plan_without_code(c)
    check_memory(plan)
    size = 46 * 46 * 72 * 4
    assert not [s for s in plan.slots if s.size == size]
    separate = plan_without_code(c, Options(skip=("stream_products",)))
    assert [s for s in separate.slots if s.size == size]
    assert isinstance(plan.scratch, int) and plan.scratch < 1 << 17


def test_bands_share_rows_out_exactly() -> None:
    assert [rows_of_band(n, 16 << 10) for n in (1, 7, 14, 28, 46, 56)] == [1, 1, 2, 4, 2, 4]
    assert rows_of_band(12, 1 << 20) == 1  # a row, at least
    (chain,) = launches(block(CASES["3x3 with a residual"]))
    assert chain.total == 2 * 6


@pytest.mark.parametrize(
    ("sizes", "window"),
    [((1, 14, 14, 512, 64), 3), ((1, 211, 24, 128, 16), 3), ((1, 96, 96, 8, 16), 3)],
    ids=["near", "short rows that no band shares out", "few channels"],
)
def test_what_stays_two_launches(sizes: tuple[int, int, int, int, int], window: int) -> None:
    names = [x.kernel.entry for x in launches(block((sizes, window, 1, 1, False)))]
    assert len(names) == 2 and "streamed" not in names


def test_what_others_read_stays() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (1, 56, 56, 64)))
    weights = lambda *dims: b.const(np.ones(dims, np.float32))
    steps = {"strides": [1, 1, 1, 1], "padding": "SAME"}
    y = b.relu6(b.depthwise_conv2d(x, weights(3, 3, 64, 1), **steps))
    z = b.conv2d(y, weights(1, 1, 64, 16), **steps)
    assert "streamed" not in [k.kernel.entry for k in launches(b.build([y, z]))]
