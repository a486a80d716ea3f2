"""Loops over scalars become kernels: an iteration costs what its arithmetic costs.

In: a Computation of lowered nodes. Out: one in which every `while` that carries only scalars, and
whose bodies compute only scalars (reading elements of tensors that do not change, branching and
looping as they like), is a cluster of kind `scalar`.
"""

from __future__ import annotations

from types import MappingProxyType

from flowc.ir.bodies import bodies_of
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Elementwise, View
from flowc.ir.op import op_named
from flowc.ir.rewrite import rewrite_nodes
from flowc.options import Options

NODE_LIMIT = 400  # nodes of one loop and the loops in it: bounds compile time
DEPTH_LIMIT = 16  # loops and branches in each other: Python takes 20 loops


def scalar_loops(c: Computation, options: Options) -> Computation:
    return rewrite_nodes(c, _as_cluster)


def _as_cluster(b: Builder, node: Node) -> list[Value] | None:
    if node.op.name != "while" or not _is_scalar(node):
        return None
    if _count(node) > NODE_LIMIT or _depth(node) > DEPTH_LIMIT:
        return None
    inner = Builder()
    parameters: dict[Value, Value] = {}
    for value in node.inputs:
        if value not in parameters:
            parameters[value] = inner.parameter(f"p{len(parameters)}", value.type)
    copy = inner.append(node.over(parameters[v] for v in node.inputs))
    attrs = {
        "kind": "scalar",
        "body": inner.build(list(copy.outputs)),
        "Tout": tuple(t.dtype for t in node.types),
    }
    made = Node(
        op_named("cluster"),
        tuple(parameters),
        MappingProxyType(attrs),
        node.types,
        node.after,
        node.origin,
    )
    b.append(made)
    return list(made.outputs)


def _is_scalar(node: Node) -> bool:
    """Whether a loop, a branch or a scalar cluster computes nothing but scalars."""
    if node.sizes or node.has_effects or any(t.rank or not t.dtype.size for t in node.types):
        return False
    fixed: set[Value] = set()
    for body in bodies_of(node).values():
        for number, parameter in enumerate(body.parameters):
            value = parameter.output
            if number < node.attrs.get("carried", 0):
                if value.type.rank:
                    return False
            else:
                fixed.add(value)
        if body.constraints or not all(_fits(n, fixed) for n in body.nodes):
            return False
    return True


def _fits(node: Node, fixed: set[Value]) -> bool:
    """Whether a node of a body can be a few lines of a kernel: `fixed` are the tensors that no
    iteration changes."""
    if node.op.name == "parameter":
        return True
    if node.op.name == "const":
        return node.output.type.size == 1 and bool(node.output.type.dtype.size)
    if node.op.name in ("while", "if") or node.attrs.get("kind") == "scalar":
        tensors = [v for v in node.inputs if v.type.rank]
        return all(v in fixed for v in tensors) and _is_scalar(node)
    if node.after or len(node.outputs) != 1 or node.output.type.rank:
        return False
    if node.attrs.get("device"):
        return False  # where it runs is said
    if isinstance(node.lowering, Elementwise):
        return all(v.type.rank == 0 or v.type.size == 1 for v in node.inputs)
    is_view = isinstance(node.lowering, View)
    return is_view and all(v.type.rank == 0 or v in fixed or _is_one(v) for v in node.inputs)


def _is_one(value: Value) -> bool:
    return value.constant is not None and value.type.size == 1


def _count(node: Node) -> int:
    return sum(1 + _count(n) for body in bodies_of(node).values() for n in body.nodes)


def _depth(node: Node) -> int:
    inner = [n for body in bodies_of(node).values() for n in body.nodes]
    return int(node.op.name in ("while", "if")) + max(map(_depth, inner), default=0)
