"""What of a program Python computes, which libraries do without.

In: a Computation. Out: its host steps by what they are called in messages, with the names of their
nodes. Invariant: strings count, too, as Python alone keeps them.
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
