"""Whether a node is what the record of its op says.

In: a node's type, attrs, and the dtypes of its inputs. Out: its faults, in words. Invariant: a node
without a fault has every attr that its op asks for, each of the kind, in the range and among the
values that the signature allows, and as many inputs as these say, of the dtypes that they say. What
extracts nodes, or infers their shapes, asks first; so no rule of a record meets anything else.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import InvalidModelError, UnsupportedError
from flowc.graph.attr_faults import attr_fault
from flowc.graph.attrs import AttrPlaceholder
from flowc.graph.op_info import MAX_OUTPUTS, signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.signature import Arg, AttrDef, OpSignature

SHOWN = 20  # faults of a model that a message has
OUTPUT_SHAPES = "_output_shapes"  # what a file says of the shapes of any node's outputs
_OUTPUT_SHAPES = AttrDef(OUTPUT_SHAPES, "list(shape)", ())


@dataclass(frozen=True, slots=True)
class NodeFault:
    """What is wrong with one node, and what was expected."""

    node: str
    op_type: str
    text: str

    def __str__(self) -> str:
        return f"node '{self.node}' ({self.op_type}): {self.text}"


def operation_faults(op: Operation) -> list[NodeFault]:
    """The faults of an operation of a graph."""
    return node_faults(op.name, op.type, op.attrs, op.inputs)


def node_faults(
    name: str, op_type: str, attrs: Mapping[str, Any], inputs: Sequence[Tensor | None]
) -> list[NodeFault]:
    """The faults of a node; none where flowc has no record of its op. Of inputs that are None the
    dtype is not known; attrs that the call of a function gives are not either, nor dtypes that only
    TensorFlow knows.
    """
    signature = signature_of(op_type)
    if signature is None:
        return []
    known, found = _known_attrs(signature, attrs)
    if not found:
        found = _input_faults(signature, known, inputs)
    return [NodeFault(name, op_type, text) for text in found]


def malformed(found: Sequence[NodeFault]) -> InvalidModelError:
    """One error for all faults of a model."""
    lines = [f"  {fault}" for fault in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"  ... and {len(found) - SHOWN} more")
    count = len({fault.node for fault in found})
    are = "s are" if count > 1 else " is"
    return InvalidModelError(
        f"{count} node{are} malformed:\n" + "\n".join(lines),
        node=found[0].node,
        hint="export the model anew; `flowc inspect` lists all that is malformed in it",
    )


def _known_attrs(
    signature: OpSignature, attrs: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """The attrs that the node has or that have a default, and the faults of all."""
    known = dict(signature.attr_defaults)
    found: list[str] = []
    for key, definition in (*signature.attrs.items(), (OUTPUT_SHAPES, _OUTPUT_SHAPES)):
        if key in attrs:
            try:
                known[key] = attrs[key]
            except InvalidModelError as error:
                found.append(error.message)
                continue
            except UnsupportedError:
                known[key] = AttrPlaceholder(key)
        fault = attr_fault(definition, known.get(key, ()))
        if fault is not None:
            found.append(fault)
    return known, found or _tensor_faults(signature, known) + _count_faults(signature, known)


def _count_faults(signature: OpSignature, known: Mapping[str, Any]) -> list[str]:
    """An attr that counts outputs can be larger than memory."""
    keys = [arg.number_attr for arg in signature.outputs if arg.number_attr is not None]
    return [
        f"attr {key!r} asks for {known[key]} outputs, expected at most {MAX_OUTPUTS}"
        for key in dict.fromkeys(keys)
        if isinstance(known[key], int) and known[key] > MAX_OUTPUTS
    ]


def _tensor_faults(signature: OpSignature, known: Mapping[str, Any]) -> list[str]:
    """A tensor among the attrs has the dtype that another attr says."""
    dtype = known.get("dtype")
    return [
        f"attr {key!r} is a tensor of {value.dtype}, and attr 'dtype' is {dtype}"
        for key, value in known.items()
        if isinstance(value, np.ndarray)
        and isinstance(dtype, DType)
        and value.dtype != dtype.numpy
        and signature.attrs[key].kind == "tensor"
    ]


def _input_faults(
    signature: OpSignature, known: Mapping[str, Any], inputs: Sequence[Tensor | None]
) -> list[str]:
    counts = [_count(arg, known) for arg in signature.inputs]
    total = 0
    for count in counts:
        if count is None:
            return []  # the call of a function says how many there are
        total += count
    if total != len(inputs):
        deciding = [a.number_attr or a.type_attr for a in signature.inputs if _is_several(a)]
        by = f", as attr {deciding[0]!r} says" if deciding else ""
        return [f"takes {total} inputs{by}, found {len(inputs)}"]
    found: list[str] = []
    expected = [pair for arg in signature.inputs for pair in _expected_types(arg, known)]
    for i, ((arg, wanted), tensor) in enumerate(zip(expected, inputs)):
        dtype = None if tensor is None else tensor.base_dtype
        if tensor is None or dtype is None or wanted is None:
            continue
        if dtype is not wanted:
            fault = f" of {dtype}, expected {wanted}"
        elif arg.is_ref and not tensor.is_ref:
            fault = ", a value, expected the reference of a variable"
        else:
            continue
        found.append(f"input {i} ('{arg.name}') is '{tensor.name}'{fault}")
    return found


def _is_several(arg: Arg) -> bool:
    return arg.number_attr is not None or arg.is_list


def _count(arg: Arg, known: Mapping[str, Any]) -> int | None:
    """How many tensors an input consists of; None where that is not known."""
    if not _is_several(arg):
        return 1
    found: Any = known[(arg.type_attr if arg.is_list else arg.number_attr) or ""]
    if isinstance(found, AttrPlaceholder):
        return None
    return len(found) if arg.is_list else found


def _expected_types(arg: Arg, known: Mapping[str, Any]) -> Iterator[tuple[Arg, DType | None]]:
    """The dtype of each tensor that an input is made of, None where it is not known."""
    kind: Any = arg.dtype if arg.type_attr is None else known[arg.type_attr]
    if arg.is_list:
        yield from ((arg, dtype) for dtype in kind)
        return
    dtype = kind if isinstance(kind, DType) else None
    for _ in range(_count(arg, known) or 0):
        yield arg, dtype
