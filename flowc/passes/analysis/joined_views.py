"""Views of several values, and those that mix what has been joined.

In: lowered nodes. Out: whether a value should be computed once, where others are copied into what
reads them: a network that shuffles channels joins values, merges dims, and joins that again. Of
all this as one expression, each element would be searched for through divisions and conditions,
and then again in what had been joined before.
"""

from __future__ import annotations

from flowc.ir.computation import Node, Value
from flowc.ir.lowering import View


def joins(node: Node) -> bool:
    """Whether a view has elements of several values."""
    one_dtype = len({v.type.dtype for v in node.inputs}) == 1
    return isinstance(node.lowering, View) and len(node.inputs) > 1 and one_dtype


def shuffles_joined(node: Node) -> bool:
    """Whether a reshape merges dims of values that views have joined."""
    lowering = node.lowering
    if not isinstance(lowering, View) or not lowering.reshape:
        return False
    if _rank(node.output) >= _rank(node.inputs[0]):
        return False
    inner = node.inputs[0].node
    while isinstance(inner.lowering, View) and len(inner.inputs) == 1:
        inner = inner.inputs[0].node
    return joins(inner)


def _rank(value: Value) -> int:
    return sum(d != 1 for d in value.dims)
