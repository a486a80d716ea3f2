"""Products of few rows: their values beside f64, which they are, and what they ask of memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from compiled_source import Compiled
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.contractions.cluster import contraction_launches
from flowc.codegen.cpu.packing import pack_gemm_b
from flowc.codegen.cpu.products.few_rows import STEPS, STREAMS, few_rows_source, has_few_rows
from flowc.codegen.cpu.target import cpu_target, tuned_here
from flowc.codegen.cpu.tile_sums import CACHE_LINE
from flowc.codegen.kernels.kernel import Launch
from flowc.compiler import compile_computation
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.run.executable import Executable

SIZES = [(1, 1), (0, 5), (8, 32), (7, 31), (384, 64), (385, 65), (770, 40), (800, 97), (33, 530)]


@pytest.mark.parametrize(
    ("name", "target", "rows"),
    [
        ("f32", "x86-64-v4", 1),
        ("f32", "x86-64-v4", 6),
        ("f32", "x86-64-v3", 2),
        ("f32", "x86-64-v2", 1),
        ("f64", "x86-64-v4", 3),
        ("i32", "x86-64-v3", 1),
        ("i64", "x86-64-v4", 2),
    ],
)
def test_values(name: str, target: str, rows: int) -> None:
    """Whatever part of a pair of panels there is, and however panels are shared out."""
    dtype, rng = dtypes.as_dtype(name), np.random.default_rng(1)
    shape = cpu_target(target).tile_shape(dtype)
    kernel = Compiled(few_rows_source(shape, rows))
    for k, n in SIZES:
        a, b = (rng.integers(-9, 9, size).astype(dtype.numpy) for size in ((rows, k), (k, n)))
        for splits in (1, 3):
            c = np.full((rows, n), 77, dtype.numpy)
            kernel(
                a, pack_gemm_b(b, shape).array(), c, splits=splits, n=n, k=k, a_stride=k, c_stride=n
            )
            np.testing.assert_array_equal(c, a @ b)


def test_chains_are_short() -> None:
    """No chain has more steps than those of other products: 1s are not lost behind a 2^24."""
    shape = cpu_target("x86-64-v4").tile_shape(dtypes.f32)
    k = 3 * shape.depth
    a, b = np.ones((1, k), np.float32), np.ones((k, 1), np.float32)
    b[0] = 2.0**24  # of one chain, no 1 behind it would count
    c = np.zeros((1, 1), np.float32)
    Compiled(few_rows_source(shape, 1))(
        a, pack_gemm_b(b, shape).array(), c, n=1, k=k, a_stride=k, c_stride=1
    )
    assert c[0, 0] == 2.0**24 + 2 * shape.depth


def test_which_products_have_few_rows() -> None:
    for m, entry in [(1, "few_rows"), (6, "few_rows"), (7, "gemm"), (symbol("m") * 128, "gemm")]:
        assert _kernels(m, "x86-64-v4") == [entry]
    for m, entry in [(2, "few_rows"), (3, "gemm")]:
        assert _kernels(m, "x86-64-v3") == [entry]
    assert not has_few_rows(cpu_target("x86-64-v4").tile_shape(dtypes.f32), 0)


def test_one_row_has_a_launch_of_its_own_where_the_run_says_how_many_there_are() -> None:
    """Of weights that do not stay in near caches; both read one copy of them."""
    assert _kernels(symbol("m"), "x86-64-v4") == ["few_rows", "gemm"]
    assert _kernels(symbol("m"), "x86-64-v4", inner=128) == ["gemm"]
    rng, b = np.random.default_rng(2), Builder()
    weights, bias = (rng.integers(-9, 9, s).astype(np.float32) for s in ((768, 300), (300,)))
    x = b.parameter("x", tensor_type(dtypes.f32, (symbol("m"), 768)))
    c = b.build([b.relu(b.add(b.mat_mul(x, weights), bias))])
    program = compile_computation(c, Options(target="x86-64-v3"), spec_of(c, ["x"], ["y"]))
    run = Executable(program, 1).run
    assert program.metadata.weights_bytes < 1.3 * weights.nbytes
    for rows in (1, 0, 2, 9, 1):
        fed = rng.integers(-9, 9, (rows, 768)).astype(np.float32)
        np.testing.assert_array_equal(run([fed])[0], np.maximum(fed @ weights + bias, 0))


def test_both_panels_are_fetched_ahead() -> None:
    """Each line once: in the loops over two panels and over one, which do `STEPS` steps an
    iteration, and in those over the steps that are left."""
    target = cpu_target("x86-64-v4")
    step = target.tile_shape(dtypes.f32).columns * dtypes.f32.size
    (launch,) = _launches(1, "x86-64-v4")
    text = target.kernel_text(launch.kernel, "asm")
    lines = (STREAMS + 1) * (STEPS + 1) * (step // CACHE_LINE)
    assert (text.count("prefetcht0"), text.count("prefetcht1")) == (lines, 0)


def test_nothing_is_fetched_where_the_processor_looks_ahead() -> None:
    target = replace(cpu_target("x86-64-v4"), prefetches=False)
    (launch,) = _launches(1, "x86-64-v4", prefetches=False)
    assert "prefetch" not in target.kernel_text(launch.kernel, "asm")
    # Programs of both kinds may be linked into one.
    assert launch.kernel.key != _launches(1, "x86-64-v4")[0].kernel.key


def test_convolutions_of_few_pixels_are_such_products() -> None:
    for pixels, columns, entry in [(1, 300, "few_rows"), (6, 300, "few_rows"), (1, 8, "conv")]:
        b = Builder()
        x = b.parameter("x", tensor_type(dtypes.f32, (1, pixels, 1, 96)))
        weights = b.const(np.ones((1, 1, 96, columns), np.float32))
        y = b.conv2d(x, weights, strides=[1, 1, 1, 1], padding="VALID")
        assert [k.kernel.entry for k in _launches_of(b, y, "x86-64-v4")] == [entry]


def _kernels(m: Dim, target: str, inner: int = 768) -> list[str]:
    return [launch.kernel.entry for launch in _launches(m, target, inner)]


def _launches(m: Dim, target: str, inner: int = 768, **settings: bool) -> tuple[Launch, ...]:
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (m, inner)))
    y = b.mat_mul(x, b.const(np.ones((inner, 300), np.float32)))
    return _launches_of(b, y, target, **settings)


def _launches_of(b: Builder, y: Value, target: str, **settings: bool) -> tuple[Launch, ...]:
    cluster = run_passes(b.build([y]), Options())
    node = next(node for node in cluster.nodes if node.op.name == "cluster")
    return contraction_launches(node, replace(cpu_target(target), **settings))


@pytest.mark.parametrize(("cpu", "asks"), [("znver4", False), ("skylake", True)])
def test_what_runs_here_is_tuned_for_this_processor(
    cpu: str, asks: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What travels is not: its target is the level."""
    host = replace(cpu_target("native").processor, cpu=cpu, features="+avx2,+fma")
    monkeypatch.setattr("flowc.codegen.cpu.target.host_processor", lambda: host)
    level = cpu_target("x86-64-v3")
    here = tuned_here(level)
    assert here.tile_shape(dtypes.f32).prefetches == asks
    assert (here.key == level.key) == asks
    assert (here.vector_bits, here.processor.cpu) == (256, "x86-64-v3")
    assert tuned_here(cpu_target("native")) == cpu_target("native")
