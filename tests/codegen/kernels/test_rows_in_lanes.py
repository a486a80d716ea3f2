"""Short rows that pass through several stages: their neighbours are the lanes of vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.compiler import Report, compile_computation
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

LAST = np.array([-1], np.int32)
Array = np.ndarray[Any, Any]


def compiled(
    emit: Callable[..., Any], shape: tuple[Any, ...], dtype: DType = dtypes.f32, threads: int = 1
) -> tuple[Executable, str]:
    b = Builder()
    made = emit(b, b.parameter("x", tensor_type(dtype, shape)))
    c = b.build(list(made) if isinstance(made, tuple) else [made])
    report = Report()
    spec = spec_of(c, ["x"], [f"y{i}" for i in range(len(c.results))])
    kernels, options = KernelCache(DiskCache(None)), Options(target="x86-64-v3")
    program = compile_computation(c, options, spec, report=report, kernels=kernels)
    text = "\n".join(k.source for k in report.stages.kernels.values())
    return Executable(program, threads=threads), text


def softmax(x: Array) -> Array:
    exponentials = np.exp(x.astype("f8") - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


def normalized(b: Builder, x: Any) -> Any:
    mean = b.mean(x, LAST, keep_dims=True)
    apart = b.sub(x, mean)
    variance = b.mean(b.mul(apart, apart), LAST, keep_dims=True)
    return b.mul(apart, b.rsqrt(b.add(variance, np.float32(1e-5))))


def is_in_lanes(text: str) -> bool:
    return "for i in range(n" in text and "[i*" in text and "for block in range" in text


@pytest.mark.parametrize(("rows", "has_edges"), [(32, 0), (48, 0), (40, 1), (80, 1)])
def test_few_rows_are_one_block(rows: int, has_edges: bool) -> None:
    run, text = compiled(lambda b, x: b.softmax(x), (rows, 10))
    x = np.random.default_rng(rows).standard_normal((rows, 10)).astype("f4")
    (found,) = run.run([x])
    np.testing.assert_allclose(found, softmax(x), rtol=2e-6)
    assert is_in_lanes(text) and ("past if past <" in text) == has_edges


@pytest.mark.parametrize(
    "shape", [(300, 2), (151, 3), (3, 7, 16, 4), (2, 1, 81, 7), (130, 10), (65, 17), (256, 31)]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_softmax_of_short_rows(shape: tuple[int, ...], threads: int) -> None:
    program, text = compiled(lambda b, x: b.softmax(x), shape, threads=threads)
    assert is_in_lanes(text) and "/" in text
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 5
    np.testing.assert_allclose(program.run([x])[0], softmax(x), rtol=5e-6)


@pytest.mark.parametrize("shape", [(300, 4), (130, 10), (65, 17)])
def test_softmax_of_what_takes_long(shape: tuple[int, ...]) -> None:
    """It is computed once, and kept until totals are known; these need nothing else of a row."""
    program, text = compiled(lambda b, x: b.softmax(b.div(b.tanh(x), np.float32(0.3))), shape)
    assert is_in_lanes(text) and "kept1" in text
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32) * 5
    expected = softmax(np.tanh(x.astype("f8")) / 0.3)
    np.testing.assert_allclose(program.run([x])[0], expected, rtol=2e-5)


@pytest.mark.parametrize("dtype", [dtypes.f64, dtypes.f16])
def test_softmax_of_short_rows_of_other_dtypes(dtype: DType) -> None:
    program, text = compiled(lambda b, x: b.softmax(x), (150, 9), dtype)
    assert is_in_lanes(text) == (dtype is dtypes.f64)  # results of f16 are rounded: not turned
    x = np.random.default_rng(0).standard_normal((150, 9)).astype(dtype.numpy)
    error = 1e-12 if dtype is dtypes.f64 else 3e-3  # three roundings
    np.testing.assert_allclose(program.run([x])[0], softmax(x), rtol=error)


def test_long_rows_few_rows_and_rows_folded_once_are_not() -> None:
    for emit, shape in (
        (lambda b, x: b.softmax(x), (300, 32)),
        (lambda b, x: b.softmax(x), (15, 24)),
        (lambda b, x: b.softmax(x), (symbol("n"), 10)),
        (lambda b, x: b.max(x, LAST), (300, 10)),
    ):
        assert not is_in_lanes(compiled(emit, shape)[1])


def test_no_row_sees_what_is_odd_in_others() -> None:
    program, _ = compiled(lambda b, x: b.softmax(x), (83, 5))
    x = np.random.default_rng(0).standard_normal((83, 5)).astype(np.float32)
    plain = program.run([x])[0].copy()
    x[3, 2], x[17, 0], x[80, 4], x[81, 1] = np.nan, np.inf, np.nan, -np.inf
    found = program.run([x])[0]
    assert np.isnan(found[[3, 17, 80]]).all()
    assert found[81, 1] == 0 and not np.isnan(found[81]).any()
    others = [r for r in range(83) if r not in (3, 17, 80, 81)]
    assert found[others].tobytes() == plain[others].tobytes()


def test_a_row_is_the_same_wherever_it_stands() -> None:
    """Also behind the last whole tile, and on whatever thread."""
    row = np.random.default_rng(0).standard_normal(13).astype(np.float32)
    for threads in (1, 2):
        program, _ = compiled(normalized, (1031, 13), threads=threads)
        assert len({y.tobytes() for y in program.run([np.tile(row, (1031, 1))])[0]}) == 1


def test_results_of_rows_beside_those_of_elements() -> None:
    """A part of each row, numbers beside it, and what each row gives."""

    def emit(b: Builder, x: Any) -> Any:
        part = b.slice(x, np.array([0, 2], np.int32), np.array([-1, 6], np.int32))
        power = b.exp(b.sub(part, b.max(part, LAST, keep_dims=True)))
        total = b.sum(power, LAST, keep_dims=True)
        share = b.div(power, total)
        scaled = b.mul(share, np.arange(6, dtype=np.float32))
        return share, scaled, b.greater(scaled, np.float32(0.5)), b.log(total)

    program, text = compiled(emit, (77, 9))
    assert is_in_lanes(text)
    x = np.random.default_rng(0).standard_normal((77, 9)).astype(np.float32)
    part = x[:, 2:8].astype("f8")
    share = softmax(part)
    total = np.exp(part - part.max(-1, keepdims=True)).sum(-1, keepdims=True)
    found = program.run([x])
    np.testing.assert_allclose(found[0], share, rtol=5e-6)
    np.testing.assert_allclose(found[1], share * np.arange(6), rtol=5e-6)
    assert (found[2] == (found[1] > 0.5)).all()
    np.testing.assert_allclose(found[3], np.log(total), rtol=5e-6, atol=1e-6)


def test_what_follows_from_totals_alone_is_computed_once_a_row() -> None:
    """Not in each column: a division a row."""
    _, text = compiled(lambda b, x: b.softmax(x), (64, 10))
    lines = [line.strip() for line in text.splitlines()]
    divided = next(n for n, line in enumerate(lines) if " / " in line)
    loops = [line for line in lines[:divided] if line.startswith("for")]
    assert loops[-1].startswith("for p") and not loops[-2].startswith("for i")


def test_what_the_last_stage_folds_is_a_result_beside_what_it_folds() -> None:
    """The largest share of a row, and what follows from each share."""

    def emit(b: Builder, x: Any) -> Any:
        power = b.exp(b.sub(x, b.max(x, LAST, keep_dims=True)))
        share = b.div(power, b.sum(power, LAST, keep_dims=True))
        return share, b.add(share, np.float32(1)), b.max(share, LAST)

    program, text = compiled(emit, (77, 24))
    assert is_in_lanes(text)
    x = np.random.default_rng(0).standard_normal((77, 24)).astype(np.float32)
    share, more, most = program.run([x])
    np.testing.assert_allclose(share, softmax(x), rtol=5e-6)
    assert (more == share + 1).all() and (most == share.max(-1)).all()
