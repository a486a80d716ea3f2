"""Reads of variables that come before assignments which nothing orders them against.

In: the loops and branches of what is asked for. Out: for each assignment the reads of its variable
that come before it. TensorFlow runs a node as soon as what it waits for is there, so a read is
taken early: also in a branch of a conditional that waits for more. A read comes before an
assignment that it does not wait for where no more operations lead up to it. Invariant: none of
these reads needs what the assignment gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from flowc.extract.frames.frames import ControlFlow
from flowc.extract.node_source import ARGUMENT, NodeSource, Ref
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
from flowc.graph.op_info import has_trait, signature_of
from flowc.ir.traversal import inputs_first
from flowc.ops.state.variables import variable_name

Read = tuple[Any, str]  # the key of a node, and the name of the variable that it reads


class EarlyReads:
    """`before`: of each assignment (by key) the reads that come before it; `behind`: those that
    wait for it."""

    def __init__(self, flow: ControlFlow) -> None:
        self.flow = flow
        self.source: NodeSource = flow.source
        self.before: dict[Any, list[Read]] = {}
        self.behind: dict[Any, list[Read]] = {}
        self._variables: dict[Ref, str | None] = {}
        self._users: dict[Any, list[Any]] | None = None
        self._handles: set[str] = set()  # names of the variables that are known by handles
        readers, writers = self._accesses()
        shared = [name for name in readers if name in writers]
        if shared:
            self._relate(shared, readers, writers)

    def _accesses(self) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
        """The nodes that read each variable, and those that may change it."""
        readers: dict[str, list[Any]] = defaultdict(list)
        writers: dict[str, list[Any]] = defaultdict(list)
        if not self._has_two_uses():
            return readers, writers
        for key in sorted(self.flow.needed, key=self.source.order):
            kind = self.source.node(key).type
            if kind in FRAME_TYPES or self._names_memory(key):
                continue
            for position, name in self._reached(key):
                only_read = has_trait(kind, "reads_variable") or self._takes_value(
                    kind, position, name
                )
                found = readers if only_read else writers
                if key not in found[name][-1:]:
                    found[name].append(key)
        return readers, writers

    def _reached(self, key: Any) -> Iterator[tuple[int, str]]:
        """The positions of a node's inputs that are variables, and their names."""
        for position, ref in enumerate(self.source.node(key).inputs):
            name = self._variable(ref)
            if name is not None:
                yield position, name

    def _has_two_uses(self) -> bool:
        """Whether more than one node may use a variable. Programs that only assign first values
        have many variables and no such use, and need no more than this."""
        nodes = [(key, self.source.node(key)) for key in self.flow.needed if key != ARGUMENT]
        used: dict[Any, Any] = {}  # by whom; each node that is used, by one of those that do
        again: set[Any] = set()
        for key, node in nodes:
            for before, _ in node.inputs:
                if used.setdefault(before, key) is not key:
                    again.add(before)
        variables = {k for k in {node.type for _, node in nodes} if has_trait(k, "variable")}
        found = [(key, node) for key, node in nodes if node.type in variables]
        names = {node.attrs.get("shared_name") or key for key, node in found}
        if len(names) < len(found) or not again.isdisjoint([key for key, _ in found]):
            return True
        return not used.keys().isdisjoint([used[key] for key, _ in found if key in used])

    def _is_variable(self, key: Any) -> bool:
        return key != ARGUMENT and has_trait(self.source.node(key).type, "variable")

    def _names_memory(self, key: Any) -> bool:
        """Whether a node is another name of a variable: what reads it reads the variable."""
        if not has_trait(self.source.node(key).type, "identity"):
            return False
        ref = self.source.node(key).inputs[0]
        within = True  # a name that enters a branch or loop is read where it does
        while ref not in self.flow.fed and ref[0] != ARGUMENT:
            kind = self.source.node(ref[0]).type
            within = within and kind not in SWITCH | ENTER
            if kind not in SWITCH | ENTER and not (within and has_trait(kind, "identity")):
                return self._is_variable(ref[0]) and (within or not self._is_used_outside(key))
            ref = self.source.node(ref[0]).inputs[0]
        return False

    def _is_used_outside(self, key: Any) -> bool:
        """Whether an operation takes what a node of a branch gives to what leaves it: that is read
        when the branch is run. What is only fetched is the memory."""
        if self._users is None:
            self._users = defaultdict(list)
            for user in self.flow.needed:
                for before, _ in self.source.node(user).inputs if user != ARGUMENT else ():
                    self._users[before].append(user)
        found, waiting = {key}, [key]
        for before in waiting:
            for user in self._users[before]:
                kind = self.source.node(user).type
                if kind not in MERGE | PASSING:
                    if before != key:
                        return True
                elif user not in found:
                    found.add(user)
                    waiting.append(user)
        return False

    def _variable(self, ref: Ref) -> str | None:
        """The name of the variable that an output is, or is a name of."""
        passed: list[Ref] = []
        found: str | None = None
        while ref not in self._variables and ref not in self.flow.fed and ref[0] != ARGUMENT:
            passed.append(ref)
            node = self.source.node(ref[0])
            if has_trait(node.type, "variable"):
                shared = self.source.attr(ref[0], "shared_name", "")
                found = variable_name(shared, self.source.name(ref[0]))
                if not _gives_reference(node.type):
                    self._handles.add(found)
                break
            if not _is_name(node.type) and not (ref[1] == 0 and _passes_reference(node.type)):
                break
            ref = node.inputs[0]
        else:
            found = self._variables.get(ref)
        self._variables |= dict.fromkeys(passed, found)
        return found

    def _takes_value(self, kind: str, position: int, name: str) -> bool:
        """Whether an input takes what a reference refers to, and neither it nor a handle."""
        signature = signature_of(kind)
        taken = () if signature is None else signature.inputs[position : position + 1]
        return name not in self._handles and not any(arg.is_ref for arg in taken)

    def _relate(
        self, shared: list[str], readers: dict[str, list[Any]], writers: dict[str, list[Any]]
    ) -> None:
        bits = {w: 1 << i for i, w in enumerate({w for n in shared for w in writers[n]})}
        behind: dict[Any, int] = {}  # the assignments that a node waits for, as bits
        begins: dict[Any, int] = {}  # how many operations lead up to it
        in_order = sorted(self.flow.needed, key=self.source.order)
        for key in inputs_first(in_order, self._awaited):
            behind[key] = begins[key] = 0
            for before in self._awaited(key):
                behind[key] |= behind[before] | bits.get(before, 0)
                begins[key] = max(begins[key], begins[before] + self._takes_time(before))
            if self.source.node(key).type == LOOP_COND:
                # A loop begins when its variables are there.
                enters = self.flow.frame(key).enters
                begins[key] = max((begins[k] for k in enters if k in begins), default=0)
        for name in shared:
            for read in readers[name]:
                for write in writers[name]:
                    if behind[read] & bits[write]:
                        self.behind.setdefault(write, []).append((read, name))
                    elif read != write and self._begins_first(read, write, name, begins):
                        self.before.setdefault(write, []).append((read, name))

    def _begins_first(self, read: Any, write: Any, name: str, begins: dict[Any, int]) -> bool:
        """Whether a read comes before an assignment. One of a handle in a branch, for which as much
        must be there, takes its turn: TensorFlow runs it as soon as the read."""
        if begins[read] == begins[write]:
            return name not in self._handles or not self.flow.node_guard(write)
        return begins[read] < begins[write]

    def _awaited(self, key: Any) -> list[Any]:
        """What a node reads or waits for; what leaves a loop waits for all of the loop."""
        node = self.source.node(key)
        read = [ref for ref in node.inputs if ref not in self.flow.fed]
        more: list[Any] = []
        if node.type in EXIT:
            loop = self.flow.loop_of(key)
            more = loop.enters
            read += [last for _, last in loop.merges.values()]
        keys = [k for k, _ in read if k != ARGUMENT and self.source.node(k).type not in NEXT]
        return [*keys, *node.controls, *more]

    def _takes_time(self, key: Any) -> bool:
        node = self.source.node(key)
        if node.type in FRAME_TYPES | PASSING or not node.inputs:
            return False
        return not has_trait(node.type, "reads_variable")


def _is_name(kind: str) -> bool:
    """Whether a node only gives a variable another name."""
    return kind in SWITCH | ENTER or has_trait(kind, "identity")


def _gives_reference(kind: str) -> bool:
    signature = signature_of(kind)
    return signature is not None and any(arg.is_ref for arg in signature.outputs[:1])


def _passes_reference(kind: str) -> bool:
    """Whether the first output of an op is the reference that it is given."""
    signature = signature_of(kind)
    taken = () if signature is None else signature.inputs[:1]
    return any(arg.is_ref for arg in taken) and _gives_reference(kind)
