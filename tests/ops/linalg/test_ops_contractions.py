"""Products of matrices, Einsum and convolutions: the corners that examples do not reach.

Error texts are TensorFlow's; results are compared with sums over every product.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from calls.op_calls import CONV, axes, both, floats, infer, reference
from ir_reference import reference_results
from tensor_types import tensor_type

from flowc.errors import ShapeError
from flowc.ir.builder import Builder
from flowc.ir.computation import Node
from flowc.ir.dims import symbol
from flowc.ir.lowering import Convolution, MatMul
from flowc.options import Options
from flowc.passes.decompose import decompose

# -- products of matrices


@pytest.mark.parametrize(
    ("name", "left", "right", "message"),
    [
        (
            "mat_mul",
            (2, 3),
            (2, 3),
            r"Matrix size-incompatible: In\[0\]: \[2,3\], In\[1\]: \[2,3\]",
        ),
        ("mat_mul", (2, 3, 1), (2, 3), "Shape must be rank 2 but is rank 3"),
        (
            "batch_mat_mul",
            (2, 2, 3),
            (3, 3, 3),
            r"must have compatible batch dimensions: \[2,2,3\] vs. \[3,3,3\]",
        ),
        ("batch_mat_mul", (2,), (3, 3), r"In\[0\] ndims must be >= 2: 1"),
        (
            "batch_mat_mul_v1",
            (1, 2, 3),
            (2, 3, 2),
            r"In\[0\].dim\(0\) and In\[1\].dim\(0\) must be the same: \[1,2,3\] vs \[2,3,2\]",
        ),
        ("batch_mat_mul_v1", (2, 2, 3), (3, 2), "different ndims"),
    ],
)
def test_products_that_do_not_fit(
    name: str, left: tuple[int, ...], right: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        infer(name, ("f32", left), ("f32", right))


def test_symbolic_rows_need_no_check() -> None:
    node = infer("mat_mul", ("f32", (symbol("batch"), 784)), ("f32", (784, 10)))
    assert node.output.dims == (symbol("batch"), 10)
    assert node.op.lowering(node) == MatMul(False, False)


def test_adjoint_of_complex_matrices() -> None:
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal((2, 3, 3)) + 1j * rng.standard_normal((2, 3, 3)) for _ in "xy")
    (found,) = both("batch_mat_mul", x, y, adj_x=True, adj_y=True)
    np.testing.assert_allclose(found, np.conj(np.swapaxes(y @ x, 1, 2)))


# -- Einsum


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,kj->ki", [(2, 3), (4, 3)]),
        ("ji,jk->ik", [(3, 2), (3, 4)]),
        ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
        ("ij...,jk...->ik...", [(2, 3, 2), (3, 2, 2)]),
        ("...ij->...ji", [(2, 3, 4)]),
        ("...i->...", [(2, 3)]),
        ("iij,j->i", [(2, 2, 3), (3,)]),
        ("ij,ij->", [(2, 3), (2, 3)]),
        ("ij,ij->ij", [(2, 3), (2, 3)]),
        ("abc,cd->abd", [(2, 3, 4), (4, 5)]),
        ("abc,bde->acd", [(2, 3, 4), (3, 2, 5)]),
        ("i,->i", [(3,), ()]),
    ],
)
def test_einsum_as_numpy(equation: str, shapes: list[tuple[int, ...]]) -> None:
    rng = np.random.default_rng(7)
    arrays = [rng.standard_normal(s) for s in shapes]
    (found,) = both("einsum", *arrays, equation=equation, N=len(arrays))
    np.testing.assert_allclose(found, np.einsum(equation, *arrays), atol=1e-12)


def test_einsum_spreads_a_diagonal() -> None:
    (found,) = both("einsum", floats(1, 2, 3), equation="i->ii", N=1)
    np.testing.assert_array_equal(found, np.diag([1, 2, 3]))


@pytest.mark.parametrize(
    ("equation", "shapes", "message"),
    [
        ("ij,jk", [(2, 3), (3, 2)], "Expecting exactly one '->'"),
        ("a,b,c->abc", [(2,), (2,), (2,)], "Expecting 1 or 2 input subscripts"),
        ("ij,jk->ik", [(2, 3), (2, 3)], "Expected dimension 3 at axis 0 .* got dimension 2"),
        ("ijk->i", [(2, 3)], "Expected input 0 to have rank 3 but got: 2"),
        ("b...->b", [(2, 3)], r"Output contains 1 broadcasting dimension\(s\) but no ellipsis"),
        ("i->j", [(3,)], "label 'j' that no input has"),
        ("i1->i", [(3, 2)], "Invalid subscripts 'i1'"),
    ],
)
def test_bad_equations(equation: str, shapes: list[tuple[int, ...]], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        infer("einsum", *[("f32", s) for s in shapes], equation=equation, N=len(shapes))


# -- convolutions


def _slow_convolution(
    x: np.ndarray, w: np.ndarray, strides: Sequence[int], dilations: Sequence[int], pad: Any
) -> np.ndarray:
    """Every product of a two-dimensional convolution, one by one."""
    padded = np.pad(x, [(0, 0), *pad, (0, 0)])
    groups = x.shape[-1] // w.shape[2]
    per_group = w.shape[3] // groups
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape, dilations)]
    output = [(n - r) // s + 1 for n, r, s in zip(padded.shape[1:], reach, strides)]
    y = np.zeros((len(x), *output, w.shape[3]))
    window = [range(n) for n in w.shape[:3]]
    for n, i, j, o in np.ndindex(*y.shape):
        first = o // per_group * w.shape[2]
        for di, dj, c in itertools.product(*window):
            at = (n, i * strides[0] + di * dilations[0], j * strides[1] + dj * dilations[1])
            y[n, i, j, o] += padded[(*at, first + c)] * w[di, dj, c, o]
    return y


@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2)])
def test_convolution_against_every_product(groups: int, stride: int, dilation: int) -> None:
    rng = np.random.default_rng(11)
    x = rng.standard_normal((2, 5, 6, 4))
    w = rng.standard_normal((3, 2, 4 // groups, 8))
    attrs = {
        "strides": (1, stride, stride, 1),
        "dilations": (1, dilation, dilation, 1),
        "padding": "EXPLICIT",
        "explicit_paddings": (0, 0, 1, 2, 0, 1, 0, 0),
    }
    (found,) = reference("conv2d", x, w, **attrs)
    wanted = _slow_convolution(x, w, (stride,) * 2, (dilation,) * 2, [(1, 2), (0, 1)])
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    # <conv(x), y> == <x, transposed conv(y)>, and the same of weights.
    y = rng.standard_normal(found.shape)
    (dx,) = reference("conv2d_backprop_input", axes(*x.shape), w, y, **attrs)
    (dw,) = reference("conv2d_backprop_filter", x, axes(*w.shape), y, **attrs)
    np.testing.assert_allclose(np.vdot(found, y), np.vdot(x, dx))
    np.testing.assert_allclose(np.vdot(found, y), np.vdot(w, dw))


@pytest.mark.parametrize("window", [(1, 2), (2, 3), (4, 5)])
def test_transposed_convolutions_as_plain_ones(window: tuple[int, int]) -> None:
    """Of every stride, dilation and padding: what the rule writes gives what the op says."""
    rng = np.random.default_rng(8)
    for stride, dilation, groups in itertools.product((1, 2, 3), (1, 2), (1, 2)):
        for pad, cut in itertools.product((0, 1), (0, 1)):
            w = rng.standard_normal((*window, 3, 2 * groups))
            x = rng.standard_normal((2, 3, 4, w.shape[-1]))
            pads = [min(pad, dilation * (n - 1)) for n in window]
            full = [(n - 1) * stride + dilation * (k - 1) for n, k in zip(x.shape[1:], window)]
            after = [min(cut, dilation * (n - 1)) for n in window]
            sizes = tuple(n + 1 - p - a for n, p, a in zip(full, pads, after))
            b = Builder()
            y = b.convolution_transposed(
                b.parameter("x", tensor_type("f64", x.shape)),
                b.parameter("w", tensor_type("f64", w.shape)),
                strides=(stride,) * 2,
                dilations=(dilation,) * 2,
                pad=tuple(n for pair in zip(pads, after) for n in pair),
                output_dims=sizes,
                groups=groups,
            )
            c = b.build([y])
            plain = decompose(c, Options())
            assert all(n.op.name != "convolution_transposed" for n in plain.nodes)
            (found,) = reference_results(plain, [x, w])
            (wanted,) = reference_results(c, [x, w])
            np.testing.assert_allclose(found, wanted, atol=1e-12)


def _convolution_of(node: Node) -> Convolution:
    lowering = node.op.lowering(node)
    assert isinstance(lowering, Convolution)
    return lowering


def test_same_padding_of_symbolic_sizes() -> None:
    image = ("f32", (symbol("n"), symbol("h"), symbol("w"), 3))
    weights = ("f32", (3, 3, 3, 8))
    node = infer("conv2d", image, weights, strides=(1, 1, 1, 1), padding="SAME")
    assert node.output.dims == (*image[1][:3], 8)
    assert _convolution_of(node).pad == ((1, 1), (1, 1))
    node = infer("conv2d", image, weights, strides=(1, 2, 2, 1), padding="SAME")
    assert node.output.dims[1] == (symbol("h") + 1) // 2
    (low, high), _ = _convolution_of(node).pad
    for size in range(1, 9):
        total = max((-(-size // 2) - 1) * 2 + 3 - size, 0)
        assert _value(low, h=size) == total // 2
        assert _value(high, h=size) == total - total // 2


def _value(dim: Any, **sizes: int) -> int:
    from flowc.ir.dims import Symbol, evaluate

    return evaluate(dim, {Symbol(name): size for name, size in sizes.items()})


def test_transposed_convolution_of_symbolic_sizes() -> None:
    b = Builder()
    dy = b.parameter("dy", tensor_type("f32", (symbol("n"), symbol("h"), 7, 5)))
    w = b.const(np.zeros((4, 4, 3, 5), np.float32))
    sizes = b.sizes((symbol("n"), symbol("h") * 2, 14, 3))
    y = b.conv2d_backprop_input(sizes, w, dy, strides=(1, 2, 2, 1), padding="SAME")
    assert y.dims == (symbol("n"), symbol("h") * 2, 14, 3)
    assert not b.constraints


@pytest.mark.parametrize(
    ("x", "w", "attrs", "message"),
    [
        ((1, 4, 4, 4), (3, 3, 3, 6), {}, "evenly divisible by filter depth: 4 vs 3"),
        ((1, 4, 4, 4), (3, 3, 2, 5), {}, "evenly divisible by number of groups: 5 vs 2"),
        ((1, 2, 2, 3), (3, 3, 3, 2), {}, "Negative dimension size caused by subtracting 3 from 2"),
        ((4, 4, 4), (3, 3, 3, 6), {}, "Shape must be rank 4 but is rank 3"),
        ((1, 4, 4, 0), (3, 3, 0, 6), {}, "filter must not have zero elements"),
        ((1, 4, 4, 3), (3, 3, 3, 6), {"strides": (2, 1, 1, 1)}, "strides in the batch and depth"),
        ((1, 4, 4, 3), (3, 3, 3, 6), {"strides": (1, 1, 1)}, "to contain 4 values, but got: 3"),
        (
            (1, 4, 4, 3),
            (3, 3, 3, 6),
            {"padding": "EXPLICIT", "explicit_paddings": (0, 0, 1, 1)},
            "must contain 8 values, but got: 4",
        ),
    ],
)
def test_convolutions_that_do_not_fit(
    x: tuple[int, ...], w: tuple[int, ...], attrs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError, match=message):
        infer("conv2d", ("f32", x), ("f32", w), **(CONV | attrs))


def test_fused_ops_that_are_not_known() -> None:
    with pytest.raises(ShapeError, match=r"Fusion is not implemented: \[Frobnicate\]"):
        infer(
            "fused_mat_mul", ("f32", (2, 3)), ("f32", (3, 4)), num_args=0, fused_ops=("Frobnicate",)
        )
