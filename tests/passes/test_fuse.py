"""What becomes one kernel: kernels are counted, results are compared with the references."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from ir_reference import random_inputs, reference_results
from tensor_types import tensor_type

from flowc.codegen.kernels.loops import loop_launch
from flowc.codegen.targets import target_named
from flowc.compiler import load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.passes.analysis.grouping import DEPTH_LIMIT, NODE_LIMIT
from flowc.passes.pipeline import run_passes

N = symbol("n")


def i32(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def weights(*dims: int) -> np.ndarray:
    return (np.random.default_rng(2).normal(size=dims) / 4).astype(np.float32)


def x_of(b: Builder, *dims: Any, name: str = "x") -> Value:
    return b.parameter(name, tensor_type("f32", dims))


def built(write: Callable[[Builder], Value | Sequence[Value]]) -> Computation:
    b = Builder()
    found = write(b)
    return b.build([found] if isinstance(found, Value) else found)


def clusters(c: Computation) -> list[Node]:
    return [n for n in run_passes(c, Options()).nodes if n.op.name == "cluster"]


def check(c: Computation, kernels: int, kinds: str | None = None, n: int = 3) -> list[Node]:
    """The clusters, of which there must be so many; the compiled results must be right."""
    found = clusters(c)
    assert len(found) == kernels, [[m.label for m in k.attrs["body"].nodes] for k in found]
    if kinds is not None:
        assert " ".join(k.attrs["kind"] for k in found) == kinds
    arrays = random_inputs(c, n=n)
    names = [p.attrs["name"] for p in c.parameters], [f"out{i}" for i in range(len(c.results))]
    results = load_executable(c, Options(), spec_of(c, *names), threads=2).run(arrays)
    for x, y in zip(results, reference_results(c, arrays), strict=True):
        np.testing.assert_allclose(x, y, rtol=2e-5, atol=2e-5)
    return found


def chain(b: Builder, y: Value, count: int) -> Value:
    for i in range(count):
        y = (b.neg, b.abs, b.relu, b.square)[i % 4](y)
        y = b.mul(y, np.float32(0.5))
    return y


# -- one kernel


def test_a_chain() -> None:
    check(built(lambda b: chain(b, x_of(b, N, 7), 12)), 1)


def test_a_diamond() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, N, 7)
        top = b.exp(b.neg(b.abs(x)))
        return b.add(b.mul(top, x), b.sub(b.sqrt(top), b.sigmoid(top)))

    check(built(write), 1)


def test_branches_of_one_input_that_meet() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, N, 7)
        return b.add(chain(b, x, 3), chain(b, b.exp(b.neg(b.abs(x))), 3))

    check(built(write), 1)


def test_softmax_and_log_softmax() -> None:
    check(built(lambda b: b.softmax(b.mul(x_of(b, N, 37), np.float32(0.3)))), 1)
    check(built(lambda b: b.log_softmax(x_of(b, N, 37))), 1)


def layer_norm(b: Builder, x: Value) -> Value:
    last = i32(x.type.rank - 1)
    centred = b.sub(x, b.mean(x, last, keep_dims=True))
    variance = b.mean(b.square(centred), last, keep_dims=True)
    scaled = b.mul(centred, b.rsqrt(b.add(variance, np.float32(1e-5))))
    size = int(x.dims[-1])
    return b.add(b.mul(scaled, weights(size)), weights(size))


def test_layer_norm() -> None:
    check(built(lambda b: layer_norm(b, x_of(b, N, 5, 33))), 1)


def test_layer_norm_of_a_residual_that_is_read_again() -> None:
    def write(b: Builder) -> list[Value]:
        total = b.add(x_of(b, N, 33), x_of(b, N, 33, name="y"))
        return [layer_norm(b, total), total]

    check(built(write), 1)


def test_matmul_bias_gelu() -> None:
    def write(b: Builder) -> Value:
        y = b.bias_add(b.mat_mul(x_of(b, N, 9), weights(9, 20)), weights(20))
        erf = b.erf(b.mul(y, np.float32(0.70710678)))
        return b.mul(b.mul(y, np.float32(0.5)), b.add(erf, np.float32(1)))

    check(built(write), 1, "matmul")


def test_convolution_bias_residual_relu() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, N, 6, 6, 4)
        y = b.conv2d(x, weights(3, 3, 4, 4), strides=(1, 1, 1, 1), padding="SAME")
        return b.relu(b.add(b.bias_add(y, weights(4)), x))

    check(built(write), 1, "convolution")


def test_several_outputs() -> None:
    def write(b: Builder) -> list[Value]:
        x = x_of(b, N, 7)
        y = b.exp(x)
        z = b.neg(y)
        return [y, z, b.add(y, z), b.relu(z)]

    check(built(write), 1)


def test_means_and_variances_of_columns() -> None:
    def write(b: Builder) -> list[Value]:
        x = x_of(b, N, 5, 40)
        mean = b.mean(x, i32(0, 1))
        return [b.rsqrt(b.add(b.square(mean), np.float32(1)))]

    check(built(write), 1)


# -- views


def test_views_are_read_through() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, 4, 6)
        turned = b.transpose(b.exp(x), i32(1, 0))
        part = b.slice(turned, i32(1, 0), i32(4, 4))
        padded = b.pad(part, i32(1, 0, 0, 0).reshape(2, 2))
        return b.relu(b.sub(b.concat(padded, turned, np.int32(0)), np.float32(1)))

    c = built(write)
    assert len(clusters(c)) <= 2
    check(c, len(clusters(c)))


@pytest.mark.parametrize("op", ["concat", "pad", "slice", "transpose", "reverse", "tile"])
def test_one_view_is_part_of_its_reader(op: str) -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, 4, 6)
        view = {
            "concat": lambda: b.concat(x, x, np.int32(1)),
            "pad": lambda: b.pad(x, i32(1, 2, 3, 0).reshape(2, 2)),
            "slice": lambda: b.slice(x, i32(1, 2), i32(2, 3)),
            "transpose": lambda: b.transpose(x, i32(1, 0)),
            "reverse": lambda: b.reverse(x, i32(1)),
            "tile": lambda: b.tile(x, i32(2, 3)),
        }[op]()
        return b.relu(b.add(view, np.float32(0.25)))

    check(built(write), 1)


def test_reshapes_are_no_kernels() -> None:
    def write(b: Builder) -> Value:
        return b.reshape(b.relu(b.reshape(x_of(b, N, 4, 6), (N * 2, 12))), (N, 24))

    check(built(write), 1)


def test_what_is_dear_is_not_computed_again_for_every_row() -> None:
    """A view of a small value that broadcasts: the exponential is computed once an element."""

    def write(b: Builder) -> Value:
        small = b.transpose(b.exp(x_of(b, 1, 40, name="s")), i32(1, 0))
        return b.add(b.reshape(small, (40,)), x_of(b, 500, 40))

    found = check(built(write), 2)
    last = [m.label for m in found[-1].attrs["body"].nodes]
    assert "exp" not in last

    def through_a_view(b: Builder) -> Value:
        small = b.transpose(b.exp(x_of(b, 30, 2, name="s")), i32(1, 0))
        return b.relu(b.tile(small, i32(100, 1)))

    found = check(built(through_a_view), 2)
    assert "exp" not in [m.label for m in found[-1].attrs["body"].nodes]


def test_views_that_double_do_not_explode() -> None:
    """Each level reads the one below twice, at different indices."""

    def write(b: Builder) -> Value:
        x = x_of(b, 3)
        for _ in range(12):
            x = b.slice(b.concat(x, b.reverse(x, i32(0)), np.int32(0)), i32(1), i32(3))
        return b.relu(x)

    c = built(write)
    found = clusters(c)
    assert len(found) > 1
    check(c, len(found))


def test_long_chains_of_views_are_cut() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, 40)
        for i in range(3 * DEPTH_LIMIT):
            x = b.reverse(b.slice(b.pad(x, i32(1, 0).reshape(1, 2)), i32(i % 2), i32(40)), i32(0))
        return b.relu(x)

    c = built(write)
    found = clusters(c)
    assert 3 <= len(found) <= 20
    assert all(len(k.attrs["body"].nodes) < 3 * NODE_LIMIT for k in found)
    check(c, len(found))


@pytest.mark.parametrize("op", ["list_get", "gather", "reverse", "transpose"])
def test_what_is_dear_behind_a_view_is_computed_once_for_all_loops_over_a_row(op: str) -> None:
    """The tangent is read at other indices than its row's own, so what is made of it is kept."""

    def write(b: Builder) -> Value:
        y = b.tanh(x_of(b, 5, 5))
        view = {
            "list_get": lambda: b.list_get(y, np.int32(2), message="{value} of {extent}"),
            "gather": lambda: b.gather(y, i32(4, 3, 1, 0, 0), np.int32(0)),
            "reverse": lambda: b.reverse(y, i32(0)),
            "transpose": lambda: b.transpose(y, i32(1, 0)),
        }[op]()
        return b.softmax(b.mul(view, x_of(b, 5, 5, name="scale")))

    (found,) = check(built(write), 1)
    source = loop_launch(found, target_named("native")).kernel.source
    assert source.count("tanh_f32(") == 1, source


def test_what_a_view_reads_does_not_join_its_loop() -> None:
    """Each level reads the one below at its own index and, for two readers, at another: one loop
    for all would compute the lowest level 2**9 times."""

    def write(b: Builder) -> Value:
        x = x_of(b, 6)
        for level in range(9):
            y = b.relu(x)
            places = b.parameter(f"places{level}", tensor_type("i32", (6,)))
            taken = b.gather(y, places, np.int32(0))
            x = b.mul(b.add(taken, y), taken)
        return x

    c = built(write)
    found = clusters(c)
    names = [[n.label for n in k.attrs["body"].nodes] for k in found]
    assert all(ops.count("relu") <= 1 for ops in names), names
    check(c, 10)


# -- limits and cycles


def test_clusters_are_limited() -> None:
    c = built(lambda b: chain(b, x_of(b, N), 5 * NODE_LIMIT))
    found = clusters(c)
    assert 10 <= len(found) <= 12
    assert all(len(k.attrs["body"].nodes) <= 2 * NODE_LIMIT for k in found)


def test_pointers_of_a_kernel_are_limited() -> None:
    def write(b: Builder) -> Value:
        total = x_of(b, 5, name="x0")
        for i in range(1, 80):
            total = b.add(total, x_of(b, 5, name=f"x{i}"))
        return total

    c = built(write)
    check(c, len(clusters(c)))
    assert all(len(k.inputs) + len(k.outputs) <= 29 for k in clusters(c))


def test_no_cycle_round_what_cannot_be_fused() -> None:
    """A -> B -> C and A -> C: A and C may not join when B is a kernel of its own."""

    def write(b: Builder) -> Value:
        x = x_of(b, 6, 6)
        a = b.exp(b.mul(x, np.float32(0.1)))
        product = b.mat_mul(a, weights(6, 6))
        return b.add(a, b.transpose(b.mat_mul(product, weights(6, 6)), i32(1, 0)))

    c = built(write)
    found = clusters(c)
    check(c, len(found))
    exps = [k for k in found if any(m.label == "exp" for m in k.attrs["body"].nodes)]
    adds = [k for k in found if any(m.label == "add" for m in k.attrs["body"].nodes)]
    assert len(exps) == 1 and exps[0] not in adds


@pytest.mark.parametrize(
    ("channels", "inputs", "window", "kernels"),
    [(1, 5, 2, 2), (3, 5, 2, 2), (16, 5, 2, 2), (16, 8, 3, 2), (32, 64, 3, 1), (65, 5, 2, 1)],
)
def test_nothing_is_computed_for_single_pixels_of_few_channels(
    channels: int, inputs: int, window: int, kernels: int
) -> None:
    """A transposed convolution writes them here and there. It is a plain one, whose pixels are then
    spread, unless that multiplies by many zeros."""

    def write(b: Builder) -> Value:
        sizes, w = i32(2, 8, 10, channels), weights(window, window, channels, inputs)
        x = x_of(b, 2, 4, 5, inputs)
        y = b.conv2d_backprop_input(sizes, w, x, strides=(1, 2, 2, 1), padding="SAME")
        return b.sigmoid(b.add(y, weights(channels)))

    check(built(write), kernels)


def test_no_cycle_through_two_clusters() -> None:
    """Two products, each of which needs what follows the other's first half."""

    def write(b: Builder) -> list[Value]:
        x = x_of(b, 6, 6)
        left = b.mat_mul(x, weights(6, 6))
        right = b.mat_mul(b.relu(left), weights(6, 6))
        one = b.add(left, b.sum(b.neg(right), i32(1), keep_dims=True))
        return [b.mul(one, b.exp(b.mul(right, np.float32(0.1)))), one]

    c = built(write)
    check(c, len(clusters(c)))


def test_no_cycle_through_a_cluster_that_stands_on_both_sides() -> None:
    """The first cluster begins before the second and ends after it; what is between them would
    need both."""

    def write(b: Builder) -> list[Value]:
        x, y = x_of(b, 9), x_of(b, 3, 4, name="y")
        first = b.exp(x)
        between = b.top_k(first, np.int32(2))[0]
        total = b.sum(between, i32(0))
        second = b.tanh(y)
        last = b.add(first, b.sum(second, i32(0, 1)))
        return [last, b.mul(second, total)]

    check(built(write), 5)


def test_reductions_of_different_axes_are_apart() -> None:
    def write(b: Builder) -> list[Value]:
        x = b.exp(x_of(b, 5, 33))
        return [b.sum(x, i32(0)), b.sum(x, i32(1)), b.sum(x, i32(0, 1))]

    c = built(write)
    check(c, len(clusters(c)))


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs(seed: int) -> None:
    """Elementwise nodes, folds, views and products at random, fused and node by node."""
    random = np.random.default_rng(seed)

    def write(b: Builder) -> list[Value]:
        pool = [x_of(b, 4, 4, name=f"x{i}") for i in range(2)]
        places = b.parameter("places", tensor_type("i32", (4,)))
        for _ in range(14):
            p, q = (pool[i] for i in random.integers(max(0, len(pool) - 6), len(pool), 2))
            axis = i32(int(random.integers(2)))
            pool.append(
                [
                    lambda p, q, axis: b.add(p, q),
                    lambda p, q, axis: b.mul(b.tanh(p), q),
                    lambda p, q, axis: b.sub(p, b.mean(q, axis, keep_dims=True)),
                    lambda p, q, axis: b.transpose(b.sigmoid(p), i32(1, 0)),
                    lambda p, q, axis: b.mat_mul(b.tanh(p), q),
                    lambda p, q, axis: b.slice(b.concat(p, q, np.int32(0)), i32(2, 0), i32(4, 4)),
                    lambda p, q, axis: b.reshape(b.relu(b.reshape(p, (16,))), (4, 4)),
                    lambda p, q, axis: b.softmax(b.mul(p, q)),
                    lambda p, q, axis: b.sub(p, b.max(p, i32(1), keep_dims=True)),
                    lambda p, q, axis: b.reverse(b.exp(b.neg(b.abs(p))), axis),
                    lambda p, q, axis: b.gather(p, places, np.int32(0)),
                ][int(random.integers(11))](p, q, axis)
            )
        return [b.tanh(v) for v in pool[-3:]]

    c = built(write)
    arrays = random_inputs(c, seed)
    expected = reference_results(c, arrays)
    names = [p.attrs["name"] for p in c.parameters], [f"out{i}" for i in range(len(c.results))]
    for options in (Options(), Options(fuse=False)):
        for x, y in zip(
            load_executable(c, options, spec_of(c, *names)).run(arrays), expected, strict=True
        ):
            np.testing.assert_allclose(x, y, rtol=3e-4, atol=3e-4)
