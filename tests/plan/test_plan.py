"""Where values are: slots are shared when lifetimes do not meet, reshapes cost nothing, and what a
caller passes in is never written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from compiled_ir import plain_spec
from ir_reference import random_inputs, reference_results
from plan_memory import check_memory
from tensor_types import tensor_type

from flowc.codegen.program import Stages
from flowc.compiler import Report, compile_computation, load_executable
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim, symbol, symbols_of
from flowc.options import Options
from flowc.plan.arena_layout import measured
from flowc.plan.plan import (
    ALIGNMENT,
    Arena,
    ConstantPlace,
    Copy,
    Heap,
    Input,
    Output,
    Plan,
    ReadSizes,
    Run,
    WriteSizes,
    root_of,
)

N = symbol("n")


def built(write: Callable[[Builder], Value | Sequence[Value]]) -> Computation:
    b = Builder()
    found = write(b)
    return b.build([found] if isinstance(found, Value) else found)


def x_of(b: Builder, *dims: Any, name: str = "x", dtype: str = "f32") -> Value:
    return b.parameter(name, tensor_type(dtype, dims))


def plan_of(c: Computation, options: Options | None = None) -> Plan:
    report = Report(stages=Stages())
    compile_computation(c, options or Options(), plain_spec(c), report=report)
    assert report.stages.plan is not None
    check_memory(report.stages.plan)
    return report.stages.plan


def check_run(c: Computation, n: int = 3) -> list[np.ndarray]:
    """Runs twice with inputs that must not change; compares with the references."""
    arrays = random_inputs(c, n=n)
    copies = [a.copy() for a in arrays]
    run = load_executable(c, Options(), plain_spec(c), threads=2).run
    first, second = run(arrays), run(arrays)
    for x, y, z in zip(first, second, reference_results(c, copies), strict=True):
        np.testing.assert_allclose(x, z, rtol=2e-5, atol=2e-5)
        np.testing.assert_array_equal(x, y)
        assert not any(np.shares_memory(x, a) for a in (y, *arrays))
    for array, copy in zip(arrays, copies):
        np.testing.assert_array_equal(array, copy)
    return first


def kinds(plan: Plan) -> list[type]:
    return [type(plan.places[root_of(v)]) for v in plan.computation.results]


# -- slots


def matmul_chain(b: Builder, count: int, rows: Dim = 6) -> Value:
    x = x_of(b, rows, 8)
    w = b.const(np.eye(8, dtype=np.float32) * np.float32(0.5))
    for _ in range(count):
        x = b.relu(b.mat_mul(x, w))
    return x


def values_in_slots(plan: Plan) -> set[int]:
    return {p.slot for v, p in plan.places.items() if isinstance(p, Arena)}


def arena_bytes(plan: Plan, n: int = 64) -> int:
    return measured(plan, dict.fromkeys(symbols_of(*(slot.size for slot in plan.slots)), n))[0]


@pytest.mark.parametrize("rows", [6, N], ids=str)
def test_a_chain_of_products_needs_two_values_at_once(rows: Dim) -> None:
    c = built(lambda b: matmul_chain(b, 10, rows))
    plan = plan_of(c)
    assert sum(isinstance(s, Run) for s in plan.steps) == 10
    size = (6 if rows == 6 else 64) * 8 * 4
    assert arena_bytes(plan) == 2 * -(-size // ALIGNMENT) * ALIGNMENT
    check_run(c)


def test_the_arena_holds_the_largest_neighbours() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, 4, 8)
        for width in (16, 64, 8, 128, 4):
            size = int(x.dims[1])
            x = b.mat_mul(b.tanh(x), np.full((size, width), 0.1, np.float32))
        return x

    plan = plan_of(built(write))
    assert all(int(slot.size) % ALIGNMENT == 0 for slot in plan.slots)
    assert arena_bytes(plan) == 4 * 4 * (8 + 128)
    check_run(built(write))


def test_a_value_that_is_read_late_keeps_its_slot() -> None:
    def write(b: Builder) -> Value:
        first = b.mat_mul(x_of(b, 8, 8), np.eye(8, dtype=np.float32))
        y = first
        for _ in range(4):
            y = b.relu(b.mat_mul(y, np.eye(8, dtype=np.float32) * np.float32(0.3)))
        return b.add(b.transpose(b.mat_mul(y, first), np.array([1, 0], np.int32)), first)

    plan_of(built(write))
    check_run(built(write))


# -- reshapes


def test_a_reshape_is_where_its_source_is() -> None:
    def write(b: Builder) -> Value:
        y = b.reshape(b.mat_mul(x_of(b, N, 6), np.ones((6, 4), np.float32)), (N * 2, 2))
        return b.mat_mul(y, np.ones((2, 3), np.float32))

    plan = plan_of(built(write))
    (reshape,) = [n for n in plan.computation.nodes if n.label == "reshape"]
    assert plan.places[reshape.output] == plan.places[reshape.inputs[0]]
    assert root_of(reshape.output) is reshape.inputs[0]
    assert len(values_in_slots(plan)) == 1
    check_run(built(write))


def test_a_reshape_keeps_its_source_alive() -> None:
    def write(b: Builder) -> Value:
        y = b.mat_mul(x_of(b, 6, 6), np.eye(6, dtype=np.float32))
        kept = b.reshape(y, (4, 9))
        for _ in range(3):
            y = b.mat_mul(y, np.eye(6, dtype=np.float32))
        return b.mat_mul(kept, b.reshape(y, (9, 4)))

    plan_of(built(write))
    check_run(built(write))


# -- results


def test_results_are_written_where_the_caller_wants_them() -> None:
    c = built(lambda b: b.relu(x_of(b, N, 4)))
    plan = plan_of(c)
    assert kinds(plan) == [Output] and not values_in_slots(plan)
    assert not any(isinstance(s, Copy) for s in plan.steps)


def test_results_that_are_parameters_and_constants_are_copied() -> None:
    def write(b: Builder) -> list[Value]:
        x = x_of(b, N, 4)
        k = b.const(np.arange(6, dtype=np.float32))
        return [x, k, b.reshape(x, (N * 4,)), b.reshape(k, (2, 3)), x]

    plan = plan_of(built(write))
    assert kinds(plan) == [Input, ConstantPlace, Input, ConstantPlace, Input]
    assert sum(isinstance(s, Copy) for s in plan.steps) == 5
    assert not any(isinstance(s, Run) for s in plan.steps)
    found = check_run(built(write))
    assert not any(np.shares_memory(x, y) for x in found for y in found if x is not y)


def test_one_value_as_several_results() -> None:
    def write(b: Builder) -> list[Value]:
        y = b.exp(x_of(b, N, 4))
        return [y, y, b.reshape(y, (4, N)), b.reshape(y, (N * 4,))]

    plan = plan_of(built(write))
    assert [s.target for s in plan.steps if isinstance(s, Copy)] == [
        Output(1),
        Output(2),
        Output(3),
    ]
    found = check_run(built(write))
    found[0][:] = 7
    assert not np.any(found[1] == 7)


def test_a_result_is_read_on_from_the_callers_buffer() -> None:
    def write(b: Builder) -> list[Value]:
        y = b.mat_mul(x_of(b, N, 4), np.eye(4, dtype=np.float32))
        return [y, b.mat_mul(y, np.ones((4, 2), np.float32)), b.reshape(y, (2 * N, 2))]

    plan = plan_of(built(write))
    assert kinds(plan) == [Output, Output, Output] and not values_in_slots(plan)
    check_run(built(write))


def test_no_results_and_empty_results() -> None:
    check_run(
        built(lambda b: [b.relu(x_of(b, 0, 4)), b.concat(*[x_of(b, 0, name="e")] * 2, 0)][:1])
    )
    check_run(built(lambda b: b.sum(x_of(b, 0, 4), np.array([0], np.int32))))


# -- sizes


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_symbolic_sizes(n: int) -> None:
    def write(b: Builder) -> list[Value]:
        x = x_of(b, N, 6)
        y = b.mat_mul(b.softmax(x), np.ones((6, 5), np.float32))
        z = b.concat(y, b.mat_mul(x, np.ones((6, 5), np.float32)), np.int32(0))
        return [z, b.shape(z), b.reshape(b.relu(z), (N * 10,))]

    c = built(write)
    plan = plan_of(c)
    assert any(isinstance(s, WriteSizes) for s in plan.steps)
    check_run(c, n)


def test_slots_of_two_sizes_share_bytes() -> None:
    def write(b: Builder) -> Value:
        x = x_of(b, N, symbol("m"))
        for _ in range(3):
            x = b.mat_mul(b.tanh(x), x, transpose_b=True)
            x = b.mat_mul(b.tanh(x), x)
        return x

    c = built(write)
    plan_of(c)
    arrays = [np.random.default_rng(0).normal(size=(3, 7)).astype(np.float32) / 3]
    found = load_executable(c, Options(), plain_spec(c)).run(arrays)
    np.testing.assert_allclose(found[0], reference_results(c, arrays)[0], rtol=1e-4, atol=1e-5)


def test_sizes_read_by_the_run_are_on_the_heap() -> None:
    def write(b: Builder) -> Value:
        dims = x_of(b, 2, name="dims", dtype="i32")
        filled = b.fill(dims, b.const(np.float32(2)))
        return b.mat_mul(b.tanh(filled), filled, transpose_b=True)

    c = built(write)
    plan = plan_of(c)
    assert any(isinstance(s, ReadSizes) for s in plan.steps)
    run = load_executable(c, Options(), plain_spec(c)).run
    for shape in ((3, 4), (1, 1), (50, 2), (0, 3)):
        (found,) = run([np.array(shape, np.int32)])
        wanted = np.full((shape[0], shape[0]), np.tanh(2.0) * 2 * shape[1], np.float32)
        np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert any(isinstance(p, Heap) for p in plan.places.values())


def test_sizes_with_a_bound_are_planned_by_it() -> None:
    def write(b: Builder) -> list[Value]:
        values, positions = b.unique(x_of(b, N, dtype="i32"))
        return [b.mul(values, values), positions]

    c = built(write)
    plan = plan_of(c)
    assert not plan.blocks and all(b is not None for b in plan.top.bounds.values())
    run = load_executable(c, Options(), plain_spec(c)).run
    found = run([np.array([3, 1, 3, 3, 2], np.int32)])
    np.testing.assert_array_equal(found[0], [9, 1, 4])
    np.testing.assert_array_equal(found[1], [0, 1, 0, 0, 2])


# -- in all


@pytest.mark.parametrize("fuse", [True, False])
def test_lifetimes_hold_in_a_graph_with_everything(fuse: bool) -> None:
    def write(b: Builder) -> list[Value]:
        x, y = x_of(b, N, 8), x_of(b, N, 8, name="y")
        w = b.const(np.eye(8, dtype=np.float32))
        a = b.mat_mul(b.softmax(x), w)
        d = b.reshape(b.mat_mul(b.add(a, y), w), (N * 2, 4))
        e = b.mat_mul(d, np.ones((4, 4), np.float32))
        f = b.reshape(b.sub(e, b.mean(e, np.array([1], np.int32), keep_dims=True)), (N, 8))
        return [b.add(f, a), f, b.transpose(f, np.array([1, 0], np.int32)), x]

    c = built(write)
    plan_of(c, Options(fuse=fuse))
    check_run(c)
