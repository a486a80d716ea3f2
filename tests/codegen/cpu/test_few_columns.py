"""Products of few columns: their values beside f64, and which they are."""

from __future__ import annotations

import numpy as np
import pytest
from compiled_source import Compiled
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.contractions.cluster import contraction_launches
from flowc.codegen.cpu.products.few_columns import (
    TASK_ROWS,
    few_columns_source,
    is_product_of_few_columns,
    pack_few_columns,
)
from flowc.codegen.cpu.target import cpu_target
from flowc.codegen.kernels.kernel import Launch
from flowc.ir.builder import Builder
from flowc.ir.computation import Value
from flowc.ir.dims import Dim, symbol
from flowc.options import Options
from flowc.passes.pipeline import run_passes

ROWS = (0, 1, 3, TASK_ROWS - 1, TASK_ROWS + 5)


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("f32", "x86-64-v4"),
        ("f32", "x86-64-v3"),
        ("f32", "x86-64-v2"),
        ("f64", "x86-64-v4"),
        ("f64", "x86-64-v2"),
        ("i32", "x86-64-v3"),
    ],
)
def test_values(name: str, target: str) -> None:
    """Whatever is left of rows, columns and steps, and however rows are shared out. What stands
    behind the rows is no number, and what stands behind the result stays."""
    dtype, rng = dtypes.as_dtype(name), np.random.default_rng(1)
    shape = cpu_target(target).tile_shape(dtype)
    kernel = Compiled(few_columns_source(shape))
    wrong = np.nan if dtype.is_floating else 10**6
    for n in (1, 2, 3, 5, 6, 7, 12, 13):
        for k in (8 * shape.lanes, 8 * shape.lanes + 1, 1, 131):
            for m in ROWS:
                stored = np.full((m, k + 3), wrong, dtype.numpy)
                a, b = (rng.integers(-9, 9, s).astype(dtype.numpy) for s in ((m, k), (k, n)))
                stored[:, :k] = a
                packed = pack_few_columns(b, shape).array()
                for splits in (1, 2):
                    c = np.full((m, n + 1), 77, dtype.numpy)
                    sizes = dict(m=m, n=n, k=k, a_stride=k + 3, c_stride=n + 1)
                    kernel(stored, packed, c, splits=splits, **sizes)
                    np.testing.assert_array_equal(c[:, :n], a @ b)
                    assert (c[:, n] == 77).all()


def test_which_products_have_few_columns() -> None:
    shape = cpu_target("x86-64-v4").tile_shape(dtypes.f32)
    found = [n for n in range(40) if is_product_of_few_columns(shape, n, 512)]
    assert found == [*range(1, 12), *range(17, 23)]
    assert not is_product_of_few_columns(shape, 2, 64)  # to add up the lanes would take longest
    most = shape.depth * shape.lanes  # longer chains would round worse than those of other products
    assert is_product_of_few_columns(shape, 10, most)
    assert not is_product_of_few_columns(shape, 10, most + 1)
    assert not is_product_of_few_columns(shape, symbol("n"), 512)
    assert not is_product_of_few_columns(shape, 2, symbol("k"))


@pytest.mark.parametrize("m", [1, 4, 300, symbol("m")])
def test_kernels(m: Dim) -> None:
    """Also of few rows, and of rows that the run counts."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (m, 512)))
    y = b.mat_mul(x, b.const(np.ones((512, 3), np.float32)))
    assert [x.kernel.entry for x in _launches(b, b.neg(y))] == ["few_columns"]


def test_convolutions_to_few_channels_are_such_products() -> None:
    for window, channels, entry in ((1, 2, "few_columns"), (1, 16, "pointwise_conv")):
        b = Builder()
        x = b.parameter("x", tensor_type(dtypes.f32, (2, 20, 20, 256)))
        weights = b.const(np.ones((window, window, 256, channels), np.float32))
        y = b.conv2d(x, weights, strides=[1, 1, 1, 1], padding="VALID")
        assert [x.kernel.entry for x in _launches(b, y)] == [entry]


def _launches(b: Builder, y: Value) -> tuple[Launch, ...]:
    found = run_passes(b.build([y]), Options())
    node = next(node for node in found.nodes if node.op.name == "cluster")
    return contraction_launches(node, cpu_target("x86-64-v4"))
