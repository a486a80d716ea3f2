"""Convolutions of few outputs or inputs against NumPy, and which are computed without patches."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from calls.op_calls import CONV, reference
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.codegen.cpu.planar.blocks import MOST_BYTES, planar_block
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cpu.tile_shape import tile_shape
from flowc.codegen.cpu.tile_sums import Operands, sums_routine
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.lowering import Convolution
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

HALF = cpu_target("native").vector_bits // 64  # of a vector of f32: so many outputs are few
OUTPUTS = [
    (1, "native"), (3, "native"), (HALF, "native"), (1, "x86-64-v3"), (4, "x86-64-v3"),
    (2, "x86-64-v2"),
]  # fmt: skip
SAME, VALID = {"padding": "SAME"}, {"padding": "VALID"}
AROUND = {"padding": "EXPLICIT", "explicit_paddings": (0, 0, 5, 0, 7, 1, 0, 0)}

# image, window and outputs, strides, dilations, padding
CASES = [
    ((1, 9, 70, 8), (3, 39, 8), (1, 1), (1, 1), SAME),
    ((1, 1, 3000, 1), (1, 256, 1), (1, 2), (1, 1), VALID),
    ((2, 11, 50, 3), (5, 5, 3), (1, 1), (1, 1), SAME),
    ((1, 20, 45, 2), (7, 3, 2), (1, 1), (1, 1), AROUND),
    ((1, 30, 64, 33), (3, 3, 33), (1, 1), (1, 1), SAME),
    ((1, 25, 90, 2), (6, 9, 2), (2, 3), (1, 1), SAME),
    ((1, 25, 133, 2), (3, 10, 2), (1, 3), (1, 5), VALID),
    ((1, 40, 40, 5), (3, 3, 5), (1, 1), (4, 2), SAME),
    ((3, 3, 29, 1), (2, 2, 1), (1, 1), (1, 1), SAME),
]
FEW_INPUTS = [
    ((1, 39, 47, 3), (7, 7, 3), (2, 2), (1, 1), SAME),
    ((2, 9, 40, 1), (3, 3, 1), (2, 3), (2, 1), AROUND),
    ((1, 21, 300, 4), (3, 2, 4), (1, 1), (1, 1), VALID),
    ((1, 1, 900, 1), (1, 36, 1), (1, 7), (1, 1), VALID),
    ((2, 17, 30, 20), (3, 3, 20), (2, 2), (1, 1), SAME),
]
# Eight groups: of few outputs, and of a panel and a half, or two, or three.
GROUPED = [
    ((1, 9, 30, 24), (3, 3, 3), (1, 1), (1, 1), SAME),
    ((2, 11, 17, 16), (3, 2, 2), (2, 1), (1, 3), VALID),
    ((1, 7, 20, 32), (1, 5, 4), (1, 2), (2, 1), AROUND),
]
ONE, TWO = (1, 1, 1), (2, 2, 2)
VOLUMES = [
    ((1, 10, 19, 37, 2), (3, 3, 3, 2), ONE, ONE, SAME),
    ((2, 7, 9, 62, 3), (2, 3, 5, 3), (2, 1, 2), ONE, VALID),
    ((1, 9, 6, 31, 1), (3, 2, 3, 1), ONE, (3, 2, 4), SAME),
    ((2, 4, 5, 16, 4), (5, 3, 3, 4), (3, 2, 1), ONE, SAME),
]
LINE_VOLUMES = [
    ((1, 9, 19, 33, 2), (3, 3, 3, 2), TWO, ONE, SAME),
    ((2, 7, 6, 20, 17), (2, 3, 3, 17), (1, 2, 1), (2, 1, 1), VALID),
    ((1, 12, 10, 16, 4), (4, 1, 2, 4), ONE, ONE, SAME),
]


@cache
def _kernels() -> KernelCache:
    return KernelCache(DiskCache(None))


def _convolved(
    x: Any, w: Any, strides: Any, dilations: Any, padding: Any, target: str, threads: int,
    dims: Any = None, *, in_training: bool = False,
) -> tuple[Any, set[str]]:  # fmt: skip
    """The result behind an epilogue, and the names of the kernels. `dims`: of the image, where some
    of them only the run knows. `in_training`: the weights are given to the run."""
    b = Builder()
    image = b.parameter("x", tensor_type(dtypes.as_dtype(x.dtype), dims or x.shape))
    attrs = {"strides": (1, *strides, 1), "dilations": (1, *dilations, 1), **padding}
    convolve = b.conv2d if x.ndim == 4 else b.conv3d
    weights = b.const(w)
    if in_training:
        weights = b.parameter("w", tensor_type(dtypes.as_dtype(w.dtype), w.shape))
    y = b.add(convolve(image, weights, **attrs), b.const(np.arange(w.shape[-1], dtype=w.dtype)))
    report, options = Report(), Options(target=target)
    given = {"x": x, "w": w} if in_training else {"x": x}
    spec, kernels = spec_of(b.build([y]), [*given], ["y"]), _kernels()
    c = b.build([y])
    program = compile_computation(c, options, spec, report=report, kernels=kernels)
    names = {k.entry for k in report.stages.kernels.values()}
    return Executable(program, threads).run([*given.values()])[0], names


@pytest.mark.parametrize(("outputs", "target"), OUTPUTS)
def test_few_outputs_are_computed_by_planes(outputs: int, target: str) -> None:
    _check(CASES[outputs % 2 :: 2], outputs, target, "planar_conv")


@pytest.mark.parametrize(("outputs", "target"), [(40, "native"), (13, "x86-64-v3")])
def test_few_inputs_are_read_where_the_rows_of_the_image_are(outputs: int, target: str) -> None:
    _check(FEW_INPUTS, outputs, target, "line_conv")


@pytest.mark.parametrize(
    ("outputs", "target"),
    [(8 * 5, "native"), (8 * 24, "native"), (8 * 24, "x86-64-v3"), (8 * 3, "x86-64-v2")],
)
def test_groups_of_few_outputs_read_the_rows_of_the_image(outputs: int, target: str) -> None:
    _check(GROUPED, outputs, target, "grouped_conv")


@pytest.mark.parametrize(
    ("cases", "outputs", "name"),
    [(CASES, 3, "planar_conv"), (FEW_INPUTS, 40, "line_conv"), (GROUPED, 8 * 5, "grouped_conv")],
)
def test_weights_of_the_run_are_packed_or_read_where_they_stand(
    cases: list[Any], outputs: int, name: str
) -> None:
    """The results are those of constant weights, by the same kernel."""
    rng = np.random.default_rng(outputs)
    for image, window, *steps in cases[:3]:
        x = rng.integers(-4, 5, image).astype(np.float32)
        w = rng.integers(-4, 5, (*window, outputs)).astype(np.float32)
        known, names = _convolved(x, w, *steps, "native", 1)
        found, others = _convolved(x, w, *steps, "native", 1, in_training=True)
        np.testing.assert_array_equal(found, known)
        assert name in names & others


@pytest.mark.parametrize("outputs", [3, 40])
def test_sizes_of_images_may_be_known_to_the_run_only(outputs: int) -> None:
    """Steps of two make sizes of which a program does not know whether they are 0."""
    rng = np.random.default_rng(outputs)
    w = rng.integers(-4, 5, (5, 5, 3, outputs)).astype(np.float32)
    sizes = (symbol("n"), symbol("h"), symbol("w"), 3)
    for size, strides in (((1, 31, 46), (1, 1)), ((2, 18, 61), (2, 2))):
        x = rng.integers(-4, 5, (*size, 3)).astype(np.float32)
        found, names = _convolved(x, w, strides, (1, 1), SAME, "native", 1, sizes)
        known, _ = _convolved(x, w, strides, (1, 1), SAME, "native", 1)
        np.testing.assert_array_equal(found, known)
        assert {"planar_conv", "line_conv"} & names


def test_elements_in_few_sums_are_not_moved_to_planes() -> None:
    cases = [((1, 1, 900, 1), (1, 40, 1), (1, 8), (1, 1), SAME)]
    cases.append(((2, 9, 20, 2), (3, 3, 2), (2, 2), (1, 1), SAME))
    # 7 outputs are half a vector of 16, and all of one of 8.
    _check(cases, 7, "native", "grouped_conv" if HALF == 8 else "line_conv")
    assert _block((1, 256, 1, 8), (1, 1, 684, 8), strides=(1, 64)).line_stride == 64
    assert not _block((1, 256, 1, 8), (1, 1, 5000, 8), strides=(1, 8)).line_stride


def test_channels_with_several_outputs_each_are_a_depthwise_convolution_of_as_many() -> None:
    _check([((2, 9, 11, 5), (3, 3, 1), (1, 2), (1, 1), SAME)], 35, "native", "depthwise")


@pytest.mark.parametrize(
    ("cases", "outputs", "target", "name"),
    [
        (VOLUMES, 3, "x86-64-v3", "planar_conv"),
        (LINE_VOLUMES, 21, "native", "line_conv"),
    ],
)
def test_volumes_are_images_of_several_slices(
    cases: list[Any], outputs: int, target: str, name: str
) -> None:
    _check(cases, outputs, target, name)


def test_volumes_of_few_outputs_and_pixels_are_computed_by_lines() -> None:
    cases = [((2, 4, 5, 6, 8), (3, 3, 3, 8), (1, 1, 1), (1, 1, 1), SAME)]
    cases.append(((1, 5, 7, 8, 3), (3, 2, 3, 3), (2, 2, 2), (1, 1, 1), SAME))
    _check(cases, 7, "native", "line_conv")


@pytest.mark.parametrize(("outputs", "name"), [(1, "planar_conv"), (40, "line_conv")])
def test_rows_of_taps_in_the_padding_are_left_out(outputs: int, name: str) -> None:
    """What is not finite among weights that see nothing but padding is not seen."""
    x, w = np.ones((1, 2, 48, 3), np.float32), np.ones((5, 1, 3, outputs), np.float32)
    w[[0, 4]] = np.nan
    found, names = _convolved(x, w, (1, 1), (1, 1), SAME, "native", 1)
    assert name in names
    np.testing.assert_array_equal(found, np.full_like(found, 6) + np.arange(outputs))


def test_long_sums_of_lines_are_several() -> None:
    """25,088 products; in one chain, 1 + 2^-24 would stay 1 wherever it is added."""
    x = np.full((1, 7, 7, 512), 2**-12, np.float32)
    w = np.full((7, 7, 512, HALF), 2**-12, np.float32)
    w[0, 0, 0] = 2**12
    found, names = _convolved(x, w, (1, 1), (1, 1), VALID, "native", 1)
    assert "grouped_conv" in names
    assert (found[0, 0, 0] - np.arange(HALF) > 1 + 2**-12).all()


def _check(cases: list[Any], outputs: int, target: str, name: str) -> None:
    rng = np.random.default_rng(outputs)
    for i, (image, window, strides, dilations, padding) in enumerate(cases):
        dtype = np.float64 if i == 2 and outputs == 1 else np.float32
        x = rng.integers(-4, 5, image).astype(dtype)
        w = rng.integers(-4, 5, (*window, outputs)).astype(dtype)
        found, names = _convolved(x, w, strides, dilations, padding, target, 1 + i % 2)
        attrs = {"strides": (1, *strides, 1), "dilations": (1, *dilations, 1), **padding}
        if x.ndim == 4:
            (expected,) = reference("conv2d", x, w, **(CONV | attrs))
        else:
            (expected,) = reference("conv3d", x, w, data_format="NDHWC", **attrs)
        np.testing.assert_array_equal(found, expected + np.arange(outputs, dtype=dtype))
        assert name in names


def _block(
    window: Any, result: Any, strides: Any = (1, 1), groups: int = 1, lanes: int = 16
) -> Any:
    shape = tile_shape(dtypes.f32, 32 * lanes, registers=32 if lanes == 16 else 16)
    lowering = Convolution(strides, (1, 1), ((0, 0), (0, 0)), groups)
    return planar_block(shape, lowering, window, result)


def test_pixels_of_a_row_need_not_be_known() -> None:
    for weights, result in (((3, 3, 3, 8), (1, 64, symbol("w"), 8)),
                            ((3, 3, 3, 2, 8), (1, 9, 64, symbol("w"), 8))):  # fmt: skip
        ones = (1,) * (len(weights) - 2)
        lowering = Convolution(ones, ones, ((1, 1),) * len(ones))
        shape = tile_shape(dtypes.f32, 512, registers=32, fma=True)
        assert planar_block(shape, lowering, weights, result) is not None


def test_lines_of_a_large_result_ask_for_where_it_is_written() -> None:
    shape = tile_shape(dtypes.f32, 512, registers=32, fma=True)
    for side, is_far in ((224, True), (56, False), (symbol("h"), False)):
        assert _block((3, 3, 3, 64), (1, side, 224, 64)).is_far == is_far
        operands = Operands(1, 0, 32, lines=True, fetches_result=is_far)
        text = sums_routine(shape, 6, 32, operands).code.text
        # A row of 32 elements is two lines of memory.
        assert text.count(", i32 1, i32 3, i32 1)") == (12 if is_far else 0)


def test_planes_of_a_task_stay_in_a_cache() -> None:
    for height, width in ((172, 264), (1, 22000), (4000, 4000)):
        for window in ((3, 39, 8, 8), (1, 256, 1, 1), (9, 9, 64, 3)):
            block = _block(window, (1, height, width, window[-1]))
            assert block.scratch_bytes <= MOST_BYTES
            assert block.pixels % 16 == 0
            assert 1 <= block.rows <= height


def test_sixteen_threads_share_the_first_convolution_of_resnet_50() -> None:
    for lanes in (8, 16):
        block = _block((7, 7, 3, 64), (1, 112, 112, 64), strides=(2, 2), lanes=lanes)
        assert 112 % block.rows == 0
        assert (112 // block.rows) * -(-112 // block.pixels) % 16 == 0


def test_threads_share_a_single_row() -> None:
    for window, width, lanes in (((1, 9, 64, 64), 1000, 16), ((1, 9, 64, 64), 1000, 8),
                                 ((1, 9, 16, 4), 9000, 16)):  # fmt: skip
        block = _block(window, (1, 1, width, window[-1]), lanes=lanes)
        assert -(-width // block.pixels) >= 12
    assert _block((7, 7, 3, 64), (1, 112, 64, 64), strides=(2, 2)).pixels >= 64


def test_tiles_of_lines_are_wide_where_outputs_fill_them_and_panels_are_near() -> None:
    def tile(window: Any, lanes: int = 16) -> str:
        found = _block(window, (1, 32, 224, window[-1]), lanes=lanes)
        return f"{found.tile.rows}x{found.tile.columns}"

    assert tile((3, 3, 3, 64)) == "6x64"
    assert tile((3, 3, 3, 100)) == "14x32"  # 7 vectors, of 6 x 64: 8
    assert tile((5, 5, 20, 40)) == "9x48"
    assert tile((5, 5, 20, 50)) == "14x32"  # a panel of 128 KB
    assert tile((5, 5, 20, 32)) == "14x32"
    assert tile((3, 3, 3, 64), lanes=8) == "6x16"


def test_other_convolutions_are_computed_otherwise() -> None:
    image = (1, 64, 64, 8)
    assert not _block((3, 3, 16, 8), image).line_stride
    assert _block((3, 3, 16, 8), image, lanes=8).line_stride == 16
    assert _block((3, 3, 16, 9), (1, 64, 64, 9)).line_stride == 16
    assert _block((3, 3, 16, 65), (1, 64, symbol("w"), 65)) is None  # three panels
    assert _block((3, 3, 16, 65), (1, 64, 7, 65)) is None  # whose tiles are low
    assert _block((9, 9, 64, 256), (1, 64, 64, 256)) is None  # of weights that are far
    assert _block((3, 3, 260, 16), image, strides=(2, 2)) is None
    assert _block((7, 7, 160, 48), (1, 5, 5, 48), strides=(2, 2)) is None  # of low tiles
    assert _block((1, 25, 128, 48), (1, 1, 256, 48), strides=(1, 4)).line_stride == 512
    assert _block((2, 2, 16, 16), image, strides=(2, 2)) is None
    assert _block((1, 1, 16, 16), image) is None
    assert _block((1, 1, 16, 8), image) is None
    assert (
        _block((4, 4, 8, 3), image, strides=(4, 4)) is None
    )  # runs of 32 elements, each used once
    assert _block((3, 3, 1, 2), image, strides=(3, 3)).line_stride == 3
    assert _block((3, 3, 16, 8), (1, 64, 17, 8)).tile.columns == 8  # too narrow for planes
    assert (
        _block((3, 3, 3, 700, 8), (1, 7, 7, 7, 8), strides=(1, 1, 1)) is None
    )  # of 18,900 products
    assert _block((3, 3, 16, 8), image, strides=(2, 2)).tile.columns == 8
    assert _block((3, 3, 1, 8), image, groups=8) is None
    assert _block((3, 3, 8, 64), image, groups=8).tile.columns == 8
    assert _block((3, 3, 8, 64), image, groups=4).tile.columns == 16
    assert _block((3, 3, 8, 64), image, groups=4, lanes=8).tile.rows == 6
    assert _block((3, 3, 8, 64), image, groups=8, lanes=8).tile.rows == 12
    assert _block((3, 3, 8, 256), image, groups=2) is None
    assert _block((3, 3, 3, 32), image, strides=(2, 2)).line_stride == 6
    assert _block((3, 3, 3, 32), image, strides=(3, 3)).line_stride == 9
    assert _block((1, 1, 3, 32), image) is None
