"""Aliasing: which values have the bytes of others.

In: lowered values and nodes. Out: whose bytes a value is, and which input a node changes in place.
"""

from __future__ import annotations

from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Native, View


def root_of(value: Value) -> Value:
    """The value whose bytes this one is: reshapes move no data."""
    while isinstance(value.node.lowering, View):
        value = value.node.inputs[0]
    return value


def updated_input(node: Node) -> Value | None:
    """The input that output 0 of a cluster is a changed copy of, if it is one."""
    if node.op.name != "cluster" or node.attrs["kind"] != "native":
        return None
    body: Computation = node.attrs["body"]
    for inner in body.nodes:
        lowering = inner.lowering
        if isinstance(lowering, Native) and lowering.updates is not None:
            changed = inner.inputs[lowering.updates]
            position = [p.output for p in body.parameters].index(changed)
            return node.inputs[position]
    return None
