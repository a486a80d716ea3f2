"""Products of matrices side by side: the copy of them is gone where that saves a kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ir_reference import reference_results
from tensor_types import tensor_type

from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim, symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.pipeline import run_passes

N = symbol("n")
TURN = np.array([1, 0], np.int32)
Write = Callable[[Builder, Value, Value], Value | list[Value]]


def weights(*dims: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=dims).astype(np.float32)


def beside(b: Builder, *values: Value) -> Value:
    return b.concat(*values, np.int32(1))


def both_outputs(b: Builder, x: Value, y: Value) -> list[Value]:
    joined = beside(b, x, y)
    return [b.relu(b.mat_mul(joined, weights(400, 40))), b.mat_mul(joined, weights(400, 3))]


CASES: dict[str, tuple[Write, int]] = {
    "product": (lambda b, x, y: b.mat_mul(beside(b, x, y), weights(400, 40)), 1),
    "epilogue": (
        lambda b, x, y: b.tanh(b.add(b.mat_mul(beside(b, x, y), weights(400, 40)), weights(40))),
        1,
    ),
    "transposed weights": (
        lambda b, x, y: b.mat_mul(beside(b, y, x, y), weights(50, 500), transpose_b=True),
        1,
    ),
    "computed weights": (
        lambda b, x, y: b.mat_mul(
            beside(b, x, y), b.mat_mul(weights(400, 300), b.transpose(x, TURN))
        ),
        2,
    ),
    "two readers": (both_outputs, 2),
    "a piece computed for it": (
        lambda b, x, y: b.mat_mul(beside(b, x, b.exp(y)), weights(400, 40)),
        2,
    ),
}
# What computes pieces as it copies them, or copies for others too, is one kernel as it was.
KEPT: dict[str, Write] = {
    "pieces computed": lambda b, x, y: b.mat_mul(beside(b, b.exp(x), b.exp(y)), weights(400, 40)),
    "another reader": lambda b, x, y: [
        b.mat_mul(beside(b, x, y), weights(400, 40)),
        b.exp(beside(b, x, y)),
    ],
    "left transposed": lambda b, x, y: b.mat_mul(
        b.concat(b.transpose(x, TURN), b.transpose(y, TURN), np.int32(0)),
        weights(400, 9),
        transpose_a=True,
    ),
}


def compiled(write: Write, rows: Dim) -> tuple[Computation, Computation]:
    b = Builder()
    x, y = (b.parameter(n, tensor_type("f32", (rows, w))) for n, w in (("x", 300), ("y", 100)))
    found = write(b, x, y)
    c = b.build([found] if isinstance(found, Value) else found)
    return c, run_passes(c, Options())


def ops_of(c: Computation) -> list[list[str]]:
    bodies = (n.attrs["body"].nodes for n in c.nodes if n.op.name == "cluster")
    return [[n.label for n in nodes] for nodes in bodies]


def check(c: Computation, rows: int) -> None:
    random = np.random.default_rng(0)
    inputs = [random.normal(size=(rows, w)).astype(np.float32) for w in (300, 100)]
    names = ["x", "y"], [f"out{i}" for i in range(len(c.results))]
    results = load_executable(c, Options(), spec_of(c, *names), threads=2).run(inputs)
    for found, expected in zip(results, reference_results(c, inputs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("rows", [32, 5, N], ids=["32", "5", "n"])
@pytest.mark.parametrize("name", CASES)
def test_pieces_are_multiplied_where_they_are(name: str, rows: Dim) -> None:
    write, kernels = CASES[name]
    c, final = compiled(write, rows)
    found = ops_of(final)
    assert len(found) == kernels, found
    assert not any("concat" in ops for ops in found)
    assert any("joined_mat_mul" in ops for ops in found)
    check(c, 37 if rows is N else int(rows))


@pytest.mark.parametrize("name", KEPT)
def test_what_is_left_alone(name: str) -> None:
    c, final = compiled(KEPT[name], 32)
    assert not any("joined_mat_mul" in ops for ops in ops_of(final))
    check(c, 32)
