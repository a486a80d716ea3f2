"""Winograd convolutions against sums in f64: how large their error is, and where they are used."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from calls.op_calls import reference
from compiled_ir import plain_spec
from compiled_source import Compiled
from contraction_kernels import WIDTHS, shape_for
from numpy.lib.stride_tricks import sliding_window_view
from tensor_types import tensor_type

import flowc
import flowc_runtime
from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.cli.entry import run_command_line
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.cpu.winograd.run_weights import transform_source, transformed_elements
from flowc.codegen.cpu.winograd.source import WinogradSpec, pack_winograd_weights, winograd_source
from flowc.codegen.cpu.winograd.transforms import Winograd, WinogradAxis
from flowc.codegen.program import launches_of
from flowc.codegen.targets import target_named
from flowc.compiler import Report, compile_computation, load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import Dim, symbol
from flowc.ir.op import op_named
from flowc.options import Options
from flowc.run.executable import Executable

SAME = ((1, 1), (1, 1))
MOST_CHANNELS = 416
SECTIONS = {(1, 11): (1, 7), (7, 7): (1, 7), (3, 5): (3, 3), (7, 6): (4, 4)}  # of these windows
ONE_SLICE = dict.fromkeys(("in_d", "out_d", "kernel_d", "stride_d", "dilation_d"), 1) | {"pad_d": 0}
# Windows, outputs of a tile, and its error at most, of the largest element of the result; the
# stride; the dilations.
TILES = [
    ((3, 3), (2, 2), 2e-6, 1, (1, 1)),
    ((3, 3), (4, 4), 8e-6, 1, (1, 1)),
    ((3, 3), (3, 3), 8e-6, 1, (1, 1)),
    ((3, 3), (2, 2), 2e-6, 2, (1, 1)),
    ((3, 3), (4, 4), 8e-6, 1, (2, 3)),
    ((2, 2), (3, 3), 2e-6, 1, (1, 1)),
    ((4, 4), (3, 3), 8e-6, 1, (1, 1)),
    ((4, 4), (3, 3), 2e-6, 2, (1, 1)),
    ((5, 5), (2, 2), 4e-6, 2, (1, 1)),
    ((5, 5), (2, 2), 8e-6, 1, (1, 1)),
    ((1, 7), (1, 4), 8e-6, 1, (1, 1)),
    ((7, 1), (2, 1), 4e-6, 1, (1, 1)),
    ((1, 3), (1, 4), 4e-6, 1, (1, 12)),
    ((5, 1), (2, 1), 4e-6, 1, (1, 1)),
    ((3, 1), (2, 1), 2e-6, 1, (2, 1)),
    ((1, 11), (1, 4), 8e-6, 1, (1, 1)),
    ((1, 11), (1, 4), 8e-6, 1, (1, 3)),
    ((7, 7), (1, 4), 8e-6, 1, (1, 1)),
    ((3, 5), (2, 2), 4e-6, 1, (2, 1)),
    ((7, 6), (3, 3), 4e-6, 2, (1, 1)),
]


@lru_cache(maxsize=16)
def kernel(spec: WinogradSpec) -> Compiled:
    return Compiled(winograd_source(spec, spec.sections_in_all * MOST_CHANNELS))


Pads = tuple[tuple[int, int], tuple[int, int]]


def expected(
    x: np.ndarray,
    w: np.ndarray,
    pads: Pads,
    stride: int = 1,
    dilations: tuple[int, int] = (1, 1),
) -> np.ndarray:
    padded = np.pad(x.astype(np.float64), [(0, 0), *pads, (0, 0)])
    seen = [(taps - 1) * apart + 1 for taps, apart in zip(w.shape, dilations)]
    windows = sliding_window_view(padded, seen, (1, 2))[:, ::stride, ::stride]
    windows = windows[..., :: dilations[0], :: dilations[1]]
    return np.einsum("bhwcij,ijcn->bhwn", windows, w.astype(np.float64), optimize=True)


def layer(*sizes: int, window: tuple[int, int] = (3, 3)) -> tuple[np.ndarray, np.ndarray]:
    """An input without negative elements, as behind ReLU, and weights of its size."""
    batch, height, width, channels, n = sizes
    draw = np.random.default_rng(sizes)
    x = np.maximum(draw.standard_normal((batch, height, width, channels)), 0)
    spread = np.sqrt(2 / (window[0] * window[1] * channels))
    w = draw.standard_normal((*window, channels, n)) * spread
    return x.astype(np.float32), w.astype(np.float32)


# batch, height, width, channels, n; zeros around the input: edges of tiles, of blocks of tiles, of
# channels and of columns; nothing to pad, more zeros than a window sees.
LAYERS: list[tuple[tuple[int, int, int, int, int], Pads]] = [
    ((1, 5, 6, 16, 16), SAME),
    ((2, 9, 4, 32, 48), ((0, 0), (0, 0))),
    ((3, 1, 3, 16, 80), ((1, 1), (2, 0))),
    ((1, 23, 22, 16, 32), ((0, 2), (3, 3))),
    ((1, 6, 5, MOST_CHANNELS, 16), SAME),
    ((0, 4, 4, 16, 16), SAME),
]


@pytest.mark.parametrize(
    ("window", "outputs", "error", "stride", "dilations", "bits"),
    [(*tile, bits) for tile in TILES for bits in (WIDTHS if tile in TILES[:3] else [512])],
)
def test_results_in_any_pieces(
    window: tuple[int, int],
    outputs: tuple[int, int],
    error: float,
    stride: int,
    dilations: tuple[int, int],
    bits: int,
) -> None:
    section = SECTIONS.get(window, window)
    axes = [WinogradAxis(*sizes, stride) for sizes in zip(outputs, section)]
    sections = (-(-window[0] // section[0]), -(-window[1] // section[1]))
    spec = WinogradSpec(shape_for(dtypes.f32, bits), Winograd(*axes), sections)
    for sizes, around in LAYERS:
        batch, height, width, channels, n = sizes
        # As many more zeros as the window is longer, so that there are outputs.
        more_h, more_w = (max(0, (taps - 1) * apart - 2) for taps, apart in zip(window, dilations))
        pads = ((around[0][0] + more_h, around[0][1]), (around[1][0], around[1][1] + more_w))
        x, w = layer(*sizes, window=window)
        right = expected(x, w, pads, stride, dilations)
        found = []
        for splits, parts in ((1, 1), (3, 1), (7, 3)):
            y = np.full(right.shape, 77, np.float32)
            kernel(spec)(
                x,
                pack_winograd_weights(w, spec).array(),
                y,
                splits=splits,
                batch=batch,
                in_h=height,
                in_w=width,
                out_h=right.shape[1],
                out_w=right.shape[2],
                pad_h=pads[0][0],
                pad_w=pads[1][0],
                **ONE_SLICE,
                dilation_h=dilations[0],
                dilation_w=dilations[1],
                channels=channels,
                n=n,
                parts=parts,
                x_stride=channels,
                c_stride=n,
            )
            found.append(y)
        largest = np.abs(right).max(initial=0)
        np.testing.assert_allclose(found[0], right, rtol=0, atol=error * largest)
        assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()


def test_the_taps_of_the_depth_of_a_volume_are_more_channels() -> None:
    """Two blocks of channels, the border of which is within a tap; slices beside the volume."""
    rng, kernels = np.random.default_rng(3), KernelCache(DiskCache(None))
    for sizes, depth, step, dilation, n in (
        ((2, 5, 7, 9, 16), 3, 1, 2, 32),
        ((1, 6, 4, 5, 144), 3, 2, 1, 16),
    ):
        x = rng.standard_normal(sizes).astype(np.float32)
        w = (rng.standard_normal((depth, 3, 3, sizes[-1], n)) / 20).astype(np.float32)
        b = Builder()
        given = b.parameter("x", tensor_type(dtypes.f32, x.shape))
        attrs = {"strides": (1, step, 1, 1, 1), "dilations": (1, dilation, 1, 1, 1)}
        c = b.build([b.conv3d(given, b.const(w), padding="SAME", **attrs)])
        report, spec = Report(), plain_spec(c)
        program = compile_computation(c, Options(), spec, report=report, kernels=kernels)
        assert [k.entry for k in report.stages.kernels.values()] == ["winograd"]
        (y,) = Executable(program, 2).run([x])
        (right,) = reference(
            "conv3d", x.astype(np.float64), w.astype(np.float64), padding="SAME", **attrs
        )
        np.testing.assert_allclose(y, right, rtol=0, atol=8e-6 * np.abs(right).max())


def test_channels_that_fill_half_vectors() -> None:
    """44 channels are eleven half vectors of AVX2, 40 are five of AVX-512."""
    n = 40 if cpu_target("native").vector_bits == 512 else 44
    x, w = layer(2, 20, 16, n, n)
    b = Builder()
    given = b.parameter("x", tensor_type(dtypes.f32, x.shape))
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    c = b.build([b.relu(b.conv2d(given, b.const(w), **attrs))])
    report, spec = Report(), plain_spec(c)
    program = compile_computation(c, Options(), spec, report=report)
    assert "winograd" in {k.entry for k in report.stages.kernels.values()}
    (y,) = Executable(program, 2).run([x])
    right = np.maximum(expected(x, w, SAME), 0)
    np.testing.assert_allclose(y, right, rtol=0, atol=8e-6 * right.max())


@pytest.mark.parametrize("bits", WIDTHS)
def test_weights_of_the_run_become_those_that_are_known(bits: int) -> None:
    """For windows of all sizes, with columns that fill no panel, and channels of a depth."""
    for (window, outputs, _, stride, _), sizes in zip(
        (tile for tile in TILES if tile[0] not in SECTIONS),
        [(1, 7, 48), (3, 5, 16), (2, 3, 80)] * 9,
    ):
        axes = [WinogradAxis(*pair, stride) for pair in zip(outputs, window)]
        spec, (depth, channels, n) = (
            WinogradSpec(shape_for(dtypes.f32, bits), Winograd(*axes)),
            sizes,
        )
        draw = np.random.default_rng(n)
        w = draw.standard_normal((depth, *window, channels, n)).astype(np.float32)
        right = pack_winograd_weights(w, spec).array()
        assert right.size == transformed_elements(spec, depth * channels, n)
        transform = Compiled(transform_source(spec))
        for splits in (1, 3):
            found = np.full_like(right, 77)
            transform(w, found, splits=splits, kernel_d=depth, channels=channels, n=n)
            np.testing.assert_allclose(found, right, rtol=0, atol=4e-7 * np.abs(right).max())


def test_a_layer_whose_weights_the_run_knows_and_its_gradients() -> None:
    """The layer and the gradient of its input have tiles, unless results are to be exact."""
    x, w = layer(16, 16, 16, 32, 48)
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    dy = np.random.default_rng(5).standard_normal((16, 16, 16, 48)).astype(np.float32)
    sizes = np.array(x.shape, np.int32)
    b = Builder()
    given = [b.parameter(n, tensor_type(dtypes.f32, v.shape)) for n, v in zip("xwd", (x, w, dy))]
    back = b.conv2d_backprop_input(b.const(sizes), given[1], given[2], **attrs)
    c = b.build([b.conv2d(given[0], given[1], **attrs), back])
    report = Report()
    program = compile_computation(c, Options(), plain_spec(c), report=report)
    names = [k.entry for k in report.stages.kernels.values()]
    assert {"winograd", "transform_weights"} <= set(names) and "conv" not in names
    exact = Report()
    compile_computation(c, Options(exact=True), plain_spec(c), report=exact)
    assert "winograd" not in {k.entry for k in exact.stages.kernels.values()}
    found = Executable(program, 2).run([x, w, dy])
    wide = w.astype(np.float64)
    (dx,) = reference("conv2d_backprop_input", sizes, wide, dy.astype(np.float64), **attrs)
    for one, right in zip(found, (expected(x, w, SAME), dx)):
        np.testing.assert_allclose(one, right, rtol=0, atol=8e-6 * np.abs(right).max())


@pytest.mark.parametrize(("taps", "channels"), [(3, 72), (4, 16), (5, 32)])
def test_phases_of_transposed_convolutions(taps: int, channels: int) -> None:
    """Of 3 x 3 taps in steps of two, 2 x 2 see a pixel, some of them zeros; weights stay known."""
    rng, sizes = np.random.default_rng(taps), np.array([1, 30, 36, channels], np.int32)
    dy = rng.standard_normal((1, 15, 18, 64)).astype(np.float32)
    w = (rng.standard_normal((taps, taps, channels, 64)) / 20).astype(np.float32)
    attrs = {"strides": (1, 2, 2, 1), "padding": "SAME"}
    b = Builder()
    given = b.parameter("dy", tensor_type(dtypes.f32, dy.shape))
    c = b.build([b.conv2d_backprop_input(b.const(sizes), b.const(w), given, **attrs)])
    report = Report()
    program = compile_computation(c, Options(), plain_spec(c), report=report)
    assert {k.entry for k in report.stages.kernels.values()} == {"winograd", "kernel"}
    exact = Report()
    compile_computation(c, Options(exact=True), plain_spec(c), report=exact)
    assert "winograd" not in {k.entry for k in exact.stages.kernels.values()}
    (dx,) = Executable(program, 1).run([dy])
    (right,) = reference("conv2d_backprop_input", sizes, w.astype(float), dy.astype(float), **attrs)
    np.testing.assert_allclose(dx, right, rtol=0, atol=8e-6 * np.abs(right).max())


def test_matrices_make_convolutions_of_polynomials() -> None:
    """Weights transformed, times an input transformed, is the sum of products for each output, in
    whole numbers that f64 holds exactly."""
    for window, outputs in ((2, 2), (3, 2), (3, 4), (5, 2), (7, 2), (7, 4), (1, 1)):
        axis = WinogradAxis(outputs, window)
        d, g = np.arange(1.0, axis.side + 1) ** 2, np.array([3.0, -5, 7, 2, -1, 4, 6])[:window]
        rows = [[float(c) for c in row] for row in axis.input_rows]
        values = [sum(c * x for c, x in zip(row, d)) for row in rows]
        products = axis.weight_matrix @ g * values
        powers = [[float(a**i) for a in axis.points] for i in range(outputs)]
        found = [np.dot(row, products[:-1]) for row in powers]
        found[-1] += products[-1]
        np.testing.assert_allclose(found, np.correlate(d, g, "valid"), rtol=1e-12)


def test_a_strided_axis_is_the_sum_of_others() -> None:
    axis = WinogradAxis(3, 3, 2)
    assert axis.phases == (WinogradAxis(3, 2), WinogradAxis(3, 1))
    assert axis.side == sum(phase.side for phase in axis.phases) == 7
    assert [list(row) for row in axis.weight_matrix] == [
        [-1, 0, 0],
        [0.5, 0, 0.5],
        [0.5, 0, -0.5],
        [0, 0, 1],
        [0, 1, 0],
        [0, 1, 0],
        [0, 1, 0],
    ]


def network(batch: Dim = 1, side: Dim = 28) -> Computation:
    """ReLU of a convolution, to which a residual is added."""
    x, w = layer(1, 28, 28, 64, 64)
    b = Builder()
    given = b.parameter("x", tensor_type(dtypes.f32, (batch, side, side, x.shape[-1])))
    attrs = {"strides": (1, 1, 1, 1), "padding": "SAME"}
    y = b.emit(op_named("conv2d"), [given, b.const(w)], attrs).output
    y = b.emit(op_named("add"), [y, given], {}).output
    return b.build([b.emit(op_named("relu"), [y], {}).output])


def test_a_cluster_is_one_kernel_that_shares_tasks() -> None:
    """28 x 28 pixels are 49 tiles: two blocks of four parts of them, and two of columns; or 28 rows
    of lines."""
    report = Report()
    c = network()
    compile_computation(c, Options(), plain_spec(c), report=report)
    assert report.fused is not None
    for exact, entry, tasks in ((False, "winograd", 4 * 4), (True, "line_conv", 28)):
        found = launches_of(report.fused, target_named("x86-64-v4", exact))
        ((launch,),) = found.values()
        assert launch.kernel.entry == entry
        assert launch.total == tasks
        assert launch.epilogue is not None
        if not exact:
            assert launch.scratch == 4 * (64 + 32 + 36 * (28 * 32 + 16 + 28 * 400) + 14 * 400)


@pytest.mark.parametrize("batch", [1, symbol("batch")])
def test_a_network_is_as_near_as_its_error_says(batch: Dim) -> None:
    c = network(batch)
    x, w = layer(3 if batch != 1 else 1, 28, 28, 64, 64)
    w = layer(1, 28, 28, 64, 64)[1]
    right = np.maximum(expected(x, w, SAME) + x, 0)
    found = {}
    for exact in (False, True):
        run = load_executable(c, Options(exact=exact), plain_spec(c), threads=2).run
        (found[exact],) = run([x])
        np.testing.assert_allclose(found[exact], right, rtol=0, atol=8e-6 * right.max())
    assert found[False].tobytes() != found[True].tobytes()


def test_images_of_any_size() -> None:
    """One program has both algorithms. What is not finite shows which one ran: tiles spread it
    over all of their pixels."""
    report = Report()
    c = network(symbol("batch"), symbol("side"))
    compile_computation(c, Options(), plain_spec(c), report=report)
    assert report.fused is not None
    (launches,) = launches_of(report.fused, target_named("x86-64-v4")).values()
    assert [x.kernel.entry for x in launches] == ["conv", "winograd"]
    run = {t: load_executable(c, Options(), plain_spec(c), threads=t).run for t in (1, 2)}
    w = layer(1, 28, 28, 64, 64)[1]
    for batch, side, in_tiles in (
        (1, 1, False), (1, 10, False), (1, 11, True), (3, 6, False), (3, 7, True), (2, 37, True),
        (0, 9, False), (1, 28, True),
    ):  # fmt: skip
        x = layer(batch, side, side, 64, 64)[0] if batch else np.zeros((0, side, side, 64), "f4")
        right = np.maximum(expected(x, w, SAME) + x, 0) if batch else x
        found = [run[threads]([x])[0] for threads in (1, 2)]
        assert found[0].tobytes() == found[1].tobytes()
        np.testing.assert_allclose(found[0], right, rtol=0, atol=8e-6 * right.max(initial=1))
        if batch and side > 4:
            x[0, 0, 0, 5] = np.inf
            (y,) = run[1]([x])
            assert np.isfinite(y[0, 3, 3]).all() == (not in_tiles)


def test_what_is_not_finite_spreads_over_its_tile_and_no_further() -> None:
    """Directly, it reaches what windows see of it; so it does with tiles, and the rest of those."""
    c = network()
    x, _ = layer(1, 28, 28, 64, 64)
    x[0, 6, 6, 5] = np.inf
    for exact, rows in ((True, range(5, 8)), (False, range(4, 8))):
        run = load_executable(c, Options(exact=exact), plain_spec(c), threads=1).run
        (y,) = run([x])
        lost = ~np.isfinite(y[0]).all(-1)
        assert [i for i in range(28) if lost[i].any()] == list(rows)
        assert [j for j in range(28) if lost[:, j].any()] == list(rows)


def test_exact_programs_from_sessions_and_the_command(tmp_path: Path) -> None:
    """The three ways to ask for it give the same bits, which are not those of the default."""
    x, w = layer(1, 28, 28, 64, 64)
    graph = flowc.Graph()
    with graph.as_default():
        given = flowc.placeholder(flowc.float32, x.shape, name="x")
        flowc.nn.conv2d(given, w, strides=[1, 1, 1, 1], padding="SAME", name="y")
    model = tmp_path / "model.pb"
    model.write_bytes(graph.as_graph_def().SerializeToString())
    results = []
    for exact in (False, True):
        with flowc.Session(graph=graph, exact=exact) as session:
            results.append(session.run("y:0", {"x:0": x}))
    flags = ["--fetch", "y:0", "-q", "--exact"]
    assert run_command_line(["compile", str(model), "-o", str(tmp_path / "m.so"), *flags]) == 0
    library = flowc_runtime.load(tmp_path / "m.so")
    program = flowc.compile(graph, fetches=["y:0"], exact=True)
    for model_of in (library, program):
        assert np.asarray(model_of(x=x)).tobytes() == results[1].tobytes()
    assert results[0].tobytes() != results[1].tobytes()


def test_the_matrix_of_an_axis_is_computed_once() -> None:
    matrix = WinogradAxis(4, 3).weight_matrix
    assert WinogradAxis(4, 3).weight_matrix is matrix and not matrix.flags.writeable
