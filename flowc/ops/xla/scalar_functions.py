"""Functions of scalars that XLA's ops are given, computed for whole tensors.

In: a function of the graph, such as the one that adds two numbers. Out: its results for the
elements of tensors, or the name of the op that it is. Invariant: what it computes for an element
depends on that element alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.ir.computation import Node, Value
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.inference import Inference
from flowc.ir.lowering import Elementwise
from flowc.ir.op import op_named

SECOND = "second"  # the name of a function that returns its second argument


def values(x: Extractor, inputs: Sequence[Bound]) -> list[Value]:
    """The inputs, which must be tensors."""
    found = [bound for bound in inputs if isinstance(bound, Value)]
    if len(found) != len(inputs):
        raise UnsupportedError(f"'{x.name}' takes tensors only", node=x.name)
    return found


def inference_of(x: Extractor, inputs: Sequence[Value], attrs: Mapping[str, Any]) -> Inference:
    """The rules of shapes for the node that is extracted: what it has of them is checked."""
    return Inference(op_named("identity"), [v.type for v in inputs], attrs, node_name=x.name)


def constant(x: Extractor, value: Value) -> np.ndarray[Any, Any]:
    """The elements of an input that must be known when compiling."""
    found = x.b.content(value)
    if found is None or found.dtype == object:
        raise UnsupportedError(f"'{x.name}' needs sizes that are constants", node=x.name)
    return found


def for_elements(x: Extractor, function: Any, given: Sequence[Value]) -> list[Value]:
    """The results of a function of scalars for the elements of tensors of one shape."""
    b = x.b
    first = len(b.nodes)
    found = values(x, x.call(function, given))
    for node in b.nodes[first:]:
        if not _is_elementwise(node):
            raise UnsupportedError(
                f"the function {function.name!r} of '{x.name}' has the node '{node.name}' "
                f"({node.op.tf_name}), which is not computed element by element",
                node=x.name,
            )
    dims = given[0].dims
    return [y if y.dims == dims else b.broadcast_to(y, dims) for y in found]


def _is_elementwise(node: Node) -> bool:
    return node.op.name in ("const", "identity") or isinstance(node.lowering, Elementwise)


def op_of(x: Extractor, function: Any, kinds: Sequence[DType]) -> tuple[str, tuple[int, ...]]:
    """The one op that a function of scalars of these dtypes is, and the arguments that it takes; an
    empty name where it is more than one."""
    b = x.b
    marks = [b.identity(b.const(np.zeros((), kind.numpy), kind)) for kind in kinds]
    found = x.call(function, marks)
    if len(found) != 1 or not isinstance(found[0], Value):
        return "", ()
    value = _behind_identities(found[0], marks)
    if value in marks:
        return (SECOND, ()) if value is marks[1] else ("", ())
    inputs = [_behind_identities(i, marks) for i in value.node.inputs]
    if any(i not in marks for i in inputs) or len(inputs) != 2:
        return "", ()
    return value.node.op.name, tuple(marks.index(i) for i in inputs)


def _behind_identities(value: Value, marks: Sequence[Value]) -> Value:
    while value not in marks and value.node.op.name == "identity":
        (value,) = value.node.inputs
    return value


def combining_op(x: Extractor, function: Any, kind: DType) -> str:
    """The op that a function of two scalars is, or nothing."""
    name, arguments = op_of(x, function, (kind, kind))
    return name if name == SECOND or sorted(arguments) == [0, 1] else ""


# What changes slices as a function of the old and the new element does.
_CHANGES = {
    SECOND: "update",
    "add": "add",
    "mul": "mul",
    "maximum": "max",
    "minimum": "min",
    "logical_or": "max",
    "logical_and": "min",
}


def change_elements(
    x: Extractor, function: Any, held: Value, places: Value, updates: Value
) -> Value:
    """The tensor `held` in which each place (a row of `places`) becomes function(old element,
    update), one row after another. Rows that begin with -1 are left out."""
    b, kind = x.b, held.type.dtype
    depth = places.dims[1]
    assert isinstance(depth, int)
    change = _CHANGES.get(combining_op(x, function, kind))
    if change is not None:
        return b.change_slices(held, places, updates, combine=change, depth=depth, ignores=True)
    zero = b.const(np.int64(0))

    def condition(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        i, _, places, _ = values(inner, inputs)
        return [inner.b.less(i, inner.b.scalar_size(places.dims[0], dtypes.i64))]

    def body(inner: Extractor, inputs: Sequence[Bound]) -> Sequence[Bound]:
        i, held, places, updates = values(inner, inputs)
        b = inner.b
        place, new = (b.gather(t, b.reshape(i, (1,)), np.int32(0)) for t in (places, updates))
        inside = b.maximum(place, b.const(np.int64(0)))
        old = b.gather_nd(held, inside)
        (changed,) = for_elements(inner, function, [old, new])
        found = b.change_slices(held, place, changed, combine="update", depth=depth, ignores=True)
        return [b.add(i, b.const(np.int64(1))), found, places, updates]

    return values(x, x.loop(condition, body, [zero, held, places, updates]))[1]


def check_results(x: Extractor, found: Sequence[Value], like: Sequence[Value]) -> None:
    """Raises `InvalidArgumentError` where a function gives other dtypes than it is given."""
    if [v.type.dtype for v in found] != [v.type.dtype for v in like]:
        raise InvalidArgumentError(f"the function of '{x.name}' gives other types than it takes")
