"""TensorFlow 1 control flow, read back: which nodes form loops, which stand in conditionals.

In: the nodes of a source that a set of roots needs, with Switch, Merge, Enter, Exit, NextIteration
and LoopCond among them. Out: the frame of every node, and its guard: the (predicate, branch) pairs
under which it runs. Malformed frames end in an `InvalidModelError` that names the nodes.

Invariants: a guard holds predicates of the node's own frame only (loops begin with none); the guard
of a Merge is what its inputs' guards have in common.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field
from typing import Any

from flowc.dataclass import dataclass
from flowc.errors import InvalidGraphError, InvalidModelError
from flowc.extract.frames.control_cycles import ControlCycles
from flowc.extract.frames.merge_decision import (
    ALWAYS,
    Choice,
    Decision,
    Guard,
    choose,
    shared_guard,
)
from flowc.extract.node_source import ARGUMENT, NodeSource, Ref, SourceNode
from flowc.graph.control_types import (
    ENTER,
    EXIT,
    FRAME_TYPES,
    LOOP_COND,
    MERGE,
    NEXT,
    PASSING,
    SWITCH,
)
from flowc.ir.traversal import inputs_first, reachable


@dataclass(slots=True, eq=False)
class LoopFrame:
    """One loop. `merges`: for each loop variable the key of its Merge, to the refs of its initial
    and its next value. `enters`: keys of all Enters. `condition`: the key of the LoopCond."""

    name: str
    parent: LoopFrame | None
    enters: list[Any] = field(default_factory=list[Any])
    exits: list[Any] = field(default_factory=list[Any])
    merges: dict[Any, tuple[Ref, Ref]] = field(default_factory=dict[Any, tuple[Ref, Ref]])
    condition: Any = None

    @property
    def depth(self) -> int:
        return 0 if self.parent is None else 1 + self.parent.depth


class ControlFlow:
    """Frames and guards of the nodes that `roots` need. `fed`: refs that are given from outside;
    `fetched`: those that are read from outside."""

    def __init__(
        self,
        source: NodeSource,
        roots: Iterable[Any],
        fed: Collection[Ref],
        fetched: Iterable[Ref] = (),
    ) -> None:
        self.source = source
        self.fed = fed
        self.roots = list(roots)
        self.needed = _needed(source, self.roots, fed)
        self.top = LoopFrame("", None)
        self.frames: dict[Any, LoopFrame] = {}
        self.guards: dict[Any, Guard] = {}
        self.loop_guards: dict[LoopFrame, Guard] = {}  # the branches in which loops stand
        self.read_refs: set[Ref] = set()
        self._choices: dict[Any, Choice] = {}
        self._passed: dict[Ref, list[str]] | None = None
        self._read_outputs: dict[Any, list[Ref]] | None = None
        self.is_plain = not any(source.node(k).type in FRAME_TYPES for k in self.needed)
        if not self.is_plain:
            for key in self._in_order():
                self._check_inputs(key)
            order = self._find_all_loops()
            self.read_refs = {r for k in self.needed for r in source.node(k).inputs}
            self.read_refs.update(fetched)
            self._find_guards(order)
            # What decides a branch may itself be given by the branches around, which are known now.
            if any(self._is_given(key) for key in order):
                self._choices.clear()
                self._find_guards(order)

    # -- what extraction asks

    def read_outputs(self, key: Any) -> Sequence[Ref]:
        """The outputs of a node that other nodes, or the caller, read."""
        if self._read_outputs is None:
            self._read_outputs = {}
            for ref in sorted(self.read_refs, key=lambda ref: ref[1]):
                self._read_outputs.setdefault(ref[0], []).append(ref)
        return self._read_outputs.get(key, ())

    def frame(self, key: Any) -> LoopFrame:
        """The frame in which a node's outputs stand: an Exit's are in the frame outside."""
        return self.top if self.is_plain else self.frames.get(key, self.top)

    def guard(self, ref: Ref) -> Guard:
        """Under which branches an output is alive."""
        if self.is_plain or ref in self.fed:
            return ALWAYS
        key, index = ref
        guard = self.guards.get(key, ALWAYS)
        node = self.source.node(key) if key != ARGUMENT else None
        if node is not None and node.type in SWITCH and not self._is_loop_switch(node):
            predicate = self.predicate(node.inputs[1])
            given = self._given(self.frame(key), predicate)
            if given == index:
                return guard
            found = guard | {self._deciding(predicate, index)}
            return found if given is None else found | {(predicate, given)}
        return guard

    def _deciding(self, predicate: Ref, branch: int) -> tuple[Ref, int]:
        """What decides a branch: where the predicate asks which input a Merge took, as gradients
        of conditionals without contexts do, that is what decides the Merge."""
        if predicate in self.fed or predicate[0] == ARGUMENT:
            return predicate, branch
        node = self.source.node(predicate[0])
        asked = [ref for ref in node.inputs if ref[0] != ARGUMENT and ref not in self.fed]
        if node.type != "Equal" or len(asked) < 2 or asked[0][1] != 1:
            return predicate, branch
        (merge, _), (number, _) = asked
        if self.source.node(merge).type not in MERGE or self.source.node(number).type != "Const":
            return predicate, branch
        choice, position = self.choice(merge), self.source.attr(number, "value")
        if not isinstance(choice, Decision) or position.size != 1:
            return predicate, branch
        sides = [side if isinstance(side, int) else None for side in choice.sides]
        if position.item() not in sides:
            return predicate, branch
        taken = sides.index(position.item())
        return choice.predicate, taken if branch else 1 - taken

    def _given(self, frame: LoopFrame, predicate: Ref) -> int | None:
        """Which branch of a predicate a loop stands in, when the predicate enters it: within the
        loop that is no question."""
        while frame.parent is not None and predicate not in self.fed and predicate[0] != ARGUMENT:
            node = self.source.node(predicate[0])
            if node.type not in ENTER:
                break
            predicate = self.predicate(node.inputs[0])
            for branch in (0, 1):
                if (predicate, branch) in self.loop_guards.get(frame, ALWAYS):
                    return branch
            frame = frame.parent
        return None

    def node_guard(self, key: Any) -> Guard:
        return ALWAYS if self.is_plain else self.guards.get(key, ALWAYS)

    def is_loop_merge(self, key: Any) -> bool:
        return not self.is_plain and key in self.frame(key).merges

    def predicate(self, ref: Ref) -> Ref:
        """The predicate behind Identity nodes, so that equal predicates are one."""
        while ref not in self.fed and ref[0] != ARGUMENT:
            node = self.source.node(ref[0])
            if node.type not in PASSING:
                break
            ref = node.inputs[0]
        return ref

    def choice(self, key: Any) -> Choice:
        """What decides which input of a Merge is alive."""
        found = self._choices.get(key)
        if found is None:
            found = self._choices[key] = self._choose(key)
        return found

    def names_given(self, ref: Ref) -> list[str]:
        """The names of the nodes that pass an output on."""
        if self._passed is None:
            self._passed = {}
            for key in self._in_order():
                node = self.source.node(key)
                if node.type in PASSING:
                    self._passed.setdefault(node.inputs[0], []).append(node.name)
        return self._passed.get(ref, [])

    def _choose(self, key: Any) -> Choice:
        refs = self.source.node(key).inputs
        guards = [self.guard(r) for r in refs]
        found = choose(guards)
        if found is None:
            found = choose(guards, [i for i, ref in enumerate(refs) if self._reads_fed(ref)])
        if found is None:
            raise self._invalid(
                key,
                "joins values of which no condition says which one is alive",
                "the inputs of a Merge come from the two sides of Switch nodes",
            )
        return found

    def _reads_fed(self, ref: Ref) -> bool:
        """Whether an output depends on a fed tensor which the graph would have computed."""

        def behind(read: Ref) -> Iterable[Ref]:
            if read in self.fed:
                return ()
            return (r for r in self.source.node(read[0]).inputs if r[0] != ARGUMENT)

        found = reachable([ref] if ref[0] != ARGUMENT else [], behind)
        return any(read in self.fed and self.source.node(read[0]).inputs for read in found)

    def _invalid(self, key: Any, fault: str, hint: str | None = None) -> InvalidModelError:
        name = self.source.name(key)
        kind = self.source.node(key).type
        return InvalidModelError(f"node '{name}' ({kind}) {fault}", node=name, hint=hint)

    # -- finding

    def _is_loop_switch(self, node: SourceNode) -> bool:
        key, _ = node.inputs[1]
        return key != ARGUMENT and self.source.node(key).type == LOOP_COND

    def _inputs(self, key: Any) -> list[Any]:
        """Keys that a node reads or waits for; without the edges that close loops."""
        node = self.source.node(key)
        kept = [k for k, i in node.inputs if (k, i) not in self.fed and k != ARGUMENT]
        if node.type in MERGE:
            kept = [k for k in kept if self.source.node(k).type not in NEXT]
        return kept + list(node.controls)

    def _in_order(self) -> list[Any]:
        return sorted(self.needed, key=self.source.order)

    def _find_all_loops(self) -> list[Any]:
        """Finds frames and loops. The needed nodes, inputs first, and all Enters of a loop before
        its Exits. Where a loop would wait for itself, control inputs are moved in the source."""

        def with_enters(key: Any) -> list[Any]:
            before = self._inputs(key)
            return before + self.loop_of(key).enters if self._is_exit(key) else before

        while True:
            self._find_frames(inputs_first(self._in_order(), self._inputs, self._refuse_circle))
            self._find_loops()
            circle: list[Any] = []
            order = inputs_first(self._in_order(), with_enters, circle.extend)
            if not circle:
                return order
            self._move_controls(circle)
            self.needed = _needed(self.source, self.roots, self.fed)
            self.frames.clear()

    def _move_controls(self, circle: list[Any]) -> None:
        late = ControlCycles(self.source, self.needed, self.fed)
        for loop in dict.fromkeys(self.loop_of(key) for key in circle if self._is_exit(key)):
            moved = late.moved(loop)
            if moved:
                self.source.move_controls(moved)
                return
        self._refuse_circle(circle)

    def _refuse_circle(self, circle: list[Any]) -> None:
        raise self._invalid(circle[0], "depends on itself, and no NextIteration closes the loop")

    def _is_exit(self, key: Any) -> bool:
        return self.source.node(key).type in EXIT

    def loop_of(self, exit_key: Any) -> LoopFrame:
        """The loop that an Exit leaves."""
        (ref,) = self.source.node(exit_key).inputs
        return self.frames[ref[0]]

    def _check_inputs(self, key: Any) -> None:
        """Refuses nodes of control flow with other numbers of inputs than they have to have, and
        those that close no loop."""
        node = self.source.node(key)
        if node.type not in FRAME_TYPES:
            expected = len(node.inputs)
        elif node.type in MERGE:
            expected = max(len(node.inputs), 1)
        else:
            expected = 2 if node.type in SWITCH else 1
        if len(node.inputs) != expected:
            raise self._invalid(key, f"has {len(node.inputs)} inputs: expected {expected}")
        closing = [ref[0] for ref in node.inputs if self._is_next(ref)]
        if closing and node.type not in MERGE:
            last = self.source.name(closing[0])
            raise self._invalid(key, f"reads '{last}' (NextIteration), which only a Merge may")
        if closing and (len(node.inputs) != 2 or len(closing) != 1):
            raise self._invalid(
                key, "is no loop variable: it must join one Enter and one NextIteration"
            )

    def _find_frames(self, order: list[Any]) -> None:
        children: dict[tuple[LoopFrame, str], LoopFrame] = {}
        for key in order:
            node = self.source.node(key)
            frame = self._common_frame(key, node)
            if node.type in ENTER:
                name = _text(self.source.attr(key, "frame_name", ""))
                if not name:
                    raise self._invalid(key, "has no frame_name")
                inner = children.setdefault((frame, name), LoopFrame(name, frame))
                inner.enters.append(key)
                frame = inner
            elif node.type in EXIT:
                if frame.parent is None or node.inputs[0][0] == ARGUMENT:
                    raise self._invalid(key, "leaves a loop that no Enter enters")
                frame.exits.append(key)
                frame = frame.parent
            elif node.type == LOOP_COND:
                if frame.parent is None:
                    raise self._invalid(key, "stands in no loop")
                if frame.condition is not None:
                    first = self.source.name(frame.condition)
                    raise self._invalid(key, f"is a second condition of its loop beside '{first}'")
                frame.condition = key
            self.frames[key] = frame

    def _common_frame(self, key: Any, node: SourceNode) -> LoopFrame:
        """The frame of what a node reads and waits for."""
        found = {self.frames[k] for k in self._inputs(key)}
        frame = max(found, key=lambda f: f.depth) if found else self.top
        strange = [f for f in found if f is not frame]
        if strange and node.type not in ENTER:
            data = [self.frames[k] for k, _ in node.inputs if k in self.frames]
            if any(f is not frame for f in data):
                raise self._crossed(key, frame, strange[0])
        return frame

    def _crossed(self, key: Any, one: LoopFrame, other: LoopFrame) -> InvalidGraphError:
        shown = " and ".join(repr(f.name) if f.parent else "outside" for f in (one, other))
        name, kind = self.source.name(key), self.source.node(key).type
        return InvalidGraphError(
            f"node '{name}' ({kind}) reads values of two frames: {shown} ({{{{node {name}}}}} has "
            "inputs from different frames)",
            node=name,
            hint="values enter a loop through Enter and leave it through Exit",
        )

    def _find_loops(self) -> None:
        """Pairs each loop Merge with its Enter and its NextIteration."""
        for key in self._in_order():
            node = self.source.node(key)
            closing = [i for i, ref in enumerate(node.inputs) if self._is_next(ref)]
            if not closing:
                continue
            frame = self.frames[key]
            if frame.parent is None:
                raise self._invalid(key, "closes a loop that no Enter enters")
            start = node.inputs[1 - closing[0]]
            last = node.inputs[closing[0]][0]
            if self.frames[last] is not frame:
                raise self._crossed(key, frame, self.frames[last])
            frame.merges[key] = (start, self.source.node(last).inputs[0])
        for frame in dict.fromkeys(self.frames.values()):
            if frame.parent is not None and frame.merges and frame.condition is None:
                raise self._invalid(
                    frame.enters[0],
                    f"enters the loop of frame {frame.name!r}, which has no LoopCond",
                )

    def _is_next(self, ref: Ref) -> bool:
        return ref not in self.fed and ref[0] != ARGUMENT and self.source.node(ref[0]).type in NEXT

    def _is_given(self, key: Any) -> bool:
        node = self.source.node(key)
        if node.type not in SWITCH or self._is_loop_switch(node):
            return False
        return self._given(self.frame(key), self.predicate(node.inputs[1])) is not None

    def _find_guards(self, order: list[Any]) -> None:
        loop_guards: dict[LoopFrame, Guard] = {}
        for key in order:
            node = self.source.node(key)
            if node.type in ENTER:
                frame = self.frames[key]
                outside = self._joined(node)
                loop_guards[frame] = loop_guards.get(frame, ALWAYS) | outside
                self.guards[key] = ALWAYS
            elif node.type in EXIT:
                self.guards[key] = loop_guards.get(self.loop_of(key), ALWAYS)
            elif node.type in MERGE:
                if self.is_loop_merge(key):
                    self.guards[key] = ALWAYS
                else:
                    self.guards[key] = shared_guard([self.guard(r) for r in node.inputs])
            else:
                self.guards[key] = self._joined(node)
        self.loop_guards = loop_guards

    def _joined(self, node: SourceNode) -> Guard:
        found: Guard = ALWAYS
        for ref in node.inputs:
            if ref[0] != ARGUMENT:
                found |= self.guard(ref)
        for key in node.controls:
            found |= self.guards[key]
        return found


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _needed(source: NodeSource, roots: Iterable[Any], fed: Collection[Ref]) -> set[Any]:
    """Every node that the roots read or wait for, in any frame."""

    def before(key: Any) -> Iterable[Any]:
        node = source.node(key)
        return [*(k for k, i in node.inputs if (k, i) not in fed and k != ARGUMENT), *node.controls]

    return set(reachable((k for k in roots if k != ARGUMENT), before))
