"""Dear elementwise loops compute several vectors at a time, those over columns of products two; the
others are left to LLVM."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.store import DiskCache, KernelCache
from flowc.codegen.cpu.kernel_text import kernel_text
from flowc.codegen.cpu.vector_interleave import COUNT, MARK
from flowc.codegen.kernels.kernel import Kernel
from flowc.codegen.targets import target_named
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.dims import Dim, symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable

MANY, TWO = (f'"llvm.loop.interleave.count", i32 {count}' for count in (COUNT, 2))
ROLLED = '"llvm.loop.unroll.disable"'


def sigmoid(b: Any, x: Any) -> Any:
    return b.sigmoid(x)


def negative(b: Any, x: Any) -> Any:
    return b.neg(x)


def product(b: Any, x: Any) -> Any:
    return b.mat_mul(x, b.const(np.ones((8, 64), np.float32)))


def dear_epilogue(b: Any, x: Any) -> Any:
    return b.sigmoid(product(b, x))


def cheap_epilogue(b: Any, x: Any) -> Any:
    return b.neg(product(b, x))


def compiled(emit: Callable[..., Any], *dims: Dim) -> tuple[Executable, Kernel]:
    """The program, and its kernel that loops over elements."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, dims))
    report = Report()
    c = b.build([emit(b, x)])
    names = [p.attrs["name"] for p in c.parameters]
    program = compile_computation(
        c, Options(), spec_of(c, names, ["y"]), report=report,
        kernels=KernelCache(DiskCache(None)),
    )  # fmt: skip
    kernels = report.stages.kernels.values()
    kernel = next(k for k in kernels if k.source.startswith("def kernel("))
    return Executable(program, 1), kernel


def narrow_epilogue(b: Any, x: Any) -> Any:
    """Several rows are one."""
    return b.neg(b.mat_mul(x, b.const(np.ones((8, 5), np.float32))))


def epilogue_of_the_run(b: Any, x: Any) -> Any:
    """What is added to each column is not known, and not repeated: each row is by itself."""
    row = b.parameter("row", tensor_type(dtypes.f32, (5,)))
    return b.add(b.mat_mul(x, b.const(np.ones((8, 5), np.float32))), row)


@pytest.mark.parametrize(
    ("emit", "dims", "asks"),
    [
        (sigmoid, (1000,), MANY),
        (sigmoid, (64,), MANY),
        (sigmoid, (symbol("n"),), MANY),
        (sigmoid, (100,), None),
        (negative, (1000,), None),
        (dear_epilogue, (5, 8), MANY),
        (cheap_epilogue, (5, 8), TWO),
        (narrow_epilogue, (5, 8), TWO),
        (epilogue_of_the_run, (5, 8), ROLLED),
    ],
)
def test_which_loops_ask(emit: Callable[..., Any], dims: tuple[Dim, ...], asks: str | None) -> None:
    _, kernel = compiled(emit, *dims)
    assert ("interleave()" in kernel.source) == (asks == MANY)
    text = kernel_text(kernel)
    back = re.findall(r"br label [^\n]*!llvm\.loop (!\d+)", text)
    assert len(back) == (asks is not None)
    assert asks is None or asks in text
    assert MARK not in text


def test_one_kernel_serves_any_few_columns() -> None:
    """Whose numbers the launches say."""

    def key(n: int) -> str:
        emit = lambda b, x: b.relu(b.mat_mul(x, b.const(np.ones((8, n), np.float32))))
        return compiled(emit, 50, 8)[1].key

    columns = target_named("native").host.tile_shape(dtypes.f32).columns
    assert len({key(n) for n in (3, 5, 12, 16, 24) if n <= columns}) == 1


@pytest.mark.parametrize(("name", "lanes"), [("x86-64-v2", 4), ("x86-64-v3", 8), ("x86-64-v4", 16)])
def test_vectors_in_the_loop(name: str, lanes: int) -> None:
    _, kernel = compiled(sigmoid, 4096)
    text = target_named(name).kernel_text(kernel, "llvm")
    # The rest of the loop may go by vectors of the same width.
    assert len(re.findall(rf"fdiv <{lanes} x float>", text)) in (COUNT, COUNT + 1)


def test_every_length() -> None:
    program, _ = compiled(sigmoid, symbol("n"))
    x = np.linspace(-9, 9, 300, dtype=np.float32)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    for count in range(len(x)):
        (y,) = program.run((x[:count],))
        np.testing.assert_allclose(y, exact[:count], rtol=3e-7)


def between_numbers(b: Any, x: Any) -> Any:
    return b.minimum(b.maximum(x, b.const(np.float32(-1))), b.const(np.float32(6)))


def test_numbers_are_compared_once_and_nan_stays() -> None:
    program, kernel = compiled(between_numbers, 37)
    assert "!=" not in kernel.source
    x = np.linspace(-9, 9, 37, dtype=np.float32)
    x[::5] = np.nan
    np.testing.assert_array_equal(program.run((x,))[0], np.clip(x, -1, 6))
