"""Gradients of the operations on TensorArrays.

In: an operation that reads or writes elements, and the gradient of what it gives. Out: the gradient
of what it takes, by a second array, in which the gradients of the elements are summed. Invariant:
one call of `gradients` has one such array for each forward one, which its name scope names.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc.api.control_flow.tensor_array import TensorArray
from flowc.api.framework.basics import identity
from flowc.api.framework.scopes import control_dependencies
from flowc.graph import Operation, Tensor


def _source(tensor: Tensor) -> str:
    """The scope of the call of `gradients` that made a tensor. Raises `ValueError` for none."""
    parts = tensor.name.split("/")
    found = [i for i, part in enumerate(parts) if part.startswith("gradients")]
    if not found:
        raise ValueError(
            "Expected op/tensor name to start with gradients (excluding scope), got: "
            f"{tensor.name}. Gradients of TensorArrays need a call of tf.gradients whose `name` "
            "starts with 'gradients'."
        )
    return "/".join(parts[: found[-1] + 1])


def _array_of_gradients(op: Operation, dtype: str, flow: Tensor, source: str) -> TensorArray:
    array = TensorArray(
        op.attrs[dtype], handle=op.inputs[0], flow=flow, colocate_with_first_write_call=False
    )
    return array.grad(source=source, flow=flow)


def _before_reading(op: Operation, dy: Tensor) -> tuple[TensorArray, Tensor]:
    """(the array of gradients, its flow) once the operation has written"""
    source = _source(dy)
    written = identity(op.outputs[0], name="flow_out")
    with control_dependencies([written]):
        flow = identity(dy, name="write_barrier")
    return _array_of_gradients(op, "T", flow, source), flow


def _read(op: Operation, dy: Tensor) -> Sequence[Any]:
    _, index, flow = op.inputs
    array = _array_of_gradients(op, "dtype", flow, _source(dy))
    return None, None, array.write(index, dy).flow


def _write(op: Operation, dflow: Tensor) -> Sequence[Any]:
    array, flow = _before_reading(op, dflow)
    return None, None, array.read(op.inputs[1]), flow


def _gather(op: Operation, dy: Tensor) -> Sequence[Any]:
    _, indices, flow = op.inputs
    array = _array_of_gradients(op, "dtype", flow, _source(dy))
    return None, None, array.scatter(indices, dy).flow


def _scatter(op: Operation, dflow: Tensor) -> Sequence[Any]:
    array, flow = _before_reading(op, dflow)
    return None, None, array.gather(op.inputs[1]), flow


def _concat(op: Operation, dy: Tensor, _: Any) -> Sequence[Any]:
    array = _array_of_gradients(op, "dtype", op.inputs[1], _source(dy))
    return None, array.split(dy, lengths=op.outputs[1]).flow


def _split(op: Operation, dflow: Tensor) -> Sequence[Any]:
    array, flow = _before_reading(op, dflow)
    return None, array.concat(), None, flow


TENSOR_ARRAY_GRADIENTS: dict[str, Callable[..., Any]] = {
    "TensorArrayConcatV3": _concat,
    "TensorArrayGatherV3": _gather,
    "TensorArrayReadV3": _read,
    "TensorArrayScatterV3": _scatter,
    "TensorArraySplitV3": _split,
    "TensorArrayWriteV3": _write,
}
