"""Eliminates written-once and read-once checks of lists, and fills of lists that loops overwrite.

In: a Computation in which lists have marks (`flowc/ir/mark_access.py`). Out: one in which elements
are set, got and stacked without a check where the marks are known to pass it; marks that nobody
reads any more are pruned. Bounds stay checked.

A forward dataflow analysis: each value has the set of marks that it may hold, by the transfer
functions in the records; loops are iterated to a fixed point. In a loop an induction variable comes
to each place once: an element that it writes was not written before, one that it reads was not
read. Where the loop ends only when such variables have come to every place, all elements are
written: what a list holds before such a loop, which does nothing else with it, is dead.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowc.ir.bodies import bodies_of, nodes_within
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, as_dim
from flowc.ir.mark_access import ANY_MARKS, WRITTEN, MarkAccess, Marks
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.options import Options
from flowc.passes.analysis.induction import (
    Induction,
    KnownContents,
    indices_in_body,
    runs_at_least,
)
from flowc.passes.prune import prune


def eliminate_list_checks(c: Computation, options: Options) -> Computation:
    if not any(n.op.marks is not None for node in c.nodes for n in nodes_within(node)):
        return c
    found = _MarksAnalysis()
    found.visit(c, {})
    changed = _rewritten(c, found)
    return c if changed is c else prune(changed, options)


def _rewritten(c: Computation, found: _MarksAnalysis) -> Computation:
    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        old = b.old
        bodies = bodies_of(old)
        if bodies:
            changed = {name: _rewritten(body, found) for name, body in bodies.items()}
            return b.replace_bodies(old.over(node.inputs, node.after), changed)
        if old in found.overwritten:
            return b.emit(node.op, node.inputs, {**node.attrs, "filled": False}).outputs
        access = old.op.marks
        if access is None or access.needs is None or not found.passes(old, access):
            return None
        output, passed = access.checked
        if old.outputs[output] not in found.read:
            return None
        outputs = list(node.outputs)
        if len(outputs) > 1:
            outputs = list(b.emit(node.op, node.inputs, node.attrs).outputs)
        outputs[output] = node.inputs[passed]
        return outputs

    return rewrite_nodes(c, rule)


class _MarksAnalysis:
    """What is known of the values of a Computation and its bodies."""

    def __init__(self) -> None:
        self.marks: dict[Value, Marks] = {}
        self.proved: set[Node] = set()  # whose marks are as they must be, by the loop around them
        self.overwritten: set[Node] = set()  # new lists that a loop writes whole
        self.read: set[Value] = set()
        self.known = KnownContents()

    def of(self, value: Value) -> Marks:
        return self.marks.get(value, ANY_MARKS)

    def passes(self, node: Node, access: MarkAccess) -> bool:
        """Whether the marks let a node do what it does."""
        if node in self.proved:
            return True
        assert access.marks is not None
        if access.is_exclusive(node.attrs) and not self.differ(node.inputs[access.index or 0]):
            return False
        return access.passes(node.attrs, self.of(node.inputs[access.marks]))

    def differ(self, index: Value) -> bool:
        """Whether indices are seen to differ from one another."""
        if index.type.rank == 0 or index.node.op.name == "range":
            return True
        found = self.known.of(index)
        if found is None or any(isinstance(x, Expr) for x in found.reshape(-1)):
            return False
        return len(set(found.reshape(-1).tolist())) == found.size

    # -- forward, to a fixed point

    def visit(self, c: Computation, given: Mapping[Value, Value]) -> None:
        """`given`: for parameters of a body the values outside, where they stay these."""
        self.read.update(c.results)
        for inner, outer in given.items():
            self.known.given[inner] = self.known.of(outer)
            self.marks[inner] = self.of(outer)
        for node in c.nodes:
            self.read.update(node.inputs)
            access = node.op.marks
            if access is not None and node.outputs:
                before: Marks = frozenset()
                if access.marks is not None:
                    before = self.of(node.inputs[access.marks])
                self.marks[node.outputs[0]] = access.after(node.attrs, before)
            elif node.op.name == "while":
                self.visit_loop(node, c)
            elif node.op.name == "if":
                self.visit_branches(node)

    def visit_branches(self, node: Node) -> None:
        bodies = bodies_of(node).values()
        for body in bodies:
            self.visit(body, dict(zip(_outputs(body.parameters), node.inputs[1:])))
        for output, *results in zip(node.outputs, *(body.results for body in bodies)):
            self.marks[output] = frozenset[int]().union(*map(self.of, results))

    def visit_loop(self, node: Node, c: Computation) -> None:
        condition, body = node.attrs["condition"], node.attrs["body"]
        carried = node.attrs["carried"]
        before = [self.of(v) for v in node.inputs[:carried]]
        parameters = _outputs(body.parameters)
        given = dict(zip(parameters[carried:], node.inputs[carried:]))
        while True:
            self.marks.update(zip(parameters, before))
            self.visit(body, given)
            after = [m | self.of(r) for m, r in zip(before, body.results)]
            if after == before:
                break
            before = after
        self.marks.update(zip(_outputs(condition.parameters), before))
        given = dict(zip(_outputs(condition.parameters)[carried:], node.inputs[carried:]))
        self.visit(condition, given)
        self.marks.update(zip(node.outputs, before))
        self.prove(node, c)

    # -- loops that come to each place once

    def prove(self, loop: Node, c: Computation) -> None:
        body: Computation = loop.attrs["body"]
        users, outside = body.users(), c.users()
        indices = indices_in_body(loop, self.known)
        for k in range(loop.attrs["carried"]):
            own = body.parameters[k].output
            new, places = self.new_list(loop, k, c, outside)
            if new is not None and self.overwrites(loop, k, places, users, indices):
                self.overwritten.add(new)
            self.proved.difference_update(users[own])
            found = _sole_access(users, own, body.results[k])
            if found is None:
                continue
            node, access, at = found
            index = indices.get(at)
            before = self.changed_before(loop.inputs[k], node, access)
            if index is None or before is None or not all(map(index.never_meets, before)):
                continue
            self.proved.add(node)
            writes = access.leaves is not None and access.leaves(node.attrs) == WRITTEN
            if writes and self.covers(loop, index, before, own.dims[0]):
                self.marks[loop.outputs[k]] = frozenset({WRITTEN})

    def new_list(
        self, loop: Node, k: int, c: Computation, users: Mapping[Value, list[Node]]
    ) -> tuple[Node | None, list[Dim]]:
        """The node that makes the list which is the k-th input of a loop, and the places that were
        written before it; None where others have the list too."""
        value, reader = loop.inputs[k], loop
        places: list[Dim] = []
        while users[value] == [reader] and value not in c.results:
            made = value.node
            if made.op.marks is not None and made.op.marks.marks is None:
                return made, places
            index = _set_at(made)
            place = None if index is None else self.known.number(index)
            if place is None:
                break
            places.append(place)
            value, reader = made.inputs[0], made
        return None, []

    def overwrites(
        self,
        loop: Node,
        k: int,
        places: Sequence[Dim],
        users: Mapping[Value, list[Node]],
        indices: Mapping[Value, Induction],
    ) -> bool:
        """Whether all that a loop does with a list, its k-th input, is to write each place that is
        not one of `places`."""
        body, condition = loop.attrs["body"], loop.attrs["condition"]
        own, result = body.parameters[k].output, body.results[k]
        at = _set_at(result.node)
        if at is None or users[own] != [result.node] or users[result]:
            return False
        if condition.users()[condition.parameters[k].output]:
            return False
        index = indices.get(at) if result.node.inputs[0] is own else None
        return index is not None and self.covers(loop, index, places, own.dims[0])

    def changed_before(self, value: Value, node: Node, access: MarkAccess) -> list[Dim] | None:
        """The places whose marks were changed before the loop in the way in which `node` changes
        them in it. None where such a place is unknown, or where all others may not be in the state
        that `node` needs."""
        places: list[Dim] = []
        while value.node.op is node.op:
            place = self.known.number(value.node.inputs[access.index or 0])
            if place is None:
                return None
            places.append(place)
            value = value.node.inputs[0]
        return places if access.passes(node.attrs, self.of(value)) else None

    def covers(self, loop: Node, index: Induction, before: Sequence[Dim], rows: Dim) -> bool:
        """Whether the index and the places `before` have been everywhere when the loop ends."""
        left = as_dim(index.start if index.step > 0 else rows - 1 - index.start)
        if abs(index.step) != 1 or not isinstance(left, int) or left < 0:
            return False
        outside = [as_dim(i if index.step > 0 else rows - 1 - i) for i in range(left)]
        if not all(place in before for place in outside):
            return False
        return runs_at_least(loop, rows - left, self.known)


def _outputs(parameters: Sequence[Node]) -> list[Value]:
    return [p.output for p in parameters]


def _set_at(node: Node) -> Value | None:
    """The index at which a node does nothing but set an element of a list, its first input."""
    if "sets_elements" not in node.op.traits or node.attrs["add"]:
        return None
    index = node.inputs[1]
    access = index.node.op.marks
    if access is not None and access.checked[0] == index.index:
        index = index.node.inputs[access.checked[1]]
    return None if index.type.rank else index


def _sole_access(
    users: Mapping[Value, list[Node]], own: Value, result: Value
) -> tuple[Node, MarkAccess, Value] | None:
    """The one node of a body that reads and changes the marks of a list, and the index at which it
    does; None where the body does more with them."""
    if users[result] or len(users[own]) != 1:
        return None
    (node,) = users[own]
    access = node.op.marks
    if access is None or access.index is None or result is not node.outputs[0]:
        return None
    return node, access, node.inputs[access.index]
