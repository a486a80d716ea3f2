"""Loops over rows: how many rows go through a stage together, how rows are numbered, and how many
vectors of a row are computed at a time."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

LAST = np.array([-1], np.int32)
Array = np.ndarray[Any, Any]


def compiled(
    emit: Callable[..., Any], shape: tuple[Any, ...], target: str = "x86-64-v3"
) -> tuple[Executable, str]:
    b = Builder()
    c = b.build([emit(b, b.parameter("x", tensor_type(dtypes.f32, shape)))])
    report = Report()
    kernels = KernelCache(DiskCache(None))
    spec = spec_of(c, ["x"], ["y"])
    program = compile_computation(c, Options(target=target), spec, report=report, kernels=kernels)
    return Executable(program), "\n".join(k.source for k in report.stages.kernels.values())


def softmax(x: Array) -> Array:
    exponentials = np.exp(x.astype("f8") - x.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("rows", "size", "together"),
    [(37, 128, 4), (5, 768, 2), (9, 2048, 1), (2, 100, 1)],  # the last is small: made for any sizes
)
def test_short_rows_go_through_a_stage_together(rows: int, size: int, together: int) -> None:
    program, source = compiled(lambda b, x: b.softmax(x), (rows, size))
    stages = source.count("for p in range(first, past)")
    assert stages == (3 if together > 1 else 0)
    assert (f"for first in range(begin, end, {together})" in source) == (together > 1)
    x = np.random.default_rng(0).standard_normal((rows, size)).astype(np.float32) * 5
    np.testing.assert_allclose(program.run([x])[0], softmax(x), rtol=5e-6)


def test_a_row_is_the_same_wherever_it_stands() -> None:
    program, _ = compiled(lambda b, x: b.softmax(x), (11, 96))
    row = np.random.default_rng(0).standard_normal(96).astype(np.float32)
    found = program.run([np.tile(row, (11, 1))])[0]
    assert len({y.tobytes() for y in found}) == 1


def test_what_is_kept_of_rows_together_stays_apart() -> None:
    """Two results of one row: where one waits for its sum in scratch memory."""

    def emit(b: Builder, x: Any) -> Any:
        wave, power = b.sin(x), b.exp(x)
        total = b.sum(b.mul(wave, power), LAST, keep_dims=True)
        return b.add(b.mul(wave, total), power)

    program, source = compiled(emit, (13, 70))
    assert "kept1[" in source and "for p in range(first, past)" in source
    x = np.random.default_rng(0).standard_normal((13, 70)).astype(np.float32)
    wide = x.astype("f8")
    wave, power = np.sin(wide), np.exp(wide)
    expected = wave * (wave * power).sum(-1, keepdims=True) + power
    np.testing.assert_allclose(program.run([x])[0], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("shape", [(3, 5, 200), (symbol("n"), 5, 200)])
def test_rows_that_follow_each_other_are_not_found_by_division(shape: tuple[Any, ...]) -> None:
    program, source = compiled(lambda b, x: b.sum(x, LAST), shape)
    assert "idiv" not in source
    x = np.arange(3000, dtype=np.float32).reshape(3, 5, 200)
    np.testing.assert_allclose(program.run([x])[0], x.sum(-1), rtol=1e-6)


def test_rows_that_are_turned_are() -> None:
    program, source = compiled(
        lambda b, x: b.sum(b.transpose(x, np.array([1, 0, 2], np.int32)), LAST), (3, 5, 200)
    )
    assert "idiv" in source
    x = np.arange(3000, dtype=np.float32).reshape(3, 5, 200)
    np.testing.assert_allclose(program.run([x])[0], x.sum(-1).T, rtol=1e-6)


@pytest.mark.parametrize(
    ("size", "mark"), [(128, None), (96, "two"), (80, "one"), (100, "two"), (1000, None)]
)
def test_no_vector_of_a_row_is_left_over(size: int, mark: str | None) -> None:
    """Of vectors of 16 elements."""
    _, source = compiled(lambda b, x: b.sum(x, LAST), (40, size), "x86-64-v4")
    assert re.findall(r"interleave_(\w+)\(\)", source) == ([] if mark is None else [mark])
    vectors = {128: 64, 96: 32, 80: 16}
    if size in vectors:
        assert re.search(
            rf"for i in range\(n\d+\*{vectors[size]}\):|for i in range\({vectors[size]}\*n\d+\):",
            source,
        )
