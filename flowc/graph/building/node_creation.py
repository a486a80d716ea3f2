"""Makes the operation that a program states as a NodeDef does: tensors in one row, attrs encoded.

In: an op type, the tensors of all inputs, attrs as AttrValue messages. Out: an Operation of the
default graph. Invariant: as in `creation`, what does not fit is refused before the graph changes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc import dtypes
from flowc.errors import did_you_mean
from flowc.graph.building.attr_values import decode_attr
from flowc.graph.building.creation import create
from flowc.graph.building.new_operation import attr_text, record_of
from flowc.graph.default import get_default_graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.signature import REQUIRED, Arg, OpSignature
from flowc.ops import tf_names, tf_op
from flowc.proto.graph_pb2 import AttrValue


def create_node(
    op_type: str,
    inputs: Sequence[Tensor],
    input_types: Sequence[Any] | None,
    name: str,
    attrs: Mapping[str, AttrValue],
) -> Operation:
    """What `Graph.create_op` documents, in the default graph."""
    graph = get_default_graph()
    for i, tensor in enumerate(inputs):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"Input #{i} is not a tensor: {tensor!r}")
    if input_types is not None:
        _check_input_types(op_type, inputs, [dtypes.as_dtype(t) for t in input_types])
    if not name:
        raise ValueError("'' is not a valid node name")
    plain = {n: _plain(op_type, n, value) for n, value in attrs.items()}
    if op_type in graph.functions:
        return graph.add_operation(op_type, inputs, plain, name)
    if tf_op(op_type) is None:
        fault = RuntimeError(f"Op type not registered '{op_type}'")
        fault.add_note(did_you_mean(op_type, tf_names()) or "`flowc ops` lists all op types")
        raise fault
    signature = record_of(op_type).signature
    grouped = _grouped(op_type, signature, inputs, plain)
    _check_attrs(op_type, signature, grouped, plain)
    return create(op_type, grouped, plain, name)


def _plain(op_type: str, name: str, value: Any) -> Any:
    if not isinstance(value, AttrValue):
        raise TypeError(
            f"attrs[{name!r}] of '{op_type}' must be a tf.AttrValue, found {value!r}: write "
            f"tf.AttrValue(type=...), (i=...), (s=...) or what it holds"
        )
    return decode_attr(value, f"op {op_type!r}, attr {name!r}")


def _check_input_types(op_type: str, inputs: Sequence[Tensor], stated: list[Any]) -> None:
    found = [t.base_dtype for t in inputs]
    if len(found) != len(stated) or any(f is not s.base_dtype for f, s in zip(found, stated)):
        raise TypeError(
            f"In op '{op_type}', input types ({[t.dtype for t in inputs]}) are not compatible "
            f"with expected types ({stated})"
        )


def _grouped(
    op_type: str, signature: OpSignature, inputs: Sequence[Tensor], attrs: Mapping[str, Any]
) -> list[Any]:
    """The tensors by the inputs of the signature, lists where it takes several."""
    args = signature.inputs
    lists = [a for a in args if a.number_attr is not None or a.is_list]
    rest = len(inputs) - (len(args) - len(lists))  # what one list takes, if there is only one
    grouped: list[Any] = []
    at = 0
    for arg in args:
        if arg not in lists:
            grouped += inputs[at : at + 1]
            at += 1
            continue
        count = _stated_count(arg, attrs)
        if count is None and (len(lists) > 1 or rest < 0):
            raise ValueError(
                f"'{op_type}' takes several tensors as '{arg.name}': attr "
                f"'{arg.number_attr or arg.type_attr}' must say how many"
            )
        count = rest if count is None else count
        grouped.append(list(inputs[at : at + count]))
        at += count
    if at != len(inputs):
        names = ", ".join(a.name for a in args) or "none"
        raise TypeError(f"'{op_type}' takes {at} inputs ({names}), found {len(inputs)}")
    return grouped


def _stated_count(arg: Arg, attrs: Mapping[str, Any]) -> int | None:
    found = attrs.get(arg.number_attr or arg.type_attr or "")
    return len(found) if arg.is_list and found is not None else found


def _check_attrs(
    op_type: str, signature: OpSignature, grouped: Sequence[Any], attrs: Mapping[str, Any]
) -> None:
    told = {name for arg in signature.inputs for name in (arg.type_attr, arg.number_attr)}
    for name, definition in signature.attrs.items():
        if definition.default is REQUIRED and name not in attrs and name not in told:
            raise ValueError(
                f"NodeDef missing attr '{name}' of '{op_type}': expected a {definition.kind}"
            )
    for arg, given in zip(signature.inputs, grouped):
        stated = attrs.get(arg.type_attr or "")
        if stated is None:
            continue
        tensors = given if isinstance(given, list) else [given]
        expected = stated if arg.is_list else [stated] * len(tensors)
        for tensor, dtype in zip(tensors, expected):
            if tensor.base_dtype is not dtype:
                raise ValueError(
                    f"Inconsistent values for attr '{arg.type_attr}' "
                    f"{attr_text(tensor.base_dtype)} vs. {attr_text(dtype)} while building NodeDef "
                    f"of '{op_type}'"
                )
