"""Loop kernels against NumPy: loops that are merged, split at conditions, and folded."""

from __future__ import annotations

import re
from functools import reduce
from typing import Any

import numpy as np
import pytest
from loop_checks import Array, arrays, check, compiled, kernels_in_memory
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.kernel_text import kernel_text
from flowc.compiler import Report, compile_computation
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.program_spec import spec_of
from flowc.options import Options
from flowc.run.executable import Executable


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 0, 3), (2, 3, 0)])
def test_loops_without_elements(shape: tuple[int, ...]) -> None:
    check(lambda b, x: b.add(x, x), lambda x: x + x, arrays(dtypes.f32, shape))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_concatenations_have_no_conditions_inside_their_loops(axis: int) -> None:
    shapes = [tuple(n if a == axis else s for a, s in enumerate((4, 5, 6))) for n in (3, 1, 8)]
    source = check(
        lambda b, *x: b.concat(*x, np.int32(axis)),
        lambda *x: np.concatenate(x, axis),
        arrays(dtypes.f32, *shapes),
    )
    assert not any(" else " in loop for loop in innermost_loops(source))


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_concatenation_that_grows_has_no_conditions_inside_its_loops(axis: int) -> None:
    shapes = [tuple(n if a == axis else s for a, s in enumerate((4, 5, 6))) for n in (3, 1, 8, 2)]
    source = check(
        lambda b, *x: b.add(reduce(lambda y, z: b.concat(y, z, np.int32(axis)), x), 1.0),
        lambda *x: np.concatenate(x, axis) + np.float32(1),
        arrays(dtypes.f32, *shapes),
    )
    assert source.count("def kernel") == 1
    assert not any(" else " in loop for loop in innermost_loops(source))


def test_each_of_many_gathered_parts_has_a_loop() -> None:
    """Such as the rows of a table that a recommender stacks: 20 nodes whose copies would be 400."""
    rng = np.random.default_rng(5)
    rows = [rng.integers(0, 30, (9, 1 + k % 2)).astype(np.int32) for k in range(20)]
    source = check(
        lambda b, table, *x: b.concat(*(b.gather(table, y, np.int32(0)) for y in x), np.int32(1)),
        lambda table, *x: np.concatenate([table[y] for y in x], 1),
        [*arrays(dtypes.f32, (30, 6)), *rows],
    )
    assert source.count("def kernel") == 1
    assert len(innermost_loops(source)) == 20


def shuffled(b: Builder, x: Any, parts: int) -> Any:
    """Channels of parts, interleaved."""
    *pixels, channels = x.dims
    apart = [*pixels, parts, channels // parts]
    order = [*range(len(pixels)), len(pixels) + 1, len(pixels)]
    x = b.transpose(b.reshape(x, np.array(apart, np.int32)), np.array(order, np.int32))
    return b.reshape(x, np.array([*pixels, channels], np.int32))


def shuffled_array(x: Array, parts: int) -> Array:
    *pixels, channels = x.shape
    return x.reshape(*pixels, parts, channels // parts).swapaxes(-1, -2).reshape(x.shape)


@pytest.mark.parametrize(("parts", "taken"), [(2, 0), (2, 34), (3, 24), (4, 68), (2, 33)])
def test_interleaved_channels_are_read_without_gaps(parts: int, taken: int) -> None:
    """Of 72 or 68 channels, some are taken, as where a network shuffles channels."""
    channels = 68 if parts != 3 else 72

    def emit(b: Builder, *x: Any) -> Any:
        z = shuffled(b, b.concat(*x, np.int32(3)), parts)
        begin, size = np.array([0, 0, 0, taken], np.int32), np.array([2, 5, 7, -1], np.int32)
        return b.add(b.slice(z, begin, size), 1.0)

    source = check(
        emit,
        lambda *x: shuffled_array(np.concatenate(x, 3), parts)[..., taken:] + np.float32(1),
        arrays(dtypes.f32, *[(2, 5, 7, channels // parts)] * parts),
    )
    assert source.count("def kernel") == 1
    inner = innermost_loops(source)
    searched = any(" else " in loop or "idiv" in loop or "//" in loop for loop in inner)
    assert searched == (taken == 33)  # begins between two neighbours


def test_channels_that_are_shuffled_again_and_again_are_joined_once() -> None:
    """Without it, each element is searched for through all shuffles before."""

    def emit(b: Builder, x: Any, *more: Any) -> Any:
        for y in more:
            size = np.array([3, 20, 34], np.int32)
            kept = b.slice(x, np.array([0, 0, 0], np.int32), size)
            x = shuffled(b, b.concat(kept, y, np.int32(2)), 2)
        return b.slice(x, np.array([0, 0, 34], np.int32), size)

    def expected(x: Array, *more: Array) -> Array:
        for y in more:
            x = shuffled_array(np.concatenate([x[..., :34], y], 2), 2)
        return x[..., 34:]

    given = arrays(dtypes.f32, *[(3, 20, 68), *[(3, 20, 34)] * 5])
    source = check(emit, expected, given, threads=2)
    assert not any(" else " in loop for loop in innermost_loops(source))


def test_a_concatenation_computes_each_part_in_its_own_loop() -> None:
    source = check(
        lambda b, x, y: b.add(b.concat(b.relu(x), y, np.int32(1)), 1.0),
        lambda x, y: np.concatenate([np.maximum(x, 0), y], 1) + np.float32(1),
        arrays(dtypes.f32, (7, 20), (7, 33)),
    )
    assert source.count("def kernel") == 1


def test_vectors_are_joined_by_the_worker_whose_part_it_is() -> None:
    given = arrays(dtypes.f32, (50_000,), (3,), (90_000,))
    check(lambda b, *x: b.concat(*x, np.int32(0)), lambda *x: np.concatenate(x), given, threads=3)


def test_pads_and_mirrors() -> None:
    widths = np.array([[2, 1], [3, 0], [0, 2]], np.int32)
    x = arrays(dtypes.i32, (5, 9, 4))
    check(lambda b, x: b.pad(x, widths), lambda x: np.pad(x, widths), x)
    check(
        lambda b, x: b.mirror_pad(x, widths, mode="REFLECT"),
        lambda x: np.pad(x, widths, "reflect"),
        x,
    )


@pytest.mark.parametrize("shape", [(40, 9, 4), (symbol("n"), 40, 9, 4), (40, 4)])
def test_what_is_padded_is_walked_by_rows(shape: tuple[Any, ...]) -> None:
    """Not pixel by pixel: what is between the pads of a row is one loop, as are they. Where it is
    a branch, both pads are one call."""
    widths = np.array([[0, 0]] * (len(shape) - 2) + [[1, 2], [0, 0]], np.int32)
    program, source = compiled(lambda b, x: b.pad(x, widths), [(dtypes.f32, shape)])
    x = arrays(dtypes.f32, tuple(3 if n is shape[0] and n != 40 else n for n in shape))
    np.testing.assert_array_equal(program.run(x)[0], np.pad(x[0], widths))
    loops = innermost_loops(source)
    assert len(loops) + 2 * source.count("fill_block") == 3
    assert not any("idiv" in loop or "if" in loop for loop in loops)
    assert source.count("for ") == len(loops) + (len(shape) > 2)


def test_few_rows_of_long_pixels_stay_apart() -> None:
    """So that workers have pixels to share, and where a loop over each costs little to begin."""
    widths = np.array([[0, 0], [1, 1], [0, 0]], np.int32)
    for shape in ((2, 30, 64), (40, 9, 1500)):
        (x,) = arrays(dtypes.f32, shape)
        source = check(lambda b, x: b.pad(x, widths), lambda x: np.pad(x, widths), [x])
        assert "idiv" in source


def test_sizes_of_the_run_split_loops() -> None:
    n, m = symbol("n"), symbol("m")
    program, _ = compiled(
        lambda b, x, y: b.concat(x, y, np.int32(1)),
        [(dtypes.f32, (n, 3)), (dtypes.f32, (n, m))],
    )
    for rows, columns in [(4, 7), (1, 1), (3, 0), (0, 5)]:
        x, y = arrays(dtypes.f32, (rows, 3), (rows, columns))
        np.testing.assert_array_equal(program.run([x, y])[0], np.concatenate([x, y], 1))


def test_what_is_read_for_one_part_is_read_for_others_too() -> None:
    """Nothing is read of what may have no elements where it is not asked for: parts of a result
    that have the same elements ask for them each."""
    n = symbol("n")

    def folded(b: Builder, x: Any) -> Any:
        row = b.reshape(b.neg(x), b.sizes((1, *x.dims)))
        return b.max(b.concat(row, row, np.int32(0)), np.array([1], np.int32))

    program, _ = compiled(folded, [(dtypes.f32, (n,))])
    for size in (3, 1, 40, 0):
        x = np.linspace(1, 2, size, dtype=np.float32)
        expected = [-x[0] if size else -np.inf] * 2
        np.testing.assert_array_equal(program.run([x])[0], expected)


def test_branches_that_meet_are_one_kernel() -> None:
    def chain(b: Any, x: Any) -> Any:
        left = b.tanh(b.add(b.mul(x, 2.0), 1.0))
        return b.add(b.mul(left, b.sigmoid(x)), b.exp(b.mul(b.neg(x), x)))

    program, source = compiled(chain, [(dtypes.f32, (1000,))])
    assert source.count("def kernel") == 1
    (x,) = arrays(dtypes.f32, (1000,))
    x /= 50
    wide = x.astype(np.float64)
    expected = np.tanh(2 * wide + 1) / (1 + np.exp(-wide)) + np.exp(-wide * wide)
    np.testing.assert_allclose(program.run([x])[0], expected, rtol=2e-6, atol=1e-7)


def test_a_run_reuses_tables_but_not_results() -> None:
    program, _ = compiled(lambda b, x: b.add(x, 1.0), [(dtypes.f32, (symbol("n"),))])
    first = program.run([np.zeros(4, np.float32)])[0]
    second = program.run([np.ones(9, np.float32)])[0]
    third = program.run([np.full((8,), 5, np.float32)[::2]])[0]
    np.testing.assert_array_equal(first, np.ones(4))
    np.testing.assert_array_equal(second, np.full(9, 2))
    np.testing.assert_array_equal(third, np.full(4, 6))


@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64])
def test_a_softmax_divides_once_a_row(dtype: dtypes.DType) -> None:
    """And raises to e what it knows not to be above 0, whether TensorFlow's op or written out."""

    def written_out(b: Builder, x: Any) -> Any:
        exponentials = b.exp(b.sub(x, b.max(x, np.array([1], np.int32), keep_dims=True)))
        total = b.sum(exponentials, np.array([1], np.int32), keep_dims=True)
        return b.mul(exponentials, b.reciprocal(total))

    for emit in (lambda b, x: b.softmax(x), written_out):
        program, source = compiled(emit, [(dtype, (5, 70))])
        x = arrays(dtype, (5, 70))[0] / 50
        wide = np.exp(x.astype("g") - x.max(1, keepdims=True).astype("g"))
        expected = (wide / wide.sum(1, keepdims=True)).astype(x.dtype)
        np.testing.assert_allclose(program.run([x])[0], expected, rtol=8 * np.finfo(x.dtype).eps)
        assert f"exp_negative_{dtype}(" in source and f" exp_{dtype}(" not in source
        ((one, total),) = re.findall(r"(\S+) / (\S+)", source)
        assert one == f"{dtype}(1.0)"
        assert f"{total} = total1[p - first]" in source, "the same for all of a row"


@pytest.mark.parametrize("target", ["native", "x86-64-v2"])
@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64])
def test_the_largest_of_a_row_is_looked_for_among_numbers(dtype: dtypes.DType, target: str) -> None:
    """And NaN beside it, which takes fewer instructions; zeros of both signs are not told apart."""
    report = Report()
    b = Builder()
    x = b.parameter("x", tensor_type(dtype, (5, 70)))
    c = b.build([b.max(x, np.array([1], np.int32)), b.min(x, np.array([1], np.int32))])
    spec = spec_of(c, ["x"], ["y", "z"])
    options = Options(target=target)
    program = compile_computation(c, options, spec, report=report, kernels=kernels_in_memory())
    text = "".join(kernel_text(k) for k in report.stages.kernels.values())
    assert not re.findall(r"llvm\.(?:max|min)imum", text)
    assert len(re.findall(r"fcmp nnan nsz o[gl]t", text)) == 2
    given = np.ones((5, 70), dtype.numpy)
    given[[0, 1, 2], [0, 41, 69]] = np.nan  # in the first vector, a later one, behind the last
    given[3], given[4, ::2], given[4, 1::2] = np.nan, np.inf, -np.inf
    largest, smallest = Executable(program, 1).run([given])
    np.testing.assert_array_equal(largest, [np.nan] * 4 + [np.inf])
    np.testing.assert_array_equal(smallest, [np.nan] * 4 + [-np.inf])


@pytest.mark.parametrize("target", ["native", "x86-64-v2"])
@pytest.mark.parametrize("dtype", [dtypes.f32, dtypes.f64, dtypes.bf16])
def test_the_largest_of_a_column_is_looked_for_among_numbers(
    dtype: dtypes.DType, target: str
) -> None:
    """Also where a total is NaN of the rows before: a NaN in the first row, among four that go
    together, behind the last four, and in the last lane of a vector's rest."""
    report = Report()
    b = Builder()
    x = b.parameter("x", tensor_type(dtype, (3, 23, 77)))
    axis = np.array([1], np.int32)
    c = b.build([b.max(x, axis), b.min(x, axis)])
    spec = spec_of(c, ["x"], ["y", "z"])
    program = compile_computation(
        c, Options(target=target), spec, report=report, kernels=kernels_in_memory()
    )
    assert "max_number" in "".join(k.source for k in report.stages.kernels.values())
    given = np.random.default_rng(3).standard_normal((3, 23, 77)).astype(dtype.numpy)
    given[1, [0, 5, 22, 9], [0, 20, 33, 76]] = np.nan
    given[2, :, 7] = -np.inf
    largest, smallest = Executable(program, 1).run([given])
    wide = given.astype(np.float64)
    np.testing.assert_array_equal(largest.astype(np.float64), wide.max(1))
    np.testing.assert_array_equal(smallest.astype(np.float64), wide.min(1))
    assert np.isnan(wide.max(1)[1, [0, 20, 33, 76]]).all()


@pytest.mark.parametrize(
    ("shape", "axes"), [((9, 70, 40), (0, 2)), ((3, 5, 4, 7, 6), (1, 3, 4)), ((2, 3, 2000), (0, 2))]
)
@pytest.mark.parametrize("threads", [1, 2])
def test_axes_that_are_not_adjacent_are_folded_run_by_run(
    shape: tuple[int, ...], axes: tuple[int, ...], threads: int
) -> None:
    """No division for each element: those of the last axes are a loop of their own."""
    x = [np.arange(np.prod(shape), dtype=np.float32).reshape(shape) % 13]
    fold = lambda b, x: b.sum(x, np.array(axes, np.int32))
    source = check(fold, lambda x: x.sum(axes), x, threads)
    assert innermost_loops(source) and not any("idiv" in loop for loop in innermost_loops(source))


@pytest.mark.parametrize("rows", [100_000, symbol("n")])
def test_long_columns_are_added_up_in_parts(rows: Any) -> None:
    """One chain of 100,000 squares loses 4e-5 of their sum, as small ones are lost beside it."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (rows, 5)))
    program = compile_computation(
        c := b.build([b.sum(x, np.int32(0))]), Options(), spec_of(c, ["x"], ["y"])
    )
    squares = np.random.default_rng(0).standard_normal((100_000, 5)).astype(np.float32) ** 2
    (found,) = Executable(program, 1).run([squares])
    np.testing.assert_allclose(found, squares.astype(np.float64).sum(0), 2e-6)


@pytest.mark.parametrize(
    ("columns", "together"),
    [(8, True), (24, True), (300, True), (symbol("n"), True), (5, False), (12, False)],
)
@pytest.mark.parametrize("fold", ["sum", "max", "prod"])
def test_several_rows_join_a_column_at_once(fold: str, columns: Any, together: bool) -> None:
    """Of few columns that leave vectors half empty, one by one."""
    for rows in (64, 101, 3000):
        b: Any = Builder()
        x = b.parameter("x", tensor_type(dtypes.f32, (2, rows, columns)))
        c = b.build([getattr(b, fold)(x, np.int32(1))])
        report = Report()
        program = compile_computation(c, Options(), spec_of(c, ["x"], ["y"]), report=report)
        (kernel,) = report.stages.kernels.values()
        assert ("whole" in kernel.source) == (fold == "sum" and rows > 1024)
        several = re.findall(r"for r in range\(.*, 4\):", kernel.source)
        assert bool(several) == together
        size = columns if isinstance(columns, int) else 41
        given = np.random.default_rng(rows).uniform(0.9, 1.1, (2, rows, size)).astype(np.float32)
        exact = getattr(given.astype(np.float64), fold)(1)
        (found,) = Executable(program, 2).run([given])
        np.testing.assert_allclose(found, exact, rtol=1e-4)


def test_normalized_groups_of_channels_are_read_run_by_run() -> None:
    """Group norm: mean and variance over axes that are not adjacent, and what is made of them."""

    def normalized(b: Builder, x: Any) -> Any:
        axes = np.array([1, 3], np.int32)
        less = b.sub(x, b.mean(x, axes, keep_dims=True))
        return b.mul(less, b.rsqrt(b.mean(b.mul(less, less), axes, keep_dims=True)))

    def expected(x: Array) -> Array:
        less = x.astype(np.float64) - x.mean((1, 3), keepdims=True, dtype=np.float64)
        return less / np.sqrt((less * less).mean((1, 3), keepdims=True))

    x = arrays(dtypes.f32, (2, 50, 4, 9))
    program, source = compiled(normalized, [(dtypes.f32, x[0].shape)])
    np.testing.assert_allclose(program.run(x)[0], expected(x[0]), rtol=2e-5, atol=2e-6)
    assert source.count("def kernel") == 1
    assert not any("idiv" in loop for loop in innermost_loops(source))


def innermost_loops(source: str) -> list[str]:
    """The bodies of the loops that hold no other."""
    found: list[str] = []
    lines = source.splitlines()
    for at, line in enumerate(lines):
        if not line.lstrip().startswith("for "):
            continue
        depth = len(line) - len(line.lstrip())
        rest = (n for n, x in enumerate(lines) if n > at and len(x) - len(x.lstrip()) <= depth)
        body = lines[at + 1 : next(rest, len(lines))]
        if not any(x.lstrip().startswith("for ") for x in body):
            found.append("\n".join(body))
    return found
