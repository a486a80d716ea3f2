"""What follows a product of few columns goes over several rows at once: vectors are full."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

from flowc import dtypes
from flowc.cache.disk import DiskCache
from flowc.cache.store import KernelCache
from flowc.codegen.cpu.contractions.cluster import contraction_launches, epilogue_forms
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.kernels.kernel import Kernel
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.computation import Node
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes
from flowc.run.executable import Executable

K = 6
Emit = Callable[[Any, Any, Any, Any], Any]
RANDOM = np.random.default_rng(7)


def program(emit: Emit, weights: np.ndarray, bias: np.ndarray) -> tuple[Executable, Kernel]:
    """Of x[m, K], rest[m, n] and row[n]; and the kernel of the epilogue."""
    b = Builder()
    m, n = symbol("m"), weights.shape[1]
    x = b.parameter("x", tensor_type(dtypes.f32, (m, K)))
    rest = b.parameter("rest", tensor_type(dtypes.f32, (m, n)))
    row = b.parameter("row", tensor_type(dtypes.f32, (n,)))
    product = b.mat_mul(x, b.const(weights))
    c = b.build([emit(b, b.add(product, b.const(bias)), rest, row)])
    report = Report()
    made = compile_computation(
        c, Options(), spec_of(c, ["x", "rest", "row"], ["y"]), report=report,
        kernels=KernelCache(DiskCache(None)),
    )  # fmt: skip
    kernels = report.stages.kernels.values()
    return Executable(made, 1), next(k for k in kernels if k.source.startswith("def kernel("))


def added(b: Any, biased: Any, rest: Any, _: Any) -> Any:
    return b.relu(b.add(biased, rest))


def scaled(b: Any, biased: Any, _: Any, row: Any) -> Any:
    return b.mul(biased, row)


def reversed_columns(b: Any, biased: Any, rest: Any, _: Any) -> Any:
    return b.add(biased, b.reverse(rest, b.const(np.array([1], np.int32))))


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 5, 7, 8, 12, 16, 17, 24, 31, 33, 40])
def test_every_number_of_rows(columns: int) -> None:
    weights = RANDOM.normal(size=(K, columns)).astype(np.float32)
    bias = RANDOM.normal(size=columns).astype(np.float32)
    run, _ = program(added, weights, bias)
    row = np.zeros(columns, np.float32)
    for rows in (0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 48, 99, 200):
        x = RANDOM.normal(size=(rows, K)).astype(np.float32)
        rest = RANDOM.normal(size=(rows, columns)).astype(np.float32)
        (y,) = run.run((x, rest, row))
        exact = np.maximum(x.astype(np.float64) @ weights + bias + rest, 0)
        np.testing.assert_allclose(y, exact, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("emit", "columns", "together"),
    [
        (added, 3, True),
        (added, 12, True),
        (added, 32, False),  # whole vectors
        (added, 40, False),  # several panels
        (scaled, 3, False),  # what the run alone knows cannot be repeated
        (reversed_columns, 3, False),  # which element is read depends on the column
    ],
)
def test_where_rows_go_together(emit: Emit, columns: int, together: bool) -> None:
    weights = RANDOM.normal(size=(K, columns)).astype(np.float32)
    run, kernel = program(emit, weights, np.ones(columns, np.float32))
    assert ("for row in range" in kernel.source) != together
    x, rest = RANDOM.normal(size=(9, K)), RANDOM.normal(size=(9, columns))
    row = RANDOM.normal(size=columns).astype(np.float32)
    (y,) = run.run((x.astype(np.float32), rest.astype(np.float32), row))
    biased = x @ weights + 1
    exact = {
        added: np.maximum(biased + rest, 0), scaled: biased * row,
        reversed_columns: biased + rest[:, ::-1],
    }[emit]  # fmt: skip
    np.testing.assert_allclose(y, exact, rtol=1e-4, atol=1e-4)


def test_rows_that_fill_no_vectors_together_are_side_by_side_too() -> None:
    """One loop over all of their elements, no loop over the columns of each."""
    weights = RANDOM.normal(size=(K, 3)).astype(np.float32)
    for emit in (added, lambda b, biased, rest, _: b.tanh(b.add(biased, rest))):
        _, kernel = program(emit, weights, np.ones(3, np.float32))
        assert kernel.source.count("for column in range(q") == 1


def test_layers_that_are_alike_have_their_own_constants() -> None:
    b: Any = Builder()
    y = b.parameter("x", tensor_type(dtypes.f32, (40, 6)))
    given = RANDOM.normal(size=(40, 6)).astype(np.float32)
    exact = given.astype(np.float64)
    for _ in range(3):
        weights = RANDOM.normal(size=(6, 6)).astype(np.float32)
        bias = RANDOM.normal(size=6).astype(np.float32)
        y = b.relu(b.add(b.mat_mul(y, b.const(weights)), b.const(bias)))
        exact = np.maximum(exact @ weights + bias, 0)
    c = b.build([y])
    made = compile_computation(c, Options(), spec_of(c, ["x"], ["y"]))
    (found,) = Executable(made, 1).run((given,))
    np.testing.assert_allclose(found, exact, rtol=1e-4, atol=1e-4)


def test_what_the_product_reads_may_be_read_beside_it() -> None:
    """An image of one channel that scales what a convolution makes of it: each row has its own."""
    b: Any = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (2, 9, 9, 1)))
    weights = RANDOM.normal(size=(3, 3, 1, 8)).astype(np.float32)
    made = b.conv2d(x, b.const(weights), strides=(1, 1, 1, 1), padding="SAME")
    c = b.build([b.mul(b.add(made, b.const(np.ones(8, np.float32))), x), made])
    program = compile_computation(c, Options(), spec_of(c, ["x"], ["y", "plain"]))
    given = RANDOM.normal(size=(2, 9, 9, 1)).astype(np.float32)
    y, plain = Executable(program, 1).run((given,))
    np.testing.assert_allclose(y, (plain + 1) * given, rtol=1e-5, atol=1e-5)
    assert np.abs(y).max() > 1


def test_a_layer_tells_both_forms_of_what_follows_it() -> None:
    """Libraries have that for few columns and that for many, whichever their layers have."""
    target = cpu_target("x86-64-v4")

    def cluster(columns: int) -> Node:
        b = Builder()
        x = b.parameter("x", tensor_type(dtypes.f32, (50, 40)))
        weights, bias = np.ones((40, columns), np.float32), np.ones(columns, np.float32)
        y = b.sigmoid(b.add(b.mat_mul(x, b.const(weights)), b.const(bias)))
        found = run_passes(b.build([y]), Options())
        return next(node for node in found.nodes if node.op.name == "cluster")

    nodes = [cluster(12), cluster(96)]
    launches = [contraction_launches(node, target)[0] for node in nodes]
    own = [x.epilogue.kernel.key for x in launches if x.epilogue is not None]
    assert len(set(own)) == 2
    for node in nodes:
        assert [kernel.key for kernel in epilogue_forms(node, target)] == own
