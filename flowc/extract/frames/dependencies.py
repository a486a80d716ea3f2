"""What the units of one frame wait for: nodes, whole loops, and conditionals.

In: a frame graph, and the guard under which a region's nodes run. Out: the keys of the nodes that
must have been emitted before a unit. Invariant: a Switch is never a unit. It passes its input on,
so what is behind it stands for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flowc.dataclass import dataclass
from flowc.errors import InvalidGraphError
from flowc.extract.frames.frames import ControlFlow, LoopFrame
from flowc.extract.frames.merge_decision import Decision, Guard, ends_of, predicates_of
from flowc.extract.node_source import ARGUMENT, NodeSource, Ref
from flowc.graph.control_types import EXIT, MERGE, SWITCH
from flowc.graph.op_info import has_trait

Unit = Any  # the key of a node (of a Merge: that of its conditional), or a LoopFrame: a whole loop


@dataclass(frozen=True, eq=False)
class Dependencies:
    """Between the units of `source`. `flow`: its loops and branches."""

    source: NodeSource
    flow: ControlFlow

    def unit(self, key: Any) -> Unit:
        """The loop whose Exit a node is, or the node itself."""
        if not self.flow.is_plain and self.source.node(key).type in EXIT:
            return self.flow.loop_of(key)
        return key

    def is_merge(self, unit: Unit) -> bool:
        if self.flow.is_plain or isinstance(unit, LoopFrame):
            return False
        return self.source.node(unit).type in MERGE

    def decision(self, unit: Unit) -> Decision | None:
        """What decides a Merge; None for other units, and for a Merge of one living input."""
        choice = self.flow.choice(unit) if self.is_merge(unit) else None
        return choice if isinstance(choice, Decision) else None

    def priority(self, unit: Unit) -> tuple[int, int, Unit]:
        """Which of the units that are ready goes first: the least."""
        if isinstance(unit, LoopFrame):
            return (1, min(map(self.source.order, unit.enters)), unit)
        return (int(self.decision(unit) is not None), self.source.order(unit), unit)

    def of(self, unit: Unit, context: Guard) -> list[Any]:
        """Keys of the nodes that must have been emitted before a unit."""
        if isinstance(unit, LoopFrame):
            return self._of_loop(unit)
        node = self.source.node(unit)
        if not self.is_merge(unit):
            loose = self.loose(node, context)
            controls = [c for c in node.controls if c not in loose]
            return [*self.keys(node.inputs, controls), *self.around(loose, context)]
        return self.around(self._of_merge(unit), context)

    def loose(self, node: Any, context: Guard) -> list[Any]:
        """What a node that always runs waits for, though it may stand in a branch that is not
        taken."""
        if self.flow.is_plain or not has_trait(node.type, "runs_if_dead"):
            return []
        return [c for c in node.controls if not self.flow.node_guard(c) <= context]

    def keys(self, refs: Iterable[Ref], controls: Iterable[Any]) -> list[Any]:
        """The nodes behind refs and control inputs; a Switch stands for what it reads."""
        found: list[Any] = []
        waits = list(controls)
        for ref in refs:
            while ref not in self.flow.fed and ref[0] != ARGUMENT:
                node = self.source.node(ref[0])
                if node.type not in SWITCH:
                    found.append(ref[0])
                    break
                waits += node.controls
                ref = node.inputs[0]
        for key in waits:
            node = self.source.node(key)
            if has_trait(node.type, "placeholder") and (key, 0) in self.flow.fed:
                continue
            if node.type in SWITCH:
                found += self.keys(node.inputs, node.controls)
            else:
                found.append(key)
        return found

    def around(self, keys: Iterable[Any], context: Guard) -> list[Any]:
        """The nodes outside of a conditional that its branches read or wait for."""
        found: dict[Any, None] = {}
        seen: set[Any] = set()
        stack = list(keys)
        while stack:
            key = stack.pop()
            if key in seen:
                continue
            seen.add(key)
            if self.flow.node_guard(key) <= context:
                found[key] = None
                continue
            unit = self.unit(key)
            if isinstance(unit, LoopFrame):
                stack += self._of_loop(unit)
            elif self.is_merge(unit):
                stack += self._of_merge(unit)
            else:
                node = self.source.node(unit)
                stack += self.keys(node.inputs, node.controls)
        return list(found)

    def _of_merge(self, merge: Any) -> list[Any]:
        """The nodes behind the inputs of a Merge that may be alive, and what decides among them."""
        node = self.source.node(merge)
        choice = self.flow.choice(merge)
        living = [node.inputs[i] for i in ends_of(choice)]
        return self.keys([*predicates_of(choice), *living], node.controls)

    def _of_loop(self, frame: LoopFrame) -> list[Any]:
        refs = [self.source.node(k).inputs[0] for k in frame.enters]
        controls = [c for k in frame.enters for c in self.source.node(k).controls]
        return self.keys(refs, controls)

    def behind_switches(self, ref: Ref) -> Ref:
        """Within a branch a Switch passes its input on."""
        while not self.flow.is_plain and ref not in self.flow.fed and ref[0] != ARGUMENT:
            node = self.source.node(ref[0])
            if node.type not in SWITCH:
                break
            ref = node.inputs[0]
        return ref

    def circle(self, left: Mapping[Unit, Sequence[Unit]]) -> InvalidGraphError:
        """The error for units each of which waits for another one of them."""
        path = [next(iter(left))]
        while left[path[-1]][0] not in path:
            path.append(left[path[-1]][0])
        path = [*path[path.index(left[path[-1]][0]) :], left[path[-1]][0]]
        keys = [u.enters[0] if isinstance(u, LoopFrame) else u for u in reversed(path)]
        names = [self.source.name(k) for k in keys]
        return InvalidGraphError(
            f"Graph is invalid, contains a cycle with {len(names) - 1} nodes, which wait for each "
            f"other in a circle: {' -> '.join(map(repr, names))}",
            node=names[0],
        )
