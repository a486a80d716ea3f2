"""One program for many sizes: examples whose first dimension is a symbol, run at several sizes.

The first dimension of the first input stands for `n`, and so does the first dimension of every
other input that has the same rank and size.
"""

from __future__ import annotations

import numpy as np
import pytest
from test_ops import COMPILED, EXACT, TESTED, assert_near, cases_of, reference

from flowc import dtypes
from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.examples import Case
from flowc.ir.op import Op
from flowc.ir.program_spec import spec_of
from flowc.ir.types import TensorType
from flowc.options import Options

NAMES = """
    add mul maximum select_v2 relu softmax log_softmax sum mean max all arg_max mat_mul einsum
    bias_add conv2d depthwise_conv2d max_pool avg_pool concat pack unpack split transpose pad tile
    reverse strided_slice cast fused_batch_norm one_hot top_k cumsum where shape zeros_like
    resize_bilinear expand_dims softmax_cross_entropy_with_logits l2_loss
"""
SIZES = (1, 4, 7)


def grown(array: np.ndarray, n: int) -> np.ndarray:
    """n rows, the given ones over and over."""
    return np.take(array, np.arange(n) % len(array), axis=0)


def varying(case: Case) -> list[int]:
    """The inputs whose first dimension varies."""
    first = next((a for a in case.inputs if a.ndim and len(a)), None)
    if first is None:
        return []
    rank, rows = first.ndim, len(first)
    return [
        i
        for i, (x, a) in enumerate(zip(case.operands, case.inputs))
        if a.ndim == rank and len(a) == rows and not x.given
    ]


def sample(op: Op) -> Case:
    """The first example in f32 (or what there is) that has rows to vary."""
    found = [c for c in cases_of(op) if varying(c) and 0 not in c.inputs[varying(c)[0]].shape]
    plain = [c for c in found if all(d is dtypes.f32 for d in c.bound.values())]
    return (plain or found)[0]


@pytest.mark.parametrize("op", [o for o in TESTED if o.name in NAMES.split()], ids=str)
def test_one_program_serves_every_size(op: Op) -> None:
    case = sample(op)
    rows = varying(case)
    b = Builder()
    inputs = []
    fed = [i for i, x in enumerate(case.operands) if not x.given]
    for i, array in enumerate(case.inputs):
        dims = (symbol("n"), *array.shape[1:]) if i in rows else array.shape
        kind = TensorType(case.dtypes[i], dims)
        inputs.append(b.parameter(f"x{i}", kind) if i in fed else b.const(array))
    node = b.emit(op, inputs, case.attrs)
    names = [f"x{i}" for i in fed], [f"y{i}" for i in range(len(node.outputs))]
    c = b.build(node.outputs)
    executable = load_executable(c, Options(), spec_of(c, *names), threads=2)
    for n in SIZES:
        arrays = [grown(a, n) if i in rows else a for i, a in enumerate(case.inputs)]
        found = executable.run([arrays[i] for i in fed])
        assert_near(case, found, reference(case, arrays), COMPILED.get(op.name, EXACT))


def test_indices_below_zero_are_divided_as_sizes_are() -> None:
    """What is rolled over the end of a dim of any size comes back at its beginning."""
    b = Builder()
    x = b.parameter("x", TensorType(dtypes.f32, (symbol("n"), symbol("m"))))
    half = b.floor_div(b.shape(x), np.int32(2))
    results = [b.roll(x, np.int32(3), np.int32(0)), b.roll(x, half, np.array([0, 1], np.int32))]
    results.append(b.roll(x, np.array([-9, 2], np.int32), np.array([0, 0], np.int32)))
    c = b.build(results)
    spec = spec_of(c, ["x"], ["y", "z", "w"])
    executable = load_executable(c, Options(), spec, threads=1)
    for n, m in ((8, 5), (1, 4), (3, 1), (7, 7)):
        array = np.arange(n * m, dtype=np.float32).reshape(n, m)
        turned, halved, twice = executable.run([array])
        np.testing.assert_array_equal(turned, np.roll(array, 3, 0))
        np.testing.assert_array_equal(halved, np.roll(array, (n // 2, m // 2), (0, 1)))
        np.testing.assert_array_equal(twice, np.roll(array, -7, 0))
