"""The nodes that TensorFlow 1 writes loops and conditionals with.

In: tensors of the default graph. Out: new operations in its scopes and its control-flow context.
A reference to a variable stays a reference: it goes through the op's `Ref` variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.errors import ShapeError
from flowc.graph.control_types import (
    ENTER,
    EXIT,
    FRAME_TYPES,
    LOOP_COND,
    MERGE,
    PASSING,
    SWITCH,
    reference_form,
)
from flowc.graph.operation import Operation
from flowc.graph.shape import UNKNOWN_SHAPE, TensorShape
from flowc.graph.tensor import Tensor
from flowc.ir.text.shape_text import shown_dims


def _make(
    op_type: str,
    inputs: Sequence[Tensor],
    shapes: Sequence[TensorShape],
    name: str | None,
    attrs: dict[str, Any] | None = None,
) -> Operation:
    """An operation whose outputs have the dtype of its first input; references stay references."""
    is_ref = reference_form(op_type) in FRAME_TYPES | PASSING and all(t.is_ref for t in inputs[:1])
    if op_type in MERGE:
        is_ref = all(t.is_ref for t in inputs)
    full_type = reference_form(op_type) if is_ref else op_type
    dtype = inputs[0].base_dtype
    assert dtype is not None
    types: list[tuple[Any, Any]] = [(dtype, shape) for shape in shapes]
    if op_type in MERGE:
        types.append((dtypes.i32, ()))
    graph = inputs[0].graph
    beside = [t for t in inputs if t.is_ref and is_ref]
    # The scope also names what brings the inputs in.
    with graph.name_scope(name or full_type) as scope, graph.colocate_with_all(beside):
        return graph.add_operation(
            full_type,
            inputs,
            attrs if op_type == LOOP_COND else {"T": dtype, **(attrs or {})},
            scope,
            output_types=types,
            ref_outputs=range(len(shapes)) if is_ref else (),
        )


def switch(data: Tensor, pred: Tensor, name: str = "Switch") -> tuple[Tensor, Tensor]:
    """(`data` where `pred` is false, `data` where it is true): one of them is dead at run time.

    Raises `TypeError` where `pred` is not bool, `ShapeError` where it is no scalar."""
    _check_predicate("Switch", "pred", (data, pred), name)
    op = _make("Switch", (data, pred), (data.shape, data.shape), name)
    return op.outputs[0], op.outputs[1]


def switch_beside(data: Tensor, pred: Tensor) -> tuple[Tensor, Tensor]:
    """`switch`, placed where `data` is."""
    with data.graph.colocate_with(data, ignore_existing=True):
        return switch(data, pred)


def merge(inputs: Sequence[Tensor], name: str | None = None) -> Tensor:
    """The input that is alive. Its static shape is what all inputs agree on."""
    shape = inputs[0].shape
    for other in inputs[1:]:
        shape = shape.most_specific_compatible_shape(other.shape)
    return _make("Merge", inputs, [shape], name or "Merge", {"N": len(inputs)}).outputs[0]


def enter(
    data: Tensor,
    frame: str,
    is_constant: bool,
    parallel_iterations: int,
    shape: TensorShape = UNKNOWN_SHAPE,
    name: str | None = None,
) -> Tensor:
    """`data` inside the frame: in its first iteration, or with `is_constant` in all."""
    attrs = {
        "frame_name": frame.encode(),
        "is_constant": is_constant,
        "parallel_iterations": parallel_iterations,
    }
    return _make("Enter", [data], [shape], name, attrs).outputs[0]


def exit(data: Tensor, name: str | None = None) -> Tensor:
    """`data` outside its frame, when the loop is over."""
    return _make("Exit", [data], [data.shape], name).outputs[0]


def next_iteration(data: Tensor, name: str | None = None) -> Tensor:
    return _make("NextIteration", [data], [data.shape], name).outputs[0]


def identity(data: Tensor, name: str | None = None) -> Tensor:
    return _make("Identity", [data], [data.shape], name).outputs[0]


def value(data: Tensor) -> Tensor:
    """`data` again; of a reference, what it refers to."""
    graph = data.graph
    with graph.name_scope("Identity") as scope:
        types: list[tuple[Any, Any]] = [(data.base_dtype, data.shape)]
        op = graph.add_operation(
            "Identity", [data], {"T": data.base_dtype}, scope, output_types=types
        )
        return op.outputs[0]


def loop_cond(pred: Tensor, name: str = LOOP_COND) -> Tensor:
    """Raises `TypeError` where `pred` is not bool, `ShapeError` where it is no scalar."""
    _check_predicate(LOOP_COND, "input", (pred,), name)
    return _make(LOOP_COND, [pred], [pred.shape.merge_with(())], name).outputs[0]


def _check_predicate(op_type: str, argument: str, inputs: Sequence[Tensor], name: str) -> None:
    """Raises for a last input that is not one bool, in TensorFlow's words."""
    pred = inputs[-1]
    if pred.base_dtype is not dtypes.bool_:
        raise TypeError(
            f"Input '{argument}' of '{op_type}' Op has type {dtypes.name_of(pred.base_dtype)} that "
            "does not match expected type of bool."
        )
    if pred.shape.ndims in (None, 0):
        return
    node = name[:-1] if name.endswith("/") else pred.graph.unique_name(name, mark_as_used=False)
    attrs = "T=DT_BOOL" if op_type in SWITCH and inputs[0].base_dtype is dtypes.bool_ else ""
    taken = ", ".join(t.name.removesuffix(":0") for t in inputs)
    sizes = ", ".join(shown_dims(t.shape.sizes) for t in inputs)
    raise ShapeError(
        f"Shape must be rank 0 but is rank {pred.shape.ndims} for '{{{{node {node}}}}} = "
        f"{op_type}[{attrs}]({taken})' with input shapes: {sizes}.",
        node=node,
        hint="a condition is one bool: reduce it with tf.reduce_all or tf.reduce_any",
    )


def is_exit(op: Operation) -> bool:
    return op.type in EXIT


def is_constant_enter(op: Operation) -> bool:
    return op.type in ENTER and bool(op.attrs["is_constant"])
