"""Loop-invariant code motion: what no iteration changes is computed once, before the loop.

In: a Computation of lowered nodes. Out: one whose loops take such values as inputs. Inner loops
are done first, so that what leaves one may leave the loop around it, too.

A loop may run no iteration, and then what was moved is computed in vain: so only what cannot fail
moves. Constants, sizes and what is computed from them stay, since the body needs them to know the
trip counts of its own loops; of scalars, only those that are no size move. What has more elements
than it is made from (broadcasts, ranges) stays, too: a kernel computes it where it reads it, while
a value of its own would need memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowc.ir.bodies import bodies_of, size_definitions, sizes_used
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.dims import Dim, is_nonnegative
from flowc.ir.lowering import Elementwise, View
from flowc.ir.rewrite import Rewriter, prune_nodes, rewrite_nodes
from flowc.options import Options
from flowc.passes.analysis.failures import may_fail

FREE = frozenset({"const", "sizes"})
NEVER = frozenset({"stateful", "random"})


def hoist_invariants(c: Computation, options: Options) -> Computation:
    if not any(n.op.name == "while" for n in c.nodes):
        return c
    return rewrite_nodes(c, _hoist)


def _hoist(b: Rewriter, node: Node) -> Sequence[Value] | None:
    if node.op.name != "while":
        return None
    moved = {name: _Invariants(node, body) for name, body in bodies_of(node).items()}
    new: list[Value] = []  # becomes a parameter of both bodies
    inputs = list(node.inputs)
    for found in moved.values():
        outside = found.emit(b, node)
        for value in found.leaving():
            new.append(value)
            inputs.append(outside[value])
    if not new:
        return None
    bodies = {name: _without(found.body, new) for name, found in moved.items()}
    return b.replace_bodies(node, bodies, inputs)


class _Invariants:
    """The nodes of one body that may leave it."""

    def __init__(self, node: Node, body: Computation) -> None:
        self.body = body
        self.moved: list[Node] = []
        self.free: list[Node] = []
        local = {*size_definitions(body), *node.attrs["varying"]}
        fixed = {p.output for p in body.parameters[node.attrs["carried"] :]}
        known, users = Builder(), body.users()
        for n in body.nodes:
            if n.op.name == "parameter" or not fixed.issuperset(n.inputs):
                continue
            if not sizes_used(n).isdisjoint(local):
                continue
            if n.op.name in FREE or (_is_known(n, known) and _may_size(n.outputs, users)):
                self.free.append(n)
            elif _may_move(n):
                self.moved.append(n)
            else:
                continue
            fixed.update(n.outputs)

    def leaving(self) -> list[Value]:
        """The values that the body goes on reading."""
        inside = set(self.moved)
        read = {v for n in self.body.nodes if n not in inside for v in n.inputs}
        read.update(self.body.results)
        return [v for n in self.moved for v in n.outputs if v in read]

    def emit(self, b: Rewriter, node: Node) -> dict[Value, Value]:
        """Appends what leaves, and what it reads; the values outside for those in the body."""
        values = {p.output: v for p, v in zip(self.body.parameters, node.inputs)}
        leaving = set(self.moved)
        read = {v for n in self.moved for v in n.inputs}
        for n in reversed(self.free):
            if not read.isdisjoint(n.outputs):
                leaving.add(n)
                read.update(n.inputs)
        for n in self.body.nodes:
            if n in leaving:
                copy = b.append(n.over(values[v] for v in n.inputs))
                values.update(zip(n.outputs, copy.outputs))
        return values


def _is_known(node: Node, known: Builder) -> bool:
    """Whether the elements of its outputs are numbers and sizes."""
    return bool(node.outputs) and all(known.content(v) is not None for v in node.outputs)


def _may_size(values: Sequence[Value], users: Mapping[Value, list[Node]]) -> bool:
    """Whether anything may be as large as values say; scalars that are only computed with, such as
    limits of counters, size nothing."""
    for value in values:
        if value.type.rank:
            return True
        for user in users[value]:
            if bodies_of(user):
                for body in bodies_of(user).values():
                    first = len(user.inputs) - len(body.parameters)
                    pairs = zip(user.inputs[first:], body.parameters)
                    inside = [p.output for v, p in pairs if v is value]
                    if _may_size(inside, body.users()):
                        return True
            elif not isinstance(user.lowering, Elementwise):
                return True
    return False


def _may_move(node: Node) -> bool:
    if node.sizes or node.after or not node.outputs or node.op.traits & NEVER:
        return False
    if isinstance(node.lowering, (Elementwise, View)) and not _grows_no_data(node):
        return False
    return not may_fail(node)


def _grows_no_data(node: Node) -> bool:
    read: Dim = 0
    for value in node.inputs:
        read = read + value.type.size
    return is_nonnegative(read - node.output.type.size)


def _parameter(value: Value) -> Node:
    name = value.node.origin[0].rpartition("/")[2] if value.node.origin else value.node.op.name
    return parameter_node(name, value.type)


def _without(body: Computation, new: Sequence[Value]) -> Computation:
    """The body with more parameters, which stand for what left it or the loop's other body."""
    own = {v: _parameter(v) for v in new}
    left = {v.node for v in new}
    nodes = (*body.parameters, *own.values())
    nodes += tuple(n for n in body.nodes if n.op.name != "parameter")
    wider = replace(body, parameters=(*body.parameters, *own.values()), nodes=nodes)

    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        if b.old not in left:
            return None
        return [own[v].output if v in own else v for v in b.old.outputs]

    return prune_nodes(rewrite_nodes(wider, rule))
