"""Reductions and scans: the corners that examples do not reach.

Expected numbers with no derivation beside them were recorded from TensorFlow 2.21 on a CPU: NaN
rules, error texts, symbolic sizes, and split ranges of native kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from calls.op_calls import axes, both, floats, infer, reference
from node_evaluation import plain_kernel
from tensor_types import tensor_type

import flowc
from flowc.errors import FlowcError, ShapeError
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.lowering import Native
from flowc.ir.op import op_named

NAN, INF = np.nan, np.inf
F32_MAX = np.finfo(np.float32).max


# -- reductions


@pytest.mark.parametrize("axis", [[], [1]])
@pytest.mark.parametrize("name", ["reduce_sum", "reduce_prod", "reduce_mean"])
def test_what_folds_one_element_gives_it(name: str, axis: list[int]) -> None:
    """Nothing is added to it: -0.0 keeps its sign."""
    with flowc.Graph().as_default():
        x = flowc.placeholder(flowc.float32, [3, 1])
        y = getattr(flowc, name)(x, axis)
        with flowc.Session() as session:
            found = session.run(y, {x: floats(-0.0, NAN, 1.5)[:, None]})
    assert np.array_equal(np.signbit(found).reshape(-1), [True, False, False])
    assert np.array_equal(found.reshape(-1), floats(-0.0, NAN, 1.5), equal_nan=True)


@pytest.mark.parametrize("position", [0, 1, 2])
@pytest.mark.parametrize("name", ["max", "min"])
def test_extrema_keep_nan(name: str, position: int) -> None:
    x = floats(1, 2, 3)
    x[position] = NAN
    (found,) = both(name, x, axes(0))
    assert np.isnan(found)


@pytest.mark.parametrize(
    ("name", "dtype", "expected"),
    [
        ("max", np.float32, -INF),
        ("max", np.int32, -(2**31)),
        ("min", np.uint8, 255),
        ("min", np.float16, INF),
        ("sum", np.int32, 0),
        ("prod", np.uint8, 1),
        ("mean", np.int32, 0),
        ("mean", np.float32, NAN),
        ("mean", np.complex64, 0),
        ("euclidean_norm", np.float32, 0),
    ],
)
def test_reductions_of_nothing(name: str, dtype: Any, expected: float) -> None:
    (found,) = both(name, np.zeros((0, 2), dtype), axes(0))
    np.testing.assert_array_equal(found, np.full(2, expected, dtype))


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([-3, -4], np.int32, -3),  # rounds to zero
        ([-100, -100, -101], np.int8, -100),  # the sum does not wrap
        ([2**31 - 1, 2**31 - 1, 5], np.int32, 1431655766),
        ([255, 255, 250], np.uint8, 253),
        ([2**63 - 1, 2**63 - 1, 5], np.int64, 1),  # here it does
        ([2**64 - 1, 2**64 - 1, 5], np.uint64, 1),
    ],
)
def test_mean_of_integers(values: list[int], dtype: Any, expected: int) -> None:
    (found,) = both("mean", np.array(values, dtype), axes(0))
    assert found == expected


@pytest.mark.parametrize(
    ("name", "values", "dtype", "expected"),
    [
        ("sum", [3, 4, 100, 101], np.int8, -48),
        ("prod", [3, 4, 100, 101], np.int16, -9872),
        ("euclidean_norm", [-100, -100, -101], np.int8, 0),
        ("euclidean_norm", [40000, 20000], np.int32, 44721),
        ("euclidean_norm", [3037000500], np.int64, -(2**63)),
        ("euclidean_norm", [300, 300], np.float16, INF),
        ("euclidean_norm", [1 + 2j, 3 - 1j], np.complex64, np.float32(np.sqrt(15))),
    ],
)
def test_wrapping_and_overflow(name: str, values: list[Any], dtype: Any, expected: Any) -> None:
    (found,) = both(name, np.array(values, dtype), axes(0))
    np.testing.assert_allclose(found, np.asarray(expected, dtype), rtol=1e-6)


def test_halves_are_summed_in_f32() -> None:
    x = np.full(4096, 1.0, np.float16)
    x[0] = 2048  # in f16, 2048 + 1 is 2048
    (found,) = both("sum", x, axes(0))
    assert found == np.float16(2048 + 4095)


def test_sizes_pass_through_prod_and_max() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (symbol("n"), 3, 5)))
    total = b.prod(b.sizes(x.dims), axes(0))
    content = b.content(total)
    assert content is not None and content[()] == symbol("n") * 15


@pytest.mark.parametrize(
    ("which", "message"),
    [
        (axes(2), "Invalid reduction dimension .2 for input with 2 dimension.s."),
        (axes(0, -2), "Axes contains duplicate dimension: 0"),
    ],
)
def test_bad_axes(which: np.ndarray, message: str) -> None:
    with pytest.raises(ShapeError, match=message) as caught:
        infer("sum", ("f32", (2, 3)), which)
    assert "layer/op" in str(caught.value)


def test_computed_axes_are_refused() -> None:
    with pytest.raises(FlowcError, match="computed at run time"):
        infer("sum", ("f32", (2, 3)), ("i32", (1,)))


# -- ArgMax, ArgMin


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("arg_max", [NAN, 1, 2], 2),
        ("arg_max", [1, 2, NAN], 1),
        ("arg_max", [NAN, -INF], 0),
        ("arg_max", [-INF, -F32_MAX], 0),
        ("arg_max", [NAN, INF], 1),
        ("arg_max", [3, 1, 3], 0),
        ("arg_max", [0.0, -0.0], 0),
        ("arg_min", [NAN, 1, 2], 1),
        ("arg_min", [INF, F32_MAX], 0),
        ("arg_min", [NAN, -INF], 1),
    ],
)
def test_arg_extremum(name: str, values: list[float], expected: int) -> None:
    (found,) = both(name, np.array(values, np.float32), np.array(0, np.int32))
    assert found == expected and found.dtype == np.int64


@pytest.mark.parametrize("name", ["arg_max", "arg_min"])
def test_of_equal_elements_of_a_row_the_first_counts(name: str) -> None:
    rng = np.random.default_rng(3)
    for count in (1, 3, 4, 5, 11, 18):
        rows = rng.integers(0, 3, (60, count)).astype(np.float32)
        rows[rng.random(rows.shape) < 0.1] = NAN
        (found,) = both(name, rows, np.array(1, np.int32))
        fill = -INF if name == "arg_max" else INF
        known = np.where(np.isnan(rows), fill, rows)
        expected = known.argmax(1) if name == "arg_max" else known.argmin(1)
        np.testing.assert_array_equal(found, expected)


def test_arg_extremum_of_nothing() -> None:
    with pytest.raises(ShapeError, match=r"Reduction axis 0 is empty in shape \[0,3\]"):
        infer("arg_max", ("f32", (0, 3)), np.array(0, np.int32))


# -- native kernels: any split of the range gives the same


def _kernel(name: str, *arrays: np.ndarray, **attrs: Any) -> tuple[Callable[..., None], Native]:
    b = Builder()
    node = b.emit(op_named(name), [b.const(a) for a in arrays], attrs)
    lowering = node.op.lowering
    native = lowering if isinstance(lowering, Native) else lowering(node)
    assert isinstance(native, Native)
    return plain_kernel(native), native


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("cumsum", {"exclusive": True, "reverse": False}),
        ("cumsum", {"exclusive": False, "reverse": True}),
        ("cumprod", {"exclusive": True, "reverse": True}),
        ("cumulative_logsumexp", {"exclusive": False, "reverse": False}),
        ("arg_max", {}),
        ("arg_min", {}),
    ],
)
def test_split_ranges(name: str, attrs: dict[str, Any]) -> None:
    x = np.random.default_rng(3).standard_normal((2, 4, 5)).astype(np.float32)
    axis = np.array(1, np.int32)
    kernel, native = _kernel(name, x, axis, **attrs)
    (expected,) = reference(name, x, axis, **attrs)
    (stop,) = (int(native.parallel),)
    for middle in range(stop + 1):
        out = np.empty(expected.size, expected.dtype)
        for begin, end in ((0, middle), (middle, stop)):
            kernel(x.reshape(-1), axis.reshape(-1), out, *native.arguments, begin, end)
        np.testing.assert_allclose(out.reshape(expected.shape), expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("values", "attrs", "expected"),
    [
        ([1, 2, -INF, 4], {}, [1, 2.3132617, 2.3132617, 4.169846]),
        ([-INF, -INF, INF, 4], {"exclusive": True}, [-INF, -INF, -INF, INF]),
        ([1, NAN, 2], {}, [1, 1.6931472, 2.5514448]),  # a NaN counts the total twice
        ([NAN, 1, 2], {}, [-INF, 1, 2.3132617]),
    ],
)
def test_cumulative_logsumexp(
    values: list[float], attrs: dict[str, Any], expected: list[float]
) -> None:
    full = {"exclusive": False, "reverse": False} | attrs
    (found,) = both("cumulative_logsumexp", floats(*values), np.array(0, np.int32), **full)
    np.testing.assert_allclose(found, floats(*expected), rtol=1e-6)


def test_axes_that_are_none_are_known_wherever_they_come_from() -> None:
    b = Builder()
    x = b.parameter("x", tensor_type("f32", (symbol("n"), 3)))
    none = b.parameter("axes", tensor_type("i32", (0,)))
    assert b.sum(x, none).dims == x.dims


def test_the_gradient_of_a_product_takes_ranks_and_axes_of_the_run() -> None:
    with flowc.Graph().as_default():
        x, axes = flowc.placeholder(flowc.float32), flowc.placeholder(flowc.int32)
        (gradient,) = flowc.gradients(flowc.reduce_prod(x, axes), x)
        data = floats(1, 2, 3, 4, 0, 2).reshape(2, 3)
        with flowc.Session() as session:
            last = session.run(gradient, {x: data, axes: [-1]})
            everything = session.run(gradient, {x: data, axes: [0, 1]})
    assert last.tolist() == [[6, 3, 2], [0, 8, 0]]
    assert everything.tolist() == [[0, 0, 0], [0, 48, 0]]
