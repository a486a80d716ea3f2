"""Kernels that differ in literals alone: the first has its own, the others share one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tensor_types import tensor_type

import flowc as tf
from flowc import dtypes
from flowc.cache.store import KernelCache
from flowc.codegen.kernels.check import check_nest
from flowc.codegen.kernels.kernel import Kernel, Launch
from flowc.codegen.kernels.sharing.launch_literals import SharedLiterals
from flowc.codegen.kernels.text import nest_text, parse_nest
from flowc.codegen.program import launches_of
from flowc.codegen.target import Target
from flowc.codegen.targets import target_named
from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.options import Options
from flowc.passes.pipeline import run_passes

FLOATS = (dtypes.f32, dtypes.f64, dtypes.f16, dtypes.bf16)
# One op for each place in which a kernel may have a literal.
OPS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, c: x + c,
    "sub": lambda x, c: c - x,
    "mul": lambda x, c: x * c,
    "div": lambda x, c: x / c,
    "reciprocal": lambda x, c: c / x,
    "max": lambda x, c: tf.maximum(x, c),
    "min": lambda x, c: tf.minimum(x, c),
    "less": lambda x, c: tf.cast(x < c, x.dtype),
    "equal": lambda x, c: tf.cast(tf.equal(x, c), x.dtype),
    "where": lambda x, c: tf.where_v2(x > 0, x, c),
    "pow": lambda x, c: tf.pow(x, c),
}


def number(value: float, dtype: DType) -> np.ndarray:
    return np.array(value).astype(dtype.numpy)


Pairs = list[tuple[float, float]]
ALL_DIFFERENT: Pairs = [(0.3 + 0.02 * i, 0.31 + 0.02 * i) for i in range(12)]


def clusters(pairs: Pairs, dtype: DType = dtypes.f32) -> Computation:
    """One cluster for each pair of a scale and a shift."""
    b = Builder()
    inputs = [b.parameter(f"x{i}", tensor_type(dtype, (64, 32))) for i in range(len(pairs))]
    scaled = [b.mul(b.tanh(x), number(scale, dtype)) for x, (scale, _) in zip(inputs, pairs)]
    return b.build([b.add(y, number(shift, dtype)) for y, (_, shift) in zip(scaled, pairs)])


def launched(c: Computation, target: str = "x86-64-v3") -> list[Launch]:
    fused = run_passes(c, Options(target=target))
    found = launches_of(fused, target_named(target))
    return [x for node in fused.nodes for x in found.get(node, ())]


def test_kernels_that_differ_in_literals_are_two() -> None:
    first, *others = launched(clusters(ALL_DIFFERENT))
    assert first.kernel.ints == len(first.ints) == 0
    (key,) = {x.kernel.key for x in others}
    assert key != first.kernel.key
    bits = np.array(ALL_DIFFERENT[1:], np.float32).view(np.int32)
    assert [list(x.ints) for x in others] == bits.tolist()


def test_what_follows_products_shares_kernels() -> None:
    b = Builder()
    y = b.parameter("x", tensor_type(dtypes.f32, (64, 32)))
    for slope in (0.1, 0.2, 0.3, 0.4):
        y = b.leaky_relu(b.mat_mul(y, b.const(np.eye(32, dtype=np.float32))), alpha=slope)
    after = [x.epilogue for x in launched(b.build([y])) if x.epilogue is not None]
    assert len({x.kernel.key for x in after}) == 2
    assert len({x.ints for x in after[1:]}) == 3


def test_which_literals_are_equal_makes_no_other_kernel() -> None:
    found = launched(clusters([(0.3, 0.3), (0.4, 0.5), (0.6, 0.6), (0.4, 0.3)]))
    assert len({x.kernel.key for x in found}) == 2


def test_kernels_like_no_other_keep_their_literals() -> None:
    found = launched(clusters([(0.3, 0.7)] * 6))
    assert {x.kernel.ints for x in found} == {0}
    assert len({x.kernel.key for x in found}) == 1


@pytest.mark.parametrize("value", [0.0, -0.0, 1.0, -1.0, np.inf, np.nan])
def test_numbers_that_are_instructions_stay(value: float) -> None:
    found = launched(clusters([(0.3, value), (0.4, value), (0.5, value)]))
    assert {len(x.ints) for x in found[1:]} == {1}


def test_powers_of_two_that_are_divided_by_stay() -> None:
    b = Builder()
    inputs = [b.parameter(f"x{i}", tensor_type(dtypes.f32, (64, 32))) for i in range(3)]
    c = b.build([b.div(x, np.float32(d)) for x, d in zip(inputs, (0.25, 8, 2.0**-20))])
    assert {x.kernel.ints for x in launched(c)} == {0}


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
def test_the_general_kernel_reads_back(dtype: DType) -> None:
    general = launched(clusters(ALL_DIFFERENT, dtype))[-1].kernel.nest
    assert general is not None
    check_nest(general)
    assert len(general.ints) == 2
    assert parse_nest(nest_text(general)) == general


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.short)
@pytest.mark.parametrize("op", OPS)
def test_results_have_the_same_bits(op: str, dtype: DType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWC_CACHE", "0")
    tiny = float(np.finfo(np.float32).tiny) / 8 if dtype.size > 2 else 1e-7
    numbers = [0.1, -2.5, 3.0, 1 / 3, tiny, 6.0, -1e-3]
    rng = np.random.default_rng(1)
    x = np.append(rng.normal(size=51) * 3, [0.0, -0.0, np.inf, -np.inf, np.nan, tiny, 6, 3])
    given = x.astype(dtype.numpy)
    found, kernels = results(op, numbers, given, dtype)
    monkeypatch.setattr(SharedLiterals, "of", lambda self, launch: launch)
    own, own_kernels = results(op, numbers, given, dtype)
    assert len(kernels) < len(own_kernels) or op == "pow"
    for a, b in zip(found, own):
        np.testing.assert_array_equal(a.view(np.uint8), b.view(np.uint8))


def results(
    op: str, numbers: list[float], x: np.ndarray, dtype: DType
) -> tuple[list[np.ndarray], set[str]]:
    """Of one cluster for each number, and the keys of their kernels."""
    kernels: set[str] = set()
    with pytest.MonkeyPatch.context() as patched:
        objects_of = KernelCache.objects_of

        def noted(self: KernelCache, kernel: Kernel, target: Target) -> tuple[bytes, ...]:
            kernels.add(kernel.key)
            return objects_of(self, kernel, target)

        patched.setattr(KernelCache, "objects_of", noted)
        with tf.Graph().as_default(), tf.Session(threads=1) as session:
            fed = [tf.placeholder(dtype.numpy, x.shape) for _ in numbers]
            made = [OPS[op](y, number(c, dtype)) for y, c in zip(fed, numbers)]
            return session.run(made, dict.fromkeys(fed, x)), kernels
