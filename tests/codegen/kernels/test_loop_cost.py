"""What loops cost follows from the scalar primitives that their nodes are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tensor_types import tensor_type

from flowc import dtypes
from flowc.codegen.cpu.loop_choices import CPU_CHOICES
from flowc.codegen.kernels.cost import cost_of_node
from flowc.ir.builder import Builder
from flowc.ir.dims import symbol
from flowc.ir.scalar import DIVIDED, PRIMITIVES


def node_of(emit: Callable[..., Any], count: int, dtype: dtypes.DType = dtypes.f32) -> Any:
    b = Builder()
    return emit(b, *(b.parameter(f"x{i}", tensor_type(dtype, (8,))) for i in range(count))).node


@pytest.mark.parametrize("name", ["exp", "tanh", "lgamma", "zeta", "pow"])
def test_a_node_costs_what_its_primitive_costs(name: str) -> None:
    node = node_of(lambda b, *x: getattr(b, name)(*x), PRIMITIVES[name].operands)
    assert cost_of_node(node) >= PRIMITIVES[name].cost
    assert cost_of_node(node) >= DIVIDED


def test_ops_that_are_no_primitives_cost_what_is_in_them() -> None:
    assert cost_of_node(node_of(lambda b, x: b.softplus(x), 1)) >= DIVIDED
    assert cost_of_node(node_of(lambda b, x: b.elu(x), 1)) >= DIVIDED
    assert cost_of_node(node_of(lambda b, x: b.relu(x), 1)) < DIVIDED
    assert cost_of_node(node_of(lambda b, x, y: b.add(x, y), 2)) < DIVIDED


def test_compute_bound_loops_are_shared_in_smaller_chunks() -> None:
    grain = CPU_CHOICES.grain
    assert grain(0.5) == CPU_CHOICES.chunk_nanoseconds / 0.5
    assert grain(0.5, 1000) == CPU_CHOICES.chunk_nanoseconds / 500
    assert grain(1e9) == 1
    assert grain(0.5, 100 * CPU_CHOICES.chunk_nanoseconds) == -50
    assert not isinstance(grain(0.5, symbol("n")), int)
