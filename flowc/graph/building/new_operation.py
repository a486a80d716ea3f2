"""Makes an operation of the default graph from tensors, by its op record.

In: an op type, the tensors of its inputs, attrs. Out: an Operation whose NodeDef TensorFlow loads:
every attr written, outputs typed and shaped. Invariant: what does not fit is refused before the
graph changes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.encoding.tensorflow_ops import stated_ops
from flowc.errors import InvalidModelError, NotFoundError, ShapeError, did_you_mean
from flowc.graph.attrs import FunctionRef
from flowc.graph.default import get_default_graph
from flowc.graph.operation import Operation
from flowc.graph.shape import TensorShape
from flowc.graph.shape_inference import check_types, infer_shapes
from flowc.graph.tensor import Tensor
from flowc.ir.op import Op
from flowc.ir.signature import REQUIRED, AttrDef
from flowc.ir.text.shape_text import shown_dims
from flowc.ops import tf_names, tf_op

ENUM_NAMES = {"float32": "DT_FLOAT", "float64": "DT_DOUBLE", "float16": "DT_HALF"}


def add_operation(
    op_type: str,
    tensors: Sequence[Tensor],
    attrs: Mapping[str, Any],
    scope: str,
    references: Sequence[Tensor] = (),
) -> Operation:
    """Adds an operation whose name is a scope that was opened for it. `attrs`: those that have no
    default; `references`: the inputs that it changes, beside which it is placed. Raises `TypeError`
    for attrs and dtypes that do not fit, `ShapeError` for shapes."""
    record = record_of(op_type)
    graph = get_default_graph()
    full = _full_attrs(record, op_type, attrs)
    shapes = _shapes(record, op_type, scope[:-1], tensors, full)
    types = check_types(record, tensors, full)
    refs = [k for k, arg in enumerate(record.signature.outputs) if arg.is_ref]
    outputs = [(t, None if shapes is None else shapes[k]) for k, t in enumerate(types)]
    with graph.colocate_with_all(references):
        return graph.add_operation(
            op_type, tensors, full, scope, output_types=outputs, ref_outputs=refs
        )


def record_of(op_type: str) -> Op:
    record = tf_op(op_type)
    if record is None or (op_type.startswith("_") and record.tf_name.startswith("_")):
        raise NotFoundError(
            f"Op type not registered '{op_type}'", hint=did_you_mean(op_type, tf_names())
        )
    return record


def different_types(
    argument: str, op_type: str, names: Sequence[str], rest: str = "that don't all match."
) -> TypeError:
    """The error for a list of tensors of the dtypes named, which must be of one dtype."""
    return TypeError(
        f"Tensors in list passed to '{argument}' of '{op_type}' Op have types "
        f"[{', '.join(names)}] {rest}"
    )


def _full_attrs(record: Op, op_type: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Every attr of the signature, in the form that a Graph holds."""
    known = record.signature.attrs
    for name in given:
        if name not in known and not name.startswith("_"):
            raise TypeError(f"{op_type} has no attr {name!r}: it has {', '.join(known) or 'none'}")
    found: dict[str, Any] = {n: v for n, v in given.items() if n not in known}
    for name, definition in known.items():
        value = given.get(name, definition.default)
        if value is REQUIRED:
            raise TypeError(f"No argument found for attr {name} for {op_type}")
        found[name] = _attr_value(value, definition, op_type)
    return found


def _attr_value(value: Any, definition: AttrDef, op_type: str) -> Any:
    kind, name = definition.kind, definition.name
    if kind.startswith("list("):
        if not isinstance(value, list | tuple):
            raise TypeError(f"Expected list for attr {name}, obtained {type(value).__name__} "
                            "instead.")  # fmt: skip
        found: Any = [plain_attr(v, kind[5:-1], name) for v in value]
    else:
        found = plain_attr(value, kind, name)
    if definition.allowed and kind == "string" and found.decode() not in definition.allowed:
        allowed = '", "'.join(str(a) for a in definition.allowed)
        raise ValueError(
            f"Attr '{name}' of '{op_type}' Op passed string '{found.decode()}' not in: "
            f'"{allowed}".'
        )
    if kind == "type":
        check_allowed(name, found, definition, op_type)
    if definition.minimum is not None and kind == "int" and found < definition.minimum:
        raise ValueError(
            f"Attr '{name}' of '{op_type}' Op passed {found} less than minimum "
            f"{definition.minimum}."
        )
    return found


def check_allowed(argument: str, dtype: DType | None, definition: AttrDef, op_type: str) -> None:
    """Raises `TypeError` for a dtype that a type attr does not take."""
    if definition.allowed and dtype not in definition.allowed:
        stated = stated_ops().get(op_type)
        allowed = stated.allowed.get(definition.name, ()) if stated is not None else ()
        if dtype in allowed or not allowed:  # TensorFlow takes it
            allowed = definition.allowed
        raise TypeError(
            f"Value passed to parameter '{argument}' has DataType {dtypes.name_of(dtype)} not in "
            f"list of allowed values: {', '.join(d.name for d in allowed)}"
        )


def plain_attr(value: Any, kind: str, name: str) -> Any:
    try:
        match kind:
            case "string":
                return value.encode() if isinstance(value, str) else bytes(value)
            case "int":
                return int(value)
            case "float":
                return float(value)
            case "bool":
                if not isinstance(value, bool):
                    raise TypeError
                return value
            case "type":
                return dtypes.as_dtype(value)
            case "shape":
                return TensorShape(value).sizes
            case "func":
                return value if isinstance(value, FunctionRef) else FunctionRef(value.name)
            case _:
                return value
    except (TypeError, ValueError) as error:
        if kind == "shape":
            raise type(error)(f"Error converting {name} to a TensorShape: {error}.") from None
        expected = "DataType" if kind == "type" else kind
        raise TypeError(f"Expected {expected} for argument '{name}' not {value!r}.") from None


def _shapes(
    record: Op, op_type: str, name: str, tensors: Sequence[Tensor], attrs: Mapping[str, Any]
) -> Any:
    """The outputs' static shapes. Raises `ShapeError` with the node in TensorFlow's words."""
    for tensor in tensors:
        _ = tensor.shape  # settles the shapes of imported operations
    try:
        return infer_shapes(record, tensors, attrs)
    except ShapeError as error:
        sizes = ", ".join(shown_dims(t.shape.sizes) for t in tensors)
        raise ShapeError(
            f"{_bare(error.message, record)} for '{_node_text(op_type, name, tensors, attrs)}' "
            f"with input shapes: {sizes}.",
            node=name,
            hint=error.hint,
        ) from None
    except InvalidModelError as error:
        raise ShapeError(error.message, node=name, hint=error.hint) from None


def _bare(message: str, record: Op) -> str:
    """A rule's message without the op and types that it is wrapped in."""
    message = message.removeprefix(f"{record.tf_name}: ")
    return re.sub(r" \(inputs: [^()]*\)$", "", message)


def _node_text(op_type: str, name: str, tensors: Sequence[Tensor], attrs: Mapping[str, Any]) -> str:
    """`{{node add}} = AddV2[T=DT_FLOAT](x, y)`"""
    shown = ", ".join(f"{n}={attr_text(v)}" for n, v in sorted(attrs.items()))
    inputs = [t.name.removesuffix(":0") for t in tensors]
    return f"{{{{node {name}}}}} = {op_type}[{shown}]({', '.join(inputs)})"


def attr_text(value: Any) -> str:
    """An attr as TensorFlow's messages show it: `DT_FLOAT`, `[1, 2]`."""
    if isinstance(value, DType):
        return ENUM_NAMES.get(value.name, f"DT_{value.name.upper()}")
    if isinstance(value, bytes):
        return f'"{value.decode(errors="replace")}"'
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return f"[{', '.join(attr_text(v) for v in value)}]"
    return str(value)
