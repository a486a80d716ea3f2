"""The host steps of a program: what Python computes, and no library can hold.

In: a Computation. Out: the names of their nodes, by what messages call the steps. Invariant: nodes
of strings count, too, since only Python keeps strings.
"""

from __future__ import annotations

from flowc import dtypes
from flowc.ir.bodies import bodies_of
from flowc.ir.computation import Computation
from flowc.ir.lowering import Host


def host_steps(c: Computation) -> dict[str, list[str]]:
    """What needs Python, which is also what keeps strings, and the names of the nodes."""
    found: dict[str, list[str]] = {}
    stack = [c]
    while stack:
        for node in stack.pop().nodes:
            if isinstance(node.lowering, Host):
                told = node.lowering.shown + node.lowering.unlinked
                found.setdefault(told, []).append(node.name)
            elif any(v.type.dtype is dtypes.string for v in node.outputs):
                found.setdefault("values that are strings", []).append(node.name)
            if node.op.name != "cluster":
                stack += bodies_of(node).values()
    return found
