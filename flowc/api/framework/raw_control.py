"""The raw ops of loops and conditionals: `Switch`, `Merge`, `Enter`, `Exit`, ...

In: tensors, by keyword, as in `tf.raw_ops`. Out: the tensors of one new node. A loop's back edge is
closed by `merge.op.update_input(1, next)`. These nodes have no op records: extraction makes loops
and branches of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flowc.api.framework.scopes import name_scope
from flowc.graph import Tensor
from flowc.graph.building import control_nodes
from flowc.graph.building.conversion import as_tensor
from flowc.graph.shape import UNKNOWN_SHAPE


class Switched(NamedTuple):
    """`data` on the side that the predicate takes; the other one is dead."""

    output_false: Tensor
    output_true: Tensor


class Merged(NamedTuple):
    """The input that is alive, and its number."""

    output: Tensor
    value_index: Tensor


def switch(*, data: Any, pred: Any, name: str | None = None) -> Switched:
    """`data`, of any dtype and shape, on the side that `pred`, a bool scalar, takes. Raises
    `TypeError` for what is no tensor."""
    with name_scope(name, "Switch") as scope:
        given = as_tensor(data, name="data"), as_tensor(pred, name="pred")
        return Switched(*control_nodes.switch(*given, scope))


def merge(*, inputs: Sequence[Any], name: str | None = None) -> Merged:
    """The one of `inputs`, of one dtype, that is alive, and its number, an int32 scalar. Raises
    `TypeError` for what is no tensor."""
    with name_scope(name, "Merge") as scope:
        given = [as_tensor(x, name=f"inputs_{k}") for k, x in enumerate(inputs)]
        return Merged(*control_nodes.merge(given, scope).op.outputs)


def enter(
    *,
    data: Any,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    name: str | None = None,
) -> Tensor:
    """`data`, of any dtype and shape, in the frame of a loop. Raises
    `TypeError` for what is no tensor."""
    with name_scope(name, "Enter") as scope:
        given = as_tensor(data, name="data")
        shape = given.shape if is_constant else UNKNOWN_SHAPE
        return control_nodes.enter(
            given, frame_name, is_constant, parallel_iterations, shape, scope
        )


def leave(*, data: Any, name: str | None = None) -> Tensor:
    """`data`, of any dtype and shape, behind the loop. Raises `TypeError` for what is no tensor."""
    with name_scope(name, "Exit") as scope:
        return control_nodes.exit(as_tensor(data, name="data"), scope)


def next_iteration(*, data: Any, name: str | None = None) -> Tensor:
    """`data`, of any dtype and shape, in the next iteration. Raises `TypeError` for what is no
    tensor."""
    with name_scope(name, "NextIteration") as scope:
        return control_nodes.next_iteration(as_tensor(data, name="data"), scope)


def loop_cond(*, input: Any, name: str | None = None) -> Tensor:
    """`input`, a bool scalar, as the condition of a loop. Raises `TypeError` for what is no
    tensor."""
    with name_scope(name, "LoopCond") as scope:
        return control_nodes.loop_cond(as_tensor(input, name="input"), scope)


CONTROL_OPS: dict[str, Callable[..., Any]] = {
    "Enter": enter,
    "Exit": leave,
    "LoopCond": loop_cond,
    "Merge": merge,
    "NextIteration": next_iteration,
    "Switch": switch,
}
