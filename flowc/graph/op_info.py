"""What the op records say of a node's outputs and attrs.

In: an op type and the node's attrs. Out: dtypes, or None where flowc has no record of the op; the
attrs in the form that the record's functions take.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from flowc.dtypes import DType
from flowc.errors import InvalidModelError
from flowc.graph.attrs import AttrPlaceholder
from flowc.graph.control_types import control_flow_signature
from flowc.ir.signature import REQUIRED, Arg, OpSignature

if TYPE_CHECKING:
    from flowc.ir.op import Op


def signature_of(op_type: str) -> OpSignature | None:
    """The signature of a TensorFlow op type, or None where flowc has no record of it."""
    from flowc.ops import tf_op  # late: not needed to read a graph or to build one

    record = tf_op(op_type)
    return control_flow_signature(op_type) if record is None else record.signature


def has_trait(op_type: str, trait: str) -> bool:
    """Whether the record of an op type says of it what a trait means (`flowc.ir.op.TRAITS`)."""
    from flowc.ops import tf_op

    record = tf_op(op_type)
    return record is not None and trait in record.traits


def output_types(op_type: str, attrs: Mapping[str, Any]) -> list[tuple[DType | None, bool]] | None:
    """(dtype, is a reference) of each output; dtype is None where the deciding attr is missing."""
    signature = signature_of(op_type)
    if signature is None:
        return None
    found: list[tuple[DType | None, bool]] = []
    for arg in signature.outputs:
        found.extend((dtype, arg.is_ref) for dtype in _arg_types(arg, signature, attrs))
    return found


def _attr(name: str, signature: OpSignature, attrs: Mapping[str, Any]) -> Any:
    if name in attrs:
        return attrs[name]
    declared = signature.attrs.get(name)
    return None if declared is None or declared.default is REQUIRED else declared.default


def _arg_types(arg: Arg, signature: OpSignature, attrs: Mapping[str, Any]) -> list[DType | None]:
    if arg.is_list and arg.type_attr is not None:
        return list(_attr(arg.type_attr, signature, attrs) or ())
    dtype = arg.dtype
    if dtype is None and arg.type_attr is not None:
        dtype = _attr(arg.type_attr, signature, attrs)
    if arg.number_attr is None:
        return [dtype]
    count = _attr(arg.number_attr, signature, attrs)
    if not isinstance(count, int) or not 0 <= count <= 1 << 20:
        raise InvalidModelError(
            f"attr {arg.number_attr!r} of a {signature.name} node counts its outputs: expected a "
            f"number of at most 2^20, found {count!r}"
        )
    return [dtype] * count


def resolve_attr(value: Any, outer: Mapping[str, Any]) -> Any:
    """An attr's value with the placeholders of a function replaced by the call's attrs."""
    if isinstance(value, AttrPlaceholder):
        return outer.get(value.name)
    return value


def node_attrs(record: Op, attrs: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """A node's attrs as its record has them: strings as text, lists as tuples, known names only."""
    found: dict[str, Any] = {}
    for name, definition in record.signature.attrs.items():
        if name not in attrs:
            continue
        value = resolve_attr(attrs[name], outer)
        kind = definition.kind
        if kind == "string" and isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        elif kind.startswith("list"):
            value = tuple(
                v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else v for v in value
            )
        elif kind == "float":
            value = float(value)
        found[name] = value
    # Attrs that follow from the inputs are not stored, so that equal nodes have equal attrs.
    inferred = record.signature.inferred_attrs
    return {n: v for n, v in found.items() if n not in inferred}


def with_defaults(record: Op, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """A node's attrs and, for those that it leaves out, the defaults of the record."""
    stated = {n: d.default for n, d in record.signature.attrs.items() if d.default is not REQUIRED}
    return {**stated, **attrs}
