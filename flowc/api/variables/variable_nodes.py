"""What both kinds of variables share: where they are made and how they change.

In: tensors that stand for variables, values. Out: the nodes of changes. Invariant: nothing of a
variable is made inside a loop or a branch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flowc.graph import Graph, Tensor, TensorShape
from flowc.graph.building.creation import output


def check_outside(initial: Tensor, scope: str) -> None:
    """Raises `ValueError` for an initial value that a loop or a branch makes."""
    if initial.op.control_flow_context is not None:
        raise ValueError(
            f"Initializer for variable {scope} is from inside a control-flow construct, such as a "
            "loop or conditional. When creating a variable inside a loop or conditional, use a "
            "lambda as the initializer."
        )


@contextmanager
def outside_control_flow(graph: Graph) -> Iterator[None]:
    """Operations made inside belong to no loop or branch and wait for nothing."""
    scope = graph.get_name_scope()
    with graph.name_scope(f"{scope}/" if scope else None), graph.control_dependencies(None):
        yield


def assign_to(
    ref: Tensor,
    value: Any,
    use_locking: bool = True,
    name: str | None = None,
    validate_shape: bool = True,
) -> Tensor:
    found = output(
        "Assign", ref, value, name=name, validate_shape=validate_shape, use_locking=use_locking
    )
    if not validate_shape:
        found.set_shape(None)
    return found


def scatter_to(
    ref: Tensor, kind: str, indices: Any, updates: Any, use_locking: bool, name: str | None
) -> Tensor:
    found = output(f"Scatter{kind}", ref, indices, updates, name=name, use_locking=use_locking)
    check_updates(kind, ref.shape, *found.op.inputs[1:])
    return found


def check_updates(kind: str, held: TensorShape, indices: Tensor, updates: Tensor) -> None:
    """Raises `ValueError` where updates of slices do not fit the indices into a variable of shape
    `held`; of rows, building the node says so."""
    if not kind.startswith("Nd"):
        return
    depth = None if not indices.shape.ndims else indices.shape[-1].value
    if depth is None or held.ndims is None:
        return
    if depth > held.ndims:
        raise ValueError(
            f"index innermost dimension length must be <= {held.ndims}, the variable's rank: "
            f"found {depth}"
        )
    wanted = indices.shape[:-1].concatenate(held[depth:])
    if not updates.shape.is_compatible_with(wanted):
        raise ValueError(
            f"updates of shape {updates.shape} do not fit indices {indices.shape} into a variable "
            f"of shape {held}: expected {wanted}"
        )
