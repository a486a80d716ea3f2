"""What the lowering of a node that is written in terms of values works with.

In: the Extraction, and the scope in which the node stands. Out: the operations of
`flowc.ir.extraction.Extractor`: contents of resources, calls, branches and loops.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidModelError, UnsupportedError
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.node_source import ARGUMENT, CallSource, Ref
from flowc.extract.trace.branches import build_if
from flowc.extract.trace.loop_invariance import is_loop_invariant
from flowc.extract.trace.loop_names import (
    LoopVariable,
    NameHint,
    argument_hint,
    counts,
    start_hint,
    variable_names,
)
from flowc.extract.trace.loops import build_loop
from flowc.graph.attrs import FunctionRef
from flowc.graph.control_types import PASSING
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Extractor, ListValue, Resource, values_of, with_values
from flowc.ir.types import Dims

if TYPE_CHECKING:
    from flowc.extract.program import Extraction


@dataclass(eq=False)
class NodeExtractor:
    """What the lowering of one node works with (`flowc.ir.extraction.Extractor`).
    `assumes_ranks`: whether that of an output was asked for, and the graph does not tell it."""

    extraction: Extraction
    scope: BodyBuilder
    name: str
    callers: tuple[str, ...]
    shapes: Callable[[], Sequence[tuple[int | None, ...] | None]] = tuple
    assumes_ranks: bool = False

    @property
    def b(self) -> Builder:
        return self.scope.b

    @property
    def is_unconditional(self) -> bool:
        return self.scope.outer is None

    def contents(self, resource: Resource) -> Bound:
        return self.extraction.contents(self.scope, resource, self.name)

    def replace(self, resource: Resource, contents: Bound) -> None:
        self.scope.replace(resource, contents)

    def create(
        self, kind: str, contents: Bound | None, info: Mapping[str, Any] | None = None
    ) -> Resource:
        resource = Resource(kind, self.name, dict(info or {}))
        home = self.scope.home()
        if isinstance(contents, ListValue) and home is not self.scope:
            # Each conditional that needs something of a branch enters it again: all of them find
            # this one list, which stands outside of them, empty until the branch is taken.
            contents = replace(contents, home=home.b)
            empty = [home.stand_in(value) for value in values_of(contents)]
            home.created[resource] = self.scope.guard
            home.contents[resource] = with_values(contents, empty)
            self.scope.replace(resource, contents)
            return resource
        self.scope.created[resource] = self.scope.guard
        if contents is not None:
            self.scope.contents[resource] = contents
        return resource

    def variable(
        self,
        name: str,
        dtype: dtypes.DType,
        dims: Dims | None,
        info: Mapping[str, Any] | None = None,
    ) -> Resource:
        found = self.extraction.variables.get(name)
        if found is None:
            given = {"dtype": dtype, "dims": dims, **(info or {})}
            found = self.extraction.variables[name] = Resource("variable", name, given)
        return found

    def is_initialized(self, resource: Resource) -> bool:
        return self.extraction.is_initialized(self.scope, resource)

    def related(self, resource: Resource, role: str) -> Resource | None:
        return self.extraction.related.get((resource, role))

    def create_beside(
        self,
        resource: Resource,
        role: str,
        make: Callable[[NodeExtractor], Bound],
        info: Mapping[str, Any] | None = None,
    ) -> Resource:
        scope = self.scope.where_made(resource) or self.scope.owner(resource)
        beside = NodeExtractor(self.extraction, scope, self.name, self.callers)
        made = beside.create(resource.kind, make(beside), info)
        self.extraction.related[(resource, role)] = made
        return made

    def save_resource(self, holder: Resource, kept: Resource) -> None:
        self.extraction.kept[holder] = (kept, self.scope.owner(kept))

    def restored_resource(
        self, holder: Resource, make: Callable[[Extractor, Bound], Bound]
    ) -> Resource:
        if holder not in self.extraction.kept:
            raise InvalidModelError(
                f"'{self.name}' pops from '{holder.name}', on which nothing was pushed",
                node=self.name,
            )
        kept, home = self.extraction.kept[holder]
        iteration = self.scope.iteration()
        found = self.extraction.taken.get((kept, iteration))
        if found is None:
            resource = self.create(kept.kind, make(self, home.contents[kept]), kept.info)
            self.extraction.taken[(kept, iteration)] = (resource, {holder})
            return resource
        resource, holders = found
        if holder in holders or self.scope.where_made(resource) is None:
            raise UnsupportedError(
                f"'{self.name}' takes the {kept.kind} '{kept.name}' of an iteration in another "
                "branch, or more often, than the rest of the loop does",
                node=self.name,
            )
        holders.add(holder)
        return resource

    def is_lasting(self, dim: Dim) -> bool:
        return self.extraction.top.knows(dim)

    def is_loop_invariant(self, dim: Dim, home: Builder | None = None) -> bool:
        return is_loop_invariant(self.scope, dim, home)

    def output_shapes(self, like: int) -> Sequence[tuple[int | None, ...] | None]:
        rank_of, found = self.extraction.ranks, list(self.shapes())
        for k, shape in enumerate(found):
            if shape is None and rank_of is not None:
                self.extraction.assumes_ranks = self.assumes_ranks = True
                found[k] = (None,) * rank_of((self.name, k), like)
        return found

    def effect(self, node: Node) -> None:
        self.scope.note_effect(node)

    def call(self, function: Any, inputs: Sequence[Bound]) -> Sequence[Bound]:
        return self.applied(self.scope, function, inputs)

    def gradients(self, function: Any, inputs: Sequence[Bound]) -> Sequence[Bound]:
        from flowc.extract.function_gradients import gradient_call  # late: few graphs have them

        functions = self.extraction.functions
        reference, given = gradient_call(functions, self.name, function, inputs, self.callers)
        return self.call(reference, given)

    def applied(
        self, scope: BodyBuilder, function: Any, inputs: Sequence[Bound]
    ) -> Sequence[Bound]:
        if isinstance(function, FunctionRef):
            return self.extraction.call(scope, self.name, function, inputs, self.callers)
        return function(NodeExtractor(self.extraction, scope, self.name, self.callers), inputs)

    def branch(
        self, condition: Value, then: Any, otherwise: Any, inputs: Sequence[Bound]
    ) -> Sequence[Bound]:
        def trace(function: Any) -> Callable[[BodyBuilder], Sequence[Bound]]:
            def run(scope: BodyBuilder) -> Sequence[Bound]:
                outside = scope is not self.scope
                given = [scope.capture(x) if outside else x for x in inputs]
                return self.applied(scope, function, given)

            return run

        if self.scope.b.content(condition) is not None:  # the branch not taken is not looked at
            for value in inputs:
                if isinstance(value, Value):
                    self.scope.need(value)
        return build_if(self.scope, self.name, condition, trace(then), trace(otherwise))

    def loop(self, condition: Any, body: Any, inputs: Sequence[Bound]) -> Sequence[Bound]:
        names, unchanged = self._loop_variables(body, inputs)
        trace = _FunctionTrace(self, condition, body)
        memory = self.extraction.loop_memory
        found = build_loop(self.scope, self.name, names, inputs, trace, memory, unchanged)
        return found[: len(inputs)]

    def _loop_variables(self, body: Any, inputs: Sequence[Bound]) -> tuple[list[str], set[int]]:
        """Names of the variables, and those that the body plainly returns as they came."""
        function = None
        if isinstance(body, FunctionRef):
            function = self.extraction.functions.get(body.name)
        if function is None:
            return [f"var{i}" for i in range(len(inputs))], set()
        source = CallSource(function, "", body.attrs, self.extraction.functions)
        variables: list[LoopVariable] = []
        unchanged: set[int] = set()
        results = function.body.results
        if not len(function.args) == len(inputs) == len(results):
            return [f"var{i}" for i in range(len(inputs))], set()  # which its trace refuses
        for i, (arg, bound) in enumerate(zip(function.args, inputs)):
            ref = _behind_identities(source, source.resolve(results[i]))
            start = start_hint(bound)
            hints = [start] if start is not None else []
            found = LoopVariable([*hints, argument_hint(arg.name, self.name)])
            found.kind = "list" if isinstance(bound, ListValue) else "var"
            if ref == (ARGUMENT, i):
                unchanged.add(i)
            elif ref[0] != ARGUMENT:
                node = source.node(ref[0])
                found.hints.insert(len(hints), NameHint(node.name, node.type, False))
                read = [_behind_identities(source, r) for r in node.inputs]
                found.counts = counts(source, ref[0], read, (ARGUMENT, i))
            variables.append(found)
        return variable_names(variables, self.name, self.scope), unchanged


def _behind_identities(source: CallSource, ref: Ref) -> Ref:
    while ref[0] != ARGUMENT and source.node(ref[0]).type in PASSING:
        ref = source.node(ref[0]).inputs[0]
    return ref


class _FunctionTrace:
    """A loop of functions as something to trace (`flowc.extract.trace.loops.LoopTrace`)."""

    def __init__(self, x: NodeExtractor, condition: Any, body: Any) -> None:
        self.x = x
        self.functions = (condition, body)
        self.key = (x.name, body.name if isinstance(body, FunctionRef) else "")

    def condition(self, scope: BodyBuilder, variables: Sequence[Bound]) -> Value:
        (found,) = self.x.applied(scope, self.functions[0], variables)
        return self.x.extraction.read(scope, found, self.x.name)

    def kept(self, scope: BodyBuilder, variables: Sequence[Bound]) -> list[Bound]:
        return [self.condition(scope, variables)]

    def body(
        self, scope: BodyBuilder, variables: Sequence[Bound], kept: Sequence[Bound]
    ) -> Sequence[Bound]:
        return self.x.applied(scope, self.functions[1], variables)
