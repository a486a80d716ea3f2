"""Control cycles: loops that would wait for their own results. Breaks them by moving control inputs
behind the loop.

In: a source, its needed nodes, and a loop of which an Enter waits for one of its own Exits. Out:
control inputs of nodes, after which none does. In TensorFlow each variable of a loop goes on when
what it is made of is there; here a loop runs as a whole. `tf.gradients` adds a counter to a loop,
and under `tf.control_dependencies(update_ops)` its first value, and each sum, wait for the updates,
which may be made of what leaves the loop. Invariant: only nodes without effects lose a control
input, and readers of the loop's results outside of it get it instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Any

from flowc.extract.node_source import ARGUMENT, NodeSource, Ref
from flowc.graph.control_types import ENTER, LOOP_COND, PASSING, SWITCH
from flowc.graph.op_info import has_trait, signature_of
from flowc.ir.traversal import reachable

if TYPE_CHECKING:
    from flowc.extract.frames.frames import LoopFrame

Controls = dict[Any, tuple[Any, ...]]


class ControlCycles:
    """`needed`: keys of nodes; `fed`: refs that are given from outside."""

    def __init__(self, source: NodeSource, needed: Collection[Any], fed: Collection[Ref]) -> None:
        self.source = source
        self.readers: dict[Any, list[Any]] = {}  # of each needed node
        self.waiting: dict[Any, list[Any]] = {}  # those with a control input from it
        for key in sorted(needed, key=source.order):
            node = source.node(key)
            read = [ref[0] for ref in node.inputs if ref not in fed and ref[0] != ARGUMENT]
            for before in dict.fromkeys(read):
                self.readers.setdefault(before, []).append(key)
            for before in node.controls:
                self.waiting.setdefault(before, []).append(key)

    def moved(self, frame: LoopFrame) -> Controls:
        """New control inputs of nodes, after which the loop does not wait for what leaves it; none
        where nothing can be moved."""
        late = self._dependent(frame.exits)
        lost: dict[Any, set[Any]] = {}
        gained: dict[Any, list[Any]] = {}
        for enter in frame.enters:
            if enter not in late:
                continue
            freed, awaited = self._constant(enter, late) or self._signal(enter)
            after = [u for key in self._exits(freed, frame) for u in self._users(key)]
            if not freed or not self._dependent(after).isdisjoint(awaited):
                continue
            for key, controls in freed.items():
                lost.setdefault(key, set()).update(controls)
            for key in awaited:
                gained.setdefault(key, []).extend(after)
        if not all(gained.values()):
            return {}  # nothing would be left that makes them run
        found: Controls = {}
        for key, controls in lost.items():
            found[key] = tuple(c for c in self.source.node(key).controls if c not in controls)
        for awaited, after in gained.items():
            for key in after:
                given = found.get(key, self.source.node(key).controls)
                found[key] = tuple(dict.fromkeys((*given, awaited)))
        return found

    def _constant(self, enter: Any, late: set[Any]) -> tuple[Controls, list[Any]] | None:
        """A first value that reads nothing need not wait for what it does."""
        first, _ = self.source.node(enter).inputs[0]
        if first == ARGUMENT or self.source.node(first).inputs or not self._is_pure(first):
            return None
        waits = [c for c in self.source.node(first).controls if c in late]
        return ({first: tuple(waits)}, waits) if waits else None

    def _signal(self, enter: Any) -> tuple[Controls, list[Any]]:
        """What only nodes without effects wait for inside of the loop, and nothing reads."""
        first, _ = self.source.node(enter).inputs[0]
        signals = reachable([enter], lambda key: self.readers.get(key, ()))
        freed: dict[Any, list[Any]] = {}
        for signal in signals:
            for key in self.waiting.get(signal, ()):
                freed.setdefault(key, []).append(signal)
        if any(self.source.node(s).type not in ENTER | PASSING for s in signals):
            return {}, []
        if not all(map(self._is_pure, freed)):
            return {}, []
        return {key: tuple(controls) for key, controls in freed.items()}, [first]

    def _is_pure(self, key: Any) -> bool:
        kind = self.source.node(key).type
        known = signature_of(kind) is not None
        return known and not has_trait(kind, "stateful") and not has_trait(kind, "variable")

    def _users(self, key: Any) -> list[Any]:
        return [*self.readers.get(key, ()), *self.waiting.get(key, ())]

    def _dependent(self, keys: Iterable[Any]) -> set[Any]:
        """The nodes that read or wait for any of these, at some remove, and these."""
        return set(reachable(keys, self._users))

    def _exits(self, keys: Iterable[Any], frame: LoopFrame) -> list[Any]:
        """The Exits of a loop that values made of these leave it by."""

        def following(key: Any) -> Iterable[Any]:
            if key in frame.exits or self.source.node(key).type == LOOP_COND:
                return ()
            return (reader for reader in self.readers.get(key, ()) if self._carries(key, reader))

        return [key for key in reachable(keys, following) if key in frame.exits]

    def _carries(self, key: Any, reader: Any) -> bool:
        """Whether values of `reader` are made of those of `key`: a Switch passes on its data."""
        node = self.source.node(reader)
        refs = node.inputs[:1] if node.type in SWITCH else node.inputs
        return any(read == key for read, _ in refs)
