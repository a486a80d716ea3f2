"""One Computation under construction: its builder, what it captures, what resources hold in it.

In: values and resources of the bodies outside. Out: parameters for the former, contents for the
latter. Invariant: every Value that `capture` gives belongs to this body's builder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from flowc.dtypes import DType
from flowc.extract.frames.merge_decision import ALWAYS, Guard
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.dims import Dim, Symbol, symbols_of
from flowc.ir.extraction import Bound, Resource, values_of, with_values
from flowc.ir.op import op_named
from flowc.ir.types import Dims


class BodyBuilder:
    """The top level, a branch, the condition or the body of a loop. `first`: at the top level, what
    a variable holds when the run starts. `iterates`: whether it is of a loop."""

    def __init__(
        self,
        outer: BodyBuilder | None = None,
        first: Callable[[Builder, Resource], Bound | None] | None = None,
        iterates: bool = False,
    ) -> None:
        self.b = Builder()
        self.outer = outer
        self.first = first
        self.iterates = iterates
        # The branches around in its frame, which each conditional that needs them enters again.
        self.guard: Guard = ALWAYS
        if outer is not None:
            self.b.met = outer.b.met if iterates else None
        self.captured: dict[Value, Value] = {}  # of outside: the parameter for it
        self.filled: dict[tuple[DType, Dims, int], Value] = {}
        self.contents: dict[Resource, Bound] = {}
        self.replaced: dict[Resource, None] = {}
        self.created: dict[Resource, Guard] = {}  # the branches in which each was made
        # How often something was replaced that was not created here, or read that is in `settled`.
        self.changes = 0
        self.touched: set[Resource] = set()  # of those created here, those that were replaced
        self.settled: set[Resource] = set()  # those that what changed more than them replaced
        self.last_effect: Node | None = None
        self.needed: set[Value] = set()  # computed also where nobody reads them

    def capture(self, bound: Bound) -> Bound:
        """Something bound in the scope outside, made known in this one."""
        assert self.outer is not None
        return with_values(bound, [self._capture(v) for v in values_of(bound)])

    def _capture(self, value: Value) -> Value:
        found = self.captured.get(value)
        if found is None:
            found = self._made_again(value) or self.b.parameter(_name_of(value), value.type)
            self.captured[value] = found
        return found

    def _made_again(self, value: Value) -> Value | None:
        """Constants and sizes need no parameter: they are made again, and so stay known."""
        if value.constant is not None:
            attrs = {"value": value.constant, "dtype": value.type.dtype}
            return self.b.emit(value.node.op, (), attrs, origin=value.node.origin).output
        if value.node.op is op_named("logical_not"):
            (operand,) = value.node.inputs
            known = self.captured.get(operand)
            if known is not None and known.constant is not None:
                return self.b.const(np.logical_not(known.constant))
        assert self.outer is not None
        elements = self.outer.b.content(value) if value.type.rank <= 1 else None
        return None if elements is None else self.b.holding(elements, value.type)

    def _scopes(self) -> Iterator[BodyBuilder]:
        """This scope, and those around it."""
        scope: BodyBuilder | None = self
        while scope is not None:
            yield scope
            scope = scope.outer

    # -- resources

    def owner(self, resource: Resource) -> BodyBuilder:
        """The scope that a resource was created in; the outermost for variables."""
        return next(s for s in self._scopes() if resource in s.created or s.outer is None)

    def iteration(self) -> BodyBuilder:
        """The scope of the innermost loop around this one; the outermost where there is none."""
        return next(s for s in self._scopes() if s.iterates or s.outer is None)

    def home(self) -> BodyBuilder:
        """The scope around the branches that are entered again: this one, if it is none of them."""
        return next(s for s in self._scopes() if not s.guard)

    def where_made(self, resource: Resource) -> BodyBuilder | None:
        """The outermost scope around that stands in all branches in which a resource was made:
        elsewhere its contents only stand in for it. None where this is outside of them."""
        owner = self.owner(resource)
        if resource not in owner.created:
            return None
        guard = owner.created[resource]
        found = [s for s in self._scopes() if s.home() is owner and guard <= s.guard]
        return found[-1] if found else None

    def find(self, resource: Resource) -> Bound | None:
        """What a resource holds here; None where nothing ever gave it contents."""
        if resource in self.settled:
            self.changes += 1
        if resource in self.contents:
            return self.contents[resource]
        if self.outer is None or resource in self.created:
            return None
        outside = self.outer.find(resource)
        if outside is None:
            return None
        self.contents[resource] = inside = self.capture(outside)
        return inside

    def held(self, resource: Resource) -> Bound | None:
        """What a resource holds here, taken from before the run where nothing has read it yet."""
        found = self.find(resource)
        if found is not None:
            return found
        *_, top = self._scopes()
        if top.first is None or resource.kind != "variable":
            return None
        start = top.first(top.b, resource)
        if start is not None:
            top.contents[resource] = start
        return self.find(resource)

    def replace(self, resource: Resource, contents: Bound) -> None:
        self.contents[resource] = contents
        if resource not in self.created:
            self.replaced[resource] = None
            self.changes += 1
        else:
            self.touched.add(resource)

    def note_effect(self, node: Node) -> None:
        """Orders a node with an effect after the one before it."""
        if self.last_effect is not None and self.last_effect is not node:
            node.after = (*node.after, self.last_effect)
        self.last_effect = node

    def need(self, value: Value) -> None:
        """Keeps a value alive although nothing may read it, since computing it may fail."""
        told = value.node.op.name in ("const", "parameter")
        if not told and value.type.dtype.held_size and value not in self.needed:
            self.needed.add(value)
            self.note_effect(self.b.emit(op_named("needed"), (value,)))

    # -- building

    def decide(self, condition: Value, taken: bool) -> None:
        """Makes a condition of the scope outside known here: this is one of its branches."""
        self.captured[condition] = self.b.const(np.bool_(taken))
        if condition.node.op is op_named("logical_not"):
            self.decide(condition.node.inputs[0], not taken)

    def zeros(self, dtype: DType, dims: Dims) -> Value:
        return self.b.broadcast_to(self.b.const(np.zeros((), dtype.numpy), dtype), dims)

    def stand_in(self, value: Value) -> Value:
        """A placeholder for a value of a branch that does not run here: nothing reads it."""
        dims = tuple(d if self.knows(d) else 0 for d in value.dims)
        return self.filled_with(value.type.dtype, dims, 0)

    def filled_with(self, dtype: DType, dims: Dims, value: int) -> Value:
        """A number throughout: the same Value whenever it is asked for."""
        found = self.filled.get((dtype, dims, value))
        if found is None:
            number = self.b.const(np.asarray(value, dtype.numpy), dtype)
            found = self.b.broadcast_to(number, dims) if dims else number
            self.filled[(dtype, dims, value)] = found
        return found

    def is_filling(self, value: Value) -> bool:
        """Whether a value is such a placeholder."""
        return any(value is found for found in self.filled.values())

    def knows(self, dim: Dim) -> bool:
        """Whether a size is defined in this scope or outside it."""
        return all(self._defines(size) for size in symbols_of(dim))

    def _defines(self, size: Symbol) -> bool:
        scope: BodyBuilder | None = self
        while scope is not None:
            if scope.b.defines_size(size):
                return True
            scope = scope.outer
        return False

    def computation(
        self, carried: Sequence[Value], captures: Sequence[Value], results: Sequence[Value]
    ) -> Computation:
        """The body: parameters for what is carried, then one for each of `captures` (values of
        outside), which it may or may not read."""
        parameters = [v.node for v in carried]
        for value in captures:
            inner = self.captured.get(value)
            if inner is None or inner.node.op.name != "parameter":
                inner = self.b.parameter(_name_of(value), value.type)
            parameters.append(inner.node)
        c = self.b.build(results)
        rest = [n for n in c.nodes if n.op.name != "parameter"]
        return Computation(tuple(parameters), (*parameters, *rest), c.results, c.constraints)

    def captures(self) -> list[Value]:
        """The outside values that became parameters."""
        return [v for v, p in self.captured.items() if p.node.op.name == "parameter"]


def _name_of(value: Value) -> str:
    """What a body calls a value of outside: as it is called there."""
    node = value.node
    if node.op.name == "parameter":
        return node.attrs["name"]
    if node.op.name == "while":
        return node.attrs["body"].parameters[value.index].attrs["name"]
    names = node.origin if len(node.origin) == len(node.outputs) else node.origin[:1]
    name = names[min(value.index, len(names) - 1)] if names else node.op.name
    return name.rsplit("/", 1)[-1]
