"""Checks of a TensorArray's marks that cannot fail go, and lists are not filled that loops fill.

In: a Computation in which lists have marks (`flowc/ops/lists/list_marks.py`): what was written,
what was read and cleared. Out: one in which elements are set, got and stacked without a look at
marks where it is known what these say; prune then drops the marks that nobody looks at. Bounds stay
checked.

What is known of marks is the set of numbers that they may hold, by where they come from. In a loop
an index that goes on by a constant comes to each place once: an element that it writes was not
written before, one that it reads was not read. Where the loop ends only when such indices have
come to every place, all elements are written: what a list holds before such a loop, which does
nothing else with it, is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flowc.ir.bodies import bodies_of, nodes_within, with_bodies
from flowc.ir.builder import Content, content_of
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Expr, as_dim
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.ops.lists.list_marks import CLEARED, UNWRITTEN, WRITTEN

Marks = frozenset[int]  # what the marks of a list may be
ANY: Marks = frozenset({UNWRITTEN, WRITTEN, CLEARED})
CHECKS = frozenset({"list_write", "list_take", "list_check", "list_whole"})


def drop_marks(c: Computation) -> Computation:
    wanted = CHECKS | {"list_new"}
    if not any(n.op.name in wanted for node in c.nodes for n in nodes_within(node)):
        return c
    found = _Analysis()
    found.visit(c, {})
    return _rewritten(c, found)


def _rewritten(c: Computation, found: _Analysis) -> Computation:
    order = iter(c.nodes)

    def rule(b: Rewriter, node: Node) -> Sequence[Value] | None:
        old = next(order)
        bodies = bodies_of(old)
        if bodies:
            changed = {name: _rewritten(body, found) for name, body in bodies.items()}
            if all(changed[name] is body for name, body in bodies.items()):
                return None
            return b.emit(
                node.op, node.inputs, with_bodies(node, changed), after=node.after
            ).outputs
        if old in found.overwritten:
            return b.emit(node.op, node.inputs, {**node.attrs, "filled": False}).outputs
        if old.op.name not in CHECKS or not found.passes(old):
            return None
        return _unchecked(b, node)

    return rewrite_nodes(c, rule)


def _unchecked(b: Rewriter, node: Node) -> Sequence[Value]:
    """What takes the place of a node whose look at the marks shows nothing."""
    match node.op.name:
        case "list_write":
            buffer, _, index, value = node.inputs
            return [b.list_set(buffer, index, value, array=node.attrs["array"])]
        case "list_take":
            return [b.emit(node.op, node.inputs, node.attrs).outputs[0], node.inputs[1]]
        case "list_check":
            return [node.inputs[1]]
        case _:
            return [node.inputs[0]]


@dataclass(frozen=True, slots=True)
class _Steps:
    """A carried index: what it starts as, and the constant by which it goes on."""

    start: Dim
    step: int


class _Analysis:
    """What is known of the values of a Computation and its bodies."""

    def __init__(self) -> None:
        self.marks: dict[Value, Marks] = {}
        self.proved: set[Node] = set()  # whose marks are as they must be, by the loop around them
        self.overwritten: set[Node] = set()  # new lists that a loop writes whole
        self.contents: dict[Value, Content] = {}

    def content(self, value: Value) -> Content:
        if value not in self.contents:
            self.contents[value] = content_of(value, self.content)
        return self.contents[value]

    def number(self, value: Value) -> Dim | None:
        """An integer scalar as a size."""
        found = self.content(value) if value.type.rank == 0 else None
        return None if found is None else as_dim(found.reshape(-1)[0])

    def of(self, value: Value) -> Marks:
        return self.marks.get(value, ANY)

    def passes(self, node: Node) -> bool:
        """Whether the marks let a node do what it does."""
        if node in self.proved:
            return not node.attrs.get("add")
        if node.op.name == "list_write":
            free = self.of(node.inputs[1]) <= {UNWRITTEN} and self.differ(node.inputs[2])
            return free and not node.attrs["add"]
        if node.op.name == "list_take" and not self.differ(node.inputs[1]):
            return False
        marks = self.of(node.inputs[1 if node.op.name == "list_whole" else 0])
        return marks <= ({UNWRITTEN, WRITTEN} if node.attrs["zeros"] else {WRITTEN})

    def differ(self, index: Value) -> bool:
        """Whether indices are seen to differ from one another."""
        if index.type.rank == 0 or index.node.op.name == "range":
            return True
        found = self.content(index)
        if found is None or any(isinstance(x, Expr) for x in found.reshape(-1)):
            return False
        return len(set(found.reshape(-1).tolist())) == found.size

    # -- what values may be

    def visit(self, c: Computation, given: Mapping[Value, Value]) -> None:
        """`given`: for parameters of a body the values outside, where they stay these."""
        for inner, outer in given.items():
            self.contents[inner] = self.content(outer)
            self.marks[inner] = self.of(outer)
        for node in c.nodes:
            match node.op.name:
                case "list_new":
                    self.marks[node.output] = frozenset({node.attrs["value"]})
                case "list_mark":
                    before = self.of(node.inputs[0]) | {WRITTEN}
                    once = node.attrs["add"] or self.differ(node.inputs[1])
                    # One place written twice is found by who makes the marks: they stay.
                    self.marks[node.output] = before if once else ANY
                case "list_take":
                    self.marks[node.outputs[0]] = self.of(node.inputs[0]) | {CLEARED}
                case "list_resize":
                    self.marks[node.output] = self.of(node.inputs[0]) | {UNWRITTEN}
                case "while":
                    self.visit_loop(node, c)
                case "if":
                    self.visit_branches(node)
                case _:
                    pass

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
        steps: dict[Value, _Steps] = {}
        for k, result in enumerate(body.results):
            found = self.steps(loop, k)
            if found is not None:
                steps[body.parameters[k].output] = found
                steps[result] = _Steps(as_dim(found.start + found.step), found.step)
        for k in range(loop.attrs["carried"]):
            own = body.parameters[k].output
            new, places = self.new_list(loop, k, c, outside)
            if new is not None and self.overwrites(loop, k, places, users, steps):
                self.overwritten.add(new)
            self.proved.difference_update(users[own])
            found = _use(users, own, body.results[k])
            index = None if found is None else steps.get(found.inputs[_INDEX[found.op.name]])
            if found is None or index is None:
                continue
            writes = found.op.name == "list_write"
            before = self.changed_before(loop.inputs[k], writes)
            if before is None or not all(_is_behind(index, place) for place in before):
                continue
            self.proved.add(found)
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
            if made.op.name == "list_new":
                return made, places
            index = _written_at(made)
            place = None if index is None else self.number(index)
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
        steps: Mapping[Value, _Steps],
    ) -> bool:
        """Whether all that a loop does with a list, its k-th input, is to write each place that is
        not one of `places`."""
        body, condition = loop.attrs["body"], loop.attrs["condition"]
        own, result = body.parameters[k].output, body.results[k]
        at = _written_at(result.node)
        if at is None or users[own] != [result.node] or users[result]:
            return False
        if condition.users()[condition.parameters[k].output]:
            return False
        index = steps.get(at) if result.node.inputs[0] is own else None
        return index is not None and self.covers(loop, index, places, own.dims[0])

    def steps(self, loop: Node, k: int) -> _Steps | None:
        """How the k-th input of a loop goes on, if it is an index that constants are added to."""
        body: Computation = loop.attrs["body"]
        if k >= loop.attrs["carried"]:
            return None
        made, own = body.results[k].node, body.parameters[k].output
        start = self.number(loop.inputs[k])
        if start is None or made.op.name not in ("add", "sub") or own not in made.inputs:
            return None
        if made.op.name == "sub" and made.inputs[0] is not own:
            return None
        other = made.inputs[1] if made.inputs[0] is own else made.inputs[0]
        if other.constant is None or own.type.rank or not own.type.dtype.is_integer:
            return None
        step = int(other.constant) * (1 if made.op.name == "add" else -1)
        return _Steps(start, step) if step else None

    def changed_before(self, value: Value, writes: bool) -> list[Dim] | None:
        """The places at which marks were changed before a loop that writes, or reads, elsewhere;
        None where those at other places may not be as that loop needs them."""
        places: list[Dim] = []
        while value.node.op.name == ("list_mark" if writes else "list_take"):
            place = self.number(value.node.inputs[1])
            if place is None:
                return None
            places.append(place)
            value = value.node.inputs[0]
        return places if self.of(value) <= {UNWRITTEN if writes else WRITTEN} else None

    def covers(self, loop: Node, index: _Steps, before: Sequence[Dim], rows: Dim) -> bool:
        """Whether the index and the places `before` have been everywhere when the loop ends."""
        left = as_dim(index.start if index.step > 0 else rows - 1 - index.start)
        if abs(index.step) != 1 or not isinstance(left, int) or left < 0:
            return False
        outside = [as_dim(i if index.step > 0 else rows - 1 - i) for i in range(left)]
        if not all(place in before for place in outside):
            return False
        condition: Computation = loop.attrs["condition"]
        needed = rows - left
        for end in _conjuncts(condition.results[0]):
            count = self.iterations(loop, end)
            spare = None if count is None else as_dim(count - needed)
            if not isinstance(spare, int) or spare < 0:
                return False
        return True

    def iterations(self, loop: Node, end: Value) -> Dim | None:
        """After how many iterations a comparison of an index ends the loop, if not before the
        first one."""
        if end.node.op.name not in _COMPARISONS:
            return None
        direction, extra = _COMPARISONS[end.node.op.name]
        one, other = end.node.inputs
        parameters = _outputs(loop.attrs["condition"].parameters)
        if one not in parameters:
            one, other, direction = other, one, -direction
        steps = self.steps(loop, parameters.index(one)) if one in parameters else None
        limit = self.number(other)
        if steps is None or limit is None or steps.step != direction:
            return None
        return (limit - steps.start) * direction + extra


# An index that counts in this direction ends a loop by this many iterations behind its limit.
_COMPARISONS = {"less": (1, 0), "less_equal": (1, 1), "greater": (-1, 0), "greater_equal": (-1, 1)}
_INDEX = {"list_write": 2, "list_set": 1, "list_take": 1}


def _outputs(parameters: Sequence[Node]) -> list[Value]:
    return [p.output for p in parameters]


def _conjuncts(value: Value) -> Iterator[Value]:
    if value.node.op.name == "logical_and":
        for part in value.node.inputs:
            yield from _conjuncts(part)
    else:
        yield value


def _is_behind(index: _Steps, place: Dim) -> bool:
    """Whether an index never comes to a place, as it begins behind it."""
    ahead: Any = as_dim(index.start - place)
    return isinstance(ahead, int) and ahead * index.step > 0


def _written_at(node: Node) -> Value | None:
    """The index at which a node does nothing but write into a list, its first input."""
    if node.op.name not in ("list_set", "list_write") or node.attrs.get("add"):
        return None
    index = node.inputs[_INDEX[node.op.name]]
    return None if index.type.rank else index


def _use(users: Mapping[Value, list[Node]], own: Value, result: Value) -> Node | None:
    """The one node that reads by the marks of a list, or that writes (then the marks are set
    beside it), at an index; None where a body does more with the marks."""
    found = sorted(users[own], key=lambda n: n.op.name)
    if users[result]:
        return None
    match [n.op.name for n in found]:
        case ["list_take"]:
            return found[0] if result is found[0].outputs[0] else None
        case ["list_mark", "list_write"]:
            mark, write = found
            same = result is mark.output and mark.inputs[1] is write.inputs[2]
            return write if same else None
        case _:
            return None
