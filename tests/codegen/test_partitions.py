"""The ways of sharing a range that every op is tested with find what depends on them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from partitions import PartitionedProgram, pieces
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.driver.launch import workers_of
from flowc.codegen.kernels.kernel import Kernel, Launch
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation
from flowc.ir.dims import Dim, symbol
from flowc.ir.lowering import Native
from flowc.ir.op import Op
from flowc.options import Options


def _double(x: Any, y: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        y[i] = x[i] + x[i]


def _add_length(x: Any, y: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        y[i] = x[i] + (end - begin)


def _add_neighbour(x: Any, y: Any, begin: int, end: int) -> None:
    for i in range(begin, end):
        y[i] = x[i]
        if i > begin:
            y[i] += y[i - 1]


def program(kernel: Any) -> Computation:
    op = Op(
        "partitioned",
        tf="_Partitioned(x: f32) -> y: f32",
        infer=lambda c: c.dims(0),
        lowering=lambda node: Native(kernel, parallel=node.inputs[0].dims[0]),
    )
    b = Builder()
    return b.build([b.emit(op, [b.parameter("x", tensor_type(dtypes.f32, (9,)))], {}).output])


X = np.arange(9, dtype=np.float32)


def test_pieces_make_up_the_range() -> None:
    for total in range(60):
        found = sorted(pieces(total))
        assert [i for begin, end in found for i in range(begin, end)] == list(range(total))
        assert total < 2 or len(found) > 1


def test_a_kernel_whose_tasks_own_their_outputs() -> None:
    (found,) = PartitionedProgram(program(_double), Options()).run([X])
    np.testing.assert_array_equal(found, 2 * X)


@pytest.mark.parametrize("kernel", [_add_length, _add_neighbour], ids=lambda k: k.__name__)
def test_a_kernel_that_sees_its_piece(kernel: Any) -> None:
    partitioned = PartitionedProgram(program(kernel), Options())
    alone = partitioned.alone.run([X])
    assert not np.array_equal(partitioned.in_pieces.run([X])[0], alone[0])
    with pytest.raises(AssertionError, match=r"on one thread \["):
        partitioned.run([X])


@pytest.mark.parametrize("length", [5, 40])
@pytest.mark.parametrize("name", ["max", "min"])
def test_which_zero_is_the_largest_does_not_depend_on_the_piece(name: str, length: int) -> None:
    """Short rows become vectors of rows, as many as a piece has."""
    b = Builder()
    x = b.parameter("x", tensor_type(dtypes.f32, (37, length)))
    c = b.build([getattr(b, name)(x, np.array([1], np.int32))])
    zeros = np.where(np.random.default_rng(1).random((37, length)) < 0.5, 0.0, -0.0)
    (found,) = PartitionedProgram(c, Options()).run([zeros.astype(np.float32)])
    assert not found.any()


@pytest.mark.parametrize(
    ("ranges", "wakes"),
    [
        ([], None),
        ([(1, 1), (5, 5)], None),  # no kernel is shared
        ([(35, 5), (10, 5)], None),  # some are, but no job wakes anybody
        ([(40, 5), (10, 5)], 0),  # one may, but the run does not when it begins
        ([(200, 5), (10, 5)], 39),
        ([(200, 0)], 0),  # nobody knows how much work that is
        ([(7, -4)], 0),
        ([(7, -40)], 6),  # few steps, each worth a few chunks, or many
        ([(1, -100)], None),
        ([(symbol("n"), 5)], 0),
    ],
)
def test_how_many_workers_a_run_wakes_when_it_begins(
    ranges: list[tuple[Dim, Dim]], wakes: int | None
) -> None:
    kernel = Kernel("", (), 0)
    launches = [Launch(kernel, (), (), total, grain) for total, grain in ranges]
    assert workers_of(launches) == wakes
