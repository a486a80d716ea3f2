"""Rewrites as data: a pattern of ops, what takes the place of what matches it, and a condition.

In: a Computation and rewrites. Out: the Computation in which none of them applies any more; the
same object where none did. A node is compared with those rewrites alone whose root its op may be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.op import Op
from flowc.ir.rewrite import Rewriter, prune_nodes, rewrite_nodes

ROUND_LIMIT = 64
Bindings = dict[str, Value]
Result = Value | Sequence[Value] | None


@dataclass(frozen=True, slots=True)
class Pattern:
    """A value that is called `name` where it matches. `ops`: names of the op that makes it, where
    that counts, `trait`: one that the op has, `lowerings`: types of its lowering. `inputs`: the
    first ones, in either order for a commutative op. `constant`: its elements are known; `alone`:
    one node reads it, once."""

    name: str = ""
    ops: tuple[str, ...] = ()
    inputs: tuple[Pattern, ...] = ()
    trait: str = ""
    lowerings: tuple[type[Any], ...] = ()
    commutes: bool = False
    constant: bool = False
    alone: bool = False

    def may_match(self, op: Op) -> bool:
        named = not self.ops or op.name in self.ops
        return named and (not self.trait or self.trait in op.traits)

    def of_node(self, b: Builder, node: Node, bound: Bindings) -> Sequence[Bindings]:
        """What the names stand for, in each way in which a node matches."""
        if not self.may_match(node.op) or len(node.inputs) < len(self.inputs):
            return ()
        if self.lowerings and not isinstance(node.lowering, self.lowerings):
            return ()
        found = self._of_operands(b, node.inputs, bound)
        if len(self.inputs) == 2 and (self.commutes or "commutative" in node.op.traits):
            found = [*found, *self._of_operands(b, node.inputs[::-1], bound)]
        return found

    def _of_operands(
        self, b: Builder, operands: Sequence[Value], bound: Bindings
    ) -> Sequence[Bindings]:
        pairs = list(zip(self.inputs, operands))
        for pattern, value in pairs:  # most operands are none before anything is bound
            if pattern.constant and value.constant is None:
                return ()
            if pattern.ops and value.node.op.name not in pattern.ops:
                return ()
        found = [bound]
        for pattern, value in pairs:
            found = [new for known in found for new in pattern.of_value(b, value, known)]
            if not found:
                break
        return found

    def of_value(self, b: Builder, value: Value, bound: Bindings) -> Sequence[Bindings]:
        if self.constant and value.constant is None:
            return ()
        if self.alone and b.use_counts.get(value) != 1:
            return ()
        found = self.of_node(b, value.node, bound)
        return [known | {self.name: value} for known in found] if self.name else found


def op(names: str, *inputs: Pattern | str, **more: Any) -> Pattern:
    """What an op makes; `names`: one or several, with | between them. An input that is a text is
    any value, which is called so."""
    patterns = tuple(Pattern(p) if isinstance(p, str) else p for p in inputs)
    return Pattern(ops=tuple(names.split("|")) if names else (), inputs=patterns, **more)


def const(name: str) -> Pattern:
    return Pattern(name, constant=True)


@dataclass(frozen=True, slots=True)
class Match:
    """A node that a pattern matches, and the values in it by name."""

    b: Builder
    node: Node
    values: Bindings

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def array(self, name: str) -> np.ndarray:
        """The elements of a constant."""
        found = self.values[name].constant
        assert found is not None
        return found


def keeps_type(m: Match) -> bool:
    """Whether x can stand in the place of the node."""
    return m["x"].type == m.node.output.type


@dataclass(frozen=True, slots=True)
class Rewrite:
    """What matches the pattern, where the condition `when` holds, becomes the `result`: a value of
    the pattern, by name, or what a function builds (None: it finds that it cannot)."""

    name: str
    pattern: Pattern
    result: str | Callable[[Match], Result]
    when: Callable[[Match], bool] = lambda m: True

    def apply(self, b: Builder, node: Node) -> Result:
        for values in self.pattern.of_node(b, node, {}):
            m = Match(b, node, values)
            if self.when(m):
                new = m[self.result] if isinstance(self.result, str) else self.result(m)
                if new is not None:
                    return new
        return None


def apply_rewrites(
    c: Computation, rewrites: Sequence[Rewrite], ordered: bool = False
) -> Computation:
    """Sweeps until no rewrite applies. `ordered`: also to nodes that stand after others.

    What a sweep leaves without a reader is dropped before the next: rewrites ask how often values
    are read.
    """
    of_op: dict[Op, list[Rewrite]] = {}

    def rule(b: Rewriter, node: Node) -> Result:
        if node.op not in of_op:
            of_op[node.op] = [r for r in rewrites if r.pattern.may_match(node.op)]
        for rewrite in of_op[node.op] if ordered or not node.after else ():
            new = rewrite.apply(b, node)
            if new is not None:
                return new
        return None

    for _ in range(ROUND_LIMIT):
        changed = rewrite_nodes(c, rule)
        if changed is c:
            return c
        c = prune_nodes(changed)
    raise InternalError(f"rewrites still apply after {ROUND_LIMIT} sweeps")
