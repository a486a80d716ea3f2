"""A node that is no loop and no conditional under extraction.

In: a region and the key of a node whose inputs are bound there. Out: bindings of its outputs. What
its record says decides: it is emitted as it is, written in terms of values (`Extracted`,
`on_lists`, `on_data`), or passes on what it is given. A type without a record is a function's name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, assert_never

from flowc import dtypes
from flowc.errors import FlowcError, UnsupportedError, as_raised
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.node_extractor import NodeExtractor
from flowc.extract.node_source import ARGUMENT, Ref
from flowc.extract.trace.branches import build_if
from flowc.extract.unsupported_ops import unsupported
from flowc.graph.attrs import FunctionRef
from flowc.graph.op_info import node_attrs, with_defaults
from flowc.ir.computation import Value
from flowc.ir.dims import Expr
from flowc.ir.extraction import (
    Bound,
    ListValue,
    OptionalValue,
    Resource,
    RunTimeTensor,
    SparseMatrix,
    TwoRanks,
)
from flowc.ir.inference import NeedsContent
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Op
from flowc.ir.traversal import inputs_first
from flowc.ops import tf_op

if TYPE_CHECKING:
    from flowc.extract.region_extractor import RegionExtractor

HANDLES = (dtypes.resource, dtypes.variant)


def emit_node(region: RegionExtractor, key: Any) -> None:
    """Binds the outputs of one plain node. What goes wrong in it has its name."""
    try:
        _bind_outputs(region, key)
    except FlowcError as error:
        error.node = error.node or region.source.name(key)
        raise
    except Exception as error:
        name, kind = region.source.name(key), region.source.node(key).type
        raise as_raised(error, f"extracting {kind}", name) from error


def _bind_outputs(region: RegionExtractor, key: Any) -> None:
    node = region.source.node(key)
    name = region.source.name(key)
    region.scope.b.origin = (name,)
    record = tf_op(node.type)
    region.keep_for_reads(key)
    inputs = [region.seen(key, ref) for ref in node.inputs]
    chosen = next((bound for bound in inputs if isinstance(bound, TwoRanks)), None)
    if chosen is not None and (record is None or "identity" not in record.traits):
        _emit_for_each(region, key, chosen)
        return
    try:
        if record is None:
            outputs = _call_by_type(region, key, inputs)
        else:
            outputs = _by_record(region, key, record, inputs)
    except FlowcError as error:
        error.node = error.node or name
        raise
    for i, bound in enumerate(outputs):
        if (key, i) not in region.flow.fed:
            region.values[(key, i)] = bound


def _emit_for_each(region: RegionExtractor, key: Any, chosen: TwoRanks) -> None:
    """A node that reads a tensor of one of two ranks stands in both branches of a conditional."""
    refs = region.source.node(key).inputs
    name = region.source.name(key)

    def trace(scope: BodyBuilder, side: bool) -> list[Bound]:
        inner = region.beside(scope)
        for ref in refs:
            bound = region.bound(ref)
            if isinstance(bound, TwoRanks) and bound.is_first is chosen.is_first:
                value = bound.sides[0 if side else 1]
                within = value if scope is region.scope else scope.capture(value)
                inner.values[region.dependencies.behind_switches(ref)] = within
        emit_node(inner, key)
        found = {ref[1]: bound for ref, bound in inner.values.items() if ref[0] == key}
        return [found[i] for i in sorted(found)]

    results = build_if(
        region.scope,
        name,
        chosen.is_first,
        lambda scope: trace(scope, True),
        lambda scope: trace(scope, False),
    )
    for i, bound in enumerate(results):
        region.values[(key, i)] = bound


def _call_by_type(
    region: RegionExtractor, key: Any, inputs: Sequence[Bound | None]
) -> Sequence[Bound]:
    """A node whose type is the name of a function calls it."""
    node, name = region.source.node(key), region.source.name(key)
    if node.type not in region.extraction.functions:
        raise unsupported({node.type: [name]})
    given = [_given(region, key, i, bound) for i, bound in enumerate(inputs)]
    reference = FunctionRef(node.type, dict(node.attrs))
    return region.extraction.call(region.scope, name, reference, given, region.callers)


def _by_record(
    region: RegionExtractor, key: Any, record: Op, inputs: Sequence[Bound | None]
) -> Sequence[Bound]:
    source, scope, name = region.source, region.scope, region.source.name(key)
    attrs = node_attrs(record, source.node(key).attrs, source.attrs)
    emit = _emitter(region, key, record, inputs)
    if emit is not None:
        shapes = partial(source.output_shapes, key)
        x = NodeExtractor(region.extraction, scope, name, region.callers, shapes)
        given = [_given(region, key, i, bound) for i, bound in enumerate(inputs)]
        full = with_defaults(record, attrs)
        if isinstance(record.lowering, Extracted):
            _check_types(scope, record, given, full)
        before = len(scope.b.nodes)
        found = emit(x, given, full)
        if x.assumes_ranks:  # also where only its shape is asked for: the run tells its rank
            for node in scope.b.nodes[before:]:
                if isinstance(node.op.lowering, Host):
                    node.keep()
        return found
    if "identity" in record.traits and _passes(region, key, record, inputs[0]):
        return [_given(region, key, 0, inputs[0])]
    if record.name == "const":
        return [_constant(region, record, attrs, name)]
    values = [_read(region, key, i, bound) for i, bound in enumerate(inputs)]
    try:
        node = scope.b.emit(record, values, attrs)
    except NeedsContent as error:
        if error.input is not None and error.input < len(values):
            error.hint = _what_decides(values[error.input])
        raise
    if "stateful" in record.traits:
        scope.note_effect(node)
    if "identity" in record.traits:
        memory = _memory_behind(region, source.node(key).inputs[0])
        if memory is not None and region.kept_for((key, memory.name)) is None:
            region.extraction.shared[node.output] = memory
    return node.outputs


def _memory_behind(region: RegionExtractor, ref: Ref) -> Resource | None:
    """The reference variable whose memory an output is; a name for it that enters a branch or a
    loop is read there."""
    bound = region.bound(ref)
    if isinstance(bound, Resource):
        return bound if bound.info.get("is_ref") else None
    passed = region.dependencies.behind_switches(ref) != ref
    passed = passed or (ref[0] != ARGUMENT and region.is_enter(ref[0]))
    return None if passed or not isinstance(bound, Value) else region.extraction.shared.get(bound)


def _check_types(
    scope: BodyBuilder, record: Op, given: Sequence[Bound], attrs: Mapping[str, Any]
) -> None:
    """What a record's type rule refuses is refused before it is written in terms of values: a file
    may hold what no program could build. Handles may stand for values of other types."""
    values = [bound for bound in given if isinstance(bound, Value)]
    takes_handles = any(arg.dtype in HANDLES for arg in record.signature.inputs)
    if values and len(values) == len(given) and not takes_handles:
        stated = {n: v for n, v in attrs.items() if n not in record.signature.inferred_attrs}
        with contextlib.suppress(NeedsContent):
            scope.b.infer(record, values, stated, ())


def _what_decides(value: Value) -> str:
    """What to try where the elements of a value are needed: they may follow from what is fed."""
    nodes = inputs_first([value.node], lambda node: [v.node for v in node.inputs])
    fed = [f"'{n.attrs['name'].removesuffix(':0')}'" for n in nodes if n.op.name == "parameter"]
    if not fed:
        return "make it a constant of the graph"
    return (
        f"it follows from {', '.join(fed)}: make that a constant of the graph; "
        "a Session compiles for the values of small integer feeds"
    )


def _emitter(
    region: RegionExtractor, key: Any, record: Op, inputs: Sequence[Bound | None]
) -> Callable[..., Any] | None:
    """What writes a node in terms of values, where it is not one itself."""
    if isinstance(record.lowering, Extracted):
        return record.lowering.emit
    if any(isinstance(bound, ListValue | OptionalValue | RunTimeTensor) for bound in inputs):
        return record.on_lists
    if record.on_variants is not None and region.source.attr(key, "T") is dtypes.variant:
        return record.on_variants
    values = [bound for bound in inputs if isinstance(bound, Value)]
    if record.on_data is None or len(values) < len(inputs):
        return None
    return None if all(_is_known(region, v) for v in values) else record.on_data


def _is_known(region: RegionExtractor, value: Value) -> bool:
    """Whether the elements of a value are numbers, and sizes that are the same all through the
    run."""
    content = region.scope.b.content(value)
    if content is None:
        return False
    top = region.extraction.top
    return all(not isinstance(d, Expr) or top.knows(d) for d in content.reshape(-1))


def _passes(region: RegionExtractor, key: Any, record: Op, bound: Bound | None) -> bool:
    """Whether an identity passes on a handle or a list, and not the value of a variable."""
    match bound:
        case ListValue() | OptionalValue() | TwoRanks() | SparseMatrix():
            return True
        case None | Value() | RunTimeTensor():
            return False
        case Resource():
            is_ref = record.signature.outputs[0].is_ref
            return is_ref or region.source.attr(key, "T") in HANDLES
        case _:
            assert_never(bound)


def _given(region: RegionExtractor, key: Any, position: int, bound: Bound | None) -> Bound:
    if bound is None:
        raise _without_value(region, key, position)
    return bound


def _read(region: RegionExtractor, key: Any, position: int, bound: Bound | None) -> Value:
    """The Value of an input; a variable is read."""
    if isinstance(bound, Value):
        return bound
    if isinstance(bound, Resource) and bound.kind == "variable":
        return region.extraction.read(region.scope, bound, region.source.name(key))
    raise _without_value(region, key, position)


def _without_value(region: RegionExtractor, key: Any, position: int) -> UnsupportedError:
    name = region.source.name(key)
    return UnsupportedError(
        f"input {position} of node '{name}' ({region.source.node(key).type}) has no value that "
        "flowc can compute",
        node=name,
    )


def _constant(region: RegionExtractor, record: Op, attrs: Mapping[str, Any], name: str) -> Value:
    dtype = attrs["dtype"]
    if not dtype.size and dtype is not dtypes.string:
        raise UnsupportedError(
            f"node '{name}' is a constant of dtype {dtype}, which flowc cannot compute with",
            node=name,
            problems=[(record.tf_name, 1, (name,))],
        )
    return region.scope.b.const(attrs["value"], dtype)
