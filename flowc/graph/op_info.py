"""What the op records say of a node's outputs and attrs.

In: an op type and the node's attrs. Out: dtypes, or None where flowc has no record of the op; the
attrs in the form that the record's functions take.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from flowc.dtypes import DType
from flowc.errors import InvalidModelError, UnsupportedError
from flowc.graph.attr_faults import attr_fault
from flowc.graph.attrs import AttrPlaceholder
from flowc.graph.control_types import FRAME_TYPES, control_flow_signature
from flowc.ir.signature import REQUIRED, Arg, OpSignature

if TYPE_CHECKING:
    from flowc.graph.operation import Operation
    from flowc.ir.op import Op

MAX_OUTPUTS = 1 << 20  # of one node
MAX_NODES = 1_000_000  # of a model, those of its functions too


def record_of(op_type: str) -> Op | None:
    """The record of a TensorFlow op type, or None where there is none. What carries control flow
    has none, and no package is asked for it."""
    if op_type in FRAME_TYPES:
        return None
    from flowc.ops import tf_op  # late: not needed to read a graph or to build one

    return tf_op(op_type)


def signature_of(op_type: str) -> OpSignature | None:
    """The signature of a TensorFlow op type, or None where flowc has no record of it."""
    record = record_of(op_type)
    return control_flow_signature(op_type) if record is None else record.signature


def has_trait(op_type: str, trait: str) -> bool:
    """Whether the record of an op type has a trait (`flowc.ir.op.TRAITS`)."""
    record = record_of(op_type)
    return record is not None and trait in record.traits


def having_trait(operations: Iterable[Operation], trait: str) -> list[Operation]:
    """The operations whose records have a trait. Each type is looked up once: graphs have thousands
    of operations of a few dozen types."""
    operations = list(operations)
    types = {t for t in {op.type for op in operations} if has_trait(t, trait)}
    return [op for op in operations if op.type in types]


def is_stateful(op_type: str) -> bool:
    """Whether results depend on more than the inputs, or something is changed."""
    return any(has_trait(op_type, trait) for trait in ("stateful", "random", "variable"))


def output_types(op_type: str, attrs: Mapping[str, Any]) -> list[tuple[DType | None, bool]] | None:
    """(dtype, is a reference) of each output; dtype is None where the deciding attr is missing."""
    signature = signature_of(op_type)
    if signature is None:
        return None
    found: list[tuple[DType | None, bool]] = []
    for arg in signature.outputs:
        found.extend((dtype, arg.is_ref) for dtype in _arg_types(arg, signature, attrs))
    return found


def output_count(op_type: str, attrs: Mapping[str, Any]) -> int | None:
    """How many outputs there are, which may be a million; None where flowc has no record."""
    signature = signature_of(op_type)
    if signature is None:
        return None
    return sum(len(_arg_types(arg, signature, attrs)) for arg in signature.outputs)


def _attr(name: str, signature: OpSignature, attrs: Mapping[str, Any]) -> Any:
    if name in attrs:
        return attrs[name]
    declared = signature.attrs.get(name)
    return None if declared is None or declared.default is REQUIRED else declared.default


def _arg_types(arg: Arg, signature: OpSignature, attrs: Mapping[str, Any]) -> list[DType | None]:
    """The dtypes of what an output is made of, None where an attr does not say one; none where an
    attr should say how many there are and does not."""
    stated = None if arg.type_attr is None else _attr(arg.type_attr, signature, attrs)
    if arg.is_list:
        if not isinstance(stated, list | tuple):
            return []
        return [dtype if isinstance(dtype, DType) else None for dtype in stated]
    dtype = stated if isinstance(stated, DType) else arg.dtype
    if arg.number_attr is None:
        return [dtype]
    count = _attr(arg.number_attr, signature, attrs)
    return [dtype] * count if isinstance(count, int) and count <= MAX_OUTPUTS else []


def resolve_attr(value: Any, outer: Mapping[str, Any]) -> Any:
    """An attr's value with the placeholders of a function replaced by the call's attrs."""
    if isinstance(value, AttrPlaceholder):
        return outer.get(value.name)
    return value


def node_attrs(record: Op, attrs: Mapping[str, Any], outer: Mapping[str, Any]) -> dict[str, Any]:
    """A node's attrs as its record has them: strings as text, lists as tuples, known names only."""
    from flowc.ir.lowering import Extracted  # late, as above

    found: dict[str, Any] = {}
    for name, definition in record.signature.attrs.items():
        if name not in attrs:
            continue
        value: Any = attrs[name]
        if isinstance(value, AttrPlaceholder):
            value = resolve_attr(value, outer)
            fault = attr_fault(definition, value)
            if fault is not None:
                raise InvalidModelError(f"{record.tf_name} in a function: {fault}")
        kind = definition.kind
        allowed = definition.allowed
        if (
            kind == "type"
            and (value.is_quantized or value.is_narrow)
            and allowed
            and value not in allowed
        ):
            raise UnsupportedError(f"{record.tf_name}: flowc has no kernel for {value}")
        if kind == "string" and isinstance(value, bytes):
            value = value.decode("utf-8", "surrogateescape")
        elif kind.startswith("list"):
            value = tuple(
                v.decode("utf-8", "surrogateescape") if isinstance(v, bytes) else v for v in value
            )
        elif kind == "float":
            value = float(value)
        found[name] = value
    # Attrs that follow from the inputs are not stored, so that equal nodes have equal attrs; but a
    # step that Python computes alone may want them.
    host = record.lowering.host if isinstance(record.lowering, Extracted) else None
    inferred = record.signature.inferred_attrs - set(() if host is None else host.settings)
    return {n: v for n, v in found.items() if n not in inferred}


def with_defaults(record: Op, attrs: Mapping[str, Any]) -> dict[str, Any]:
    """A node's attrs and, for those that it leaves out, the defaults of the record."""
    stated = {n: d.default for n, d in record.signature.attrs.items() if d.default is not REQUIRED}
    return {**stated, **attrs}
