"""A fetch set of a Graph as a Computation.

In: a Graph, the tensors to compute, the types of the tensors that are fed. Out: a Computation of
the nodes in between, inputs before users, types inferred. Feeding cuts the graph: what lies behind
a fed tensor is not looked at. Control flow of either kind becomes `while` and `if` nodes with
bodies (region_extractor.py, loops.py, branches.py), calls of functions are extracted in place, and
state becomes values: a variable that is read is a constant or a parameter, one that is assigned a
result.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    InvalidModelError,
    UnsupportedError,
)
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.calls import called_function
from flowc.extract.frames.conditionals import emit_where_alive
from flowc.extract.frames.early_reads import EarlyReads
from flowc.extract.frames.frame_access import before_loops, check_fetches, fault_of_feeds
from flowc.extract.frames.frames import ControlFlow
from flowc.extract.node_source import ARGUMENT, CallSource, GraphSource, Ref
from flowc.extract.region_extractor import RegionExtractor
from flowc.extract.trace.loops import LoopMemory
from flowc.extract.unsupported_ops import check_supported
from flowc.extract.variable_starts import VariableStarts
from flowc.graph.control_types import ENTER, EXIT, MERGE, SWITCH
from flowc.graph.graph import Graph
from flowc.graph.op_info import signature_of
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.computation import Computation, Value
from flowc.ir.dims import Dim
from flowc.ir.extraction import Bound, Resource, RunTimeTensor, TwoRanks, values_of
from flowc.ir.inference import NeedsContent
from flowc.ir.program_spec import ProgramSpec, spec_of
from flowc.ir.types import TensorType

Array = np.ndarray[Any, Any]
OutputName = tuple[str, int]  # the node, as errors name it, and which of its outputs
# Assumes the rank of an output of which the graph tells none; given that of the first input.
RankOf = Callable[[OutputName, int], int]


@dataclass(frozen=True, slots=True)
class ExtractedProgram:
    """A Computation, and what its parameters and results are. `depends_on`: all variables that it
    would be another one without, constants and those that it only asks about too.
    `assumes_ranks`: some of its types are assumed."""

    computation: Computation
    spec: ProgramSpec
    depends_on: tuple[str, ...] = ()
    assumes_ranks: bool = False


_FLOWS = ("flow", "flow_out")  # what signatures of TensorArrays' ops call them
_PASS_ON = frozenset({"Identity", *ENTER, *EXIT, *MERGE, *SWITCH})
Taken = tuple[Resource, set[Resource]]  # and the stacks from which it was taken


class Extraction:
    """One extraction under way. `held`: types of the variables whose value the caller gives to
    every run; `assigned`: those that this fetch set is known to assign; `ranks`: those that may
    be assumed; `met`: where to note sizes that the graph needs to be equal; `done`: operations for
    which nothing waits. `functions`: those of the graph, and those made of them meanwhile."""

    def __init__(
        self,
        graph: Graph,
        held: Mapping[str, TensorType],
        assigned: set[str],
        ranks: RankOf | None = None,
        met: list[tuple[Dim, Dim]] | None = None,
        done: Collection[Operation] = (),
    ) -> None:
        self.graph = graph
        self.functions = dict(graph.functions)
        self.done = done
        self.ranks = ranks
        self.assumes_ranks = False
        self.starts = VariableStarts(graph, held, assigned)
        self.top = BodyBuilder(first=self.starts.find)
        self.top.b.met = met
        self.variables: dict[str, Resource] = {}
        self.related: dict[tuple[Resource, str], Resource] = {}
        # What the elements of stacks name, and what was taken of it in an iteration.
        self.kept: dict[Resource, tuple[Resource, BodyBuilder]] = {}
        self.taken: dict[tuple[Resource, BodyBuilder], Taken] = {}
        self.loop_memory: LoopMemory = {}
        self.level = 0  # how many regions are under way, one inside of the other
        self.early: EarlyReads | None = None
        self.shared: dict[Value, Resource] = {}  # reads that share a reference variable's memory

    def run(
        self,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        feeds: Mapping[Tensor, TensorType],
        values: Mapping[Tensor, Array],
    ) -> ExtractedProgram:
        source = GraphSource(self.graph, self.done)
        b = self.top.b
        fed = {source.ref(t): b.parameter(t.name, type_) for t, type_ in feeds.items()}
        fed |= {source.ref(t): b.const(value, t.base_dtype) for t, value in values.items()}
        refs = [before_loops(source, source.ref(t), fed) for t in fetches]
        roots = [key for key, i in refs if (key, i) not in fed] + list(targets)
        flow = self._control_flow(source, roots, fed, refs)
        self.early = EarlyReads(flow)
        region = RegionExtractor(self, self.top, source, flow, flow.top)
        region.values.update(fed)
        alive = [key for key, i in refs if (key, i) not in fed and not flow.guard((key, i))]
        region.run([*alive, *(t for t in targets if not flow.node_guard(t))])
        for target in targets:
            emit_where_alive(region, target)
        self._need_targets(region, targets)
        results = [
            self._fetched(region, i, ref, t) for i, (ref, t) in enumerate(zip(refs, fetches))
        ]
        if any(map(_is_flow, [*fetches, *(t for op in targets for t in op.outputs)])):
            self._need_arrays()
        writes = [r for r in self.top.replaced if r.kind == "variable"]
        return self._program(results, writes, feeds, fetches)

    def _need_targets(self, region: RegionExtractor, targets: Sequence[Operation]) -> None:
        """Targets are computed, though nobody reads them."""
        for target in targets:
            if not region.flow.node_guard(target):
                for i in range(target.output_count):
                    found = region.bound((target, i))
                    if isinstance(found, Value):
                        self.top.need(found)

    def _need_arrays(self) -> None:
        """What was written to TensorArrays before the flow that is asked for."""
        for resource, contents in self.top.contents.items():
            if resource.kind == "tensor_array":
                for value in values_of(contents):
                    self.top.need(value)

    def _control_flow(
        self, source: GraphSource, roots: list[Operation], fed: Mapping[Ref, Value], refs: list[Ref]
    ) -> ControlFlow:
        """Loops and branches of what is asked for, none of which is inside of a loop."""
        try:
            flow = ControlFlow(source, roots, fed, refs)
        except InvalidModelError as error:
            fault = fault_of_feeds(source, fed)
            if fault is None:
                raise
            raise fault from error
        fault = fault_of_feeds(source, [ref for ref in fed if ref in flow.read_refs])
        if fault is not None:
            raise fault
        check_fetches(flow, roots)
        return flow

    def _fetched(self, region: RegionExtractor, position: int, ref: Ref, tensor: Tensor) -> Value:
        found = region.bound(ref) if not region.flow.guard(ref) else None
        found = self.current(self.top, found)
        if found is None:
            fault = f"{tensor.op.name}: Retval[{position}] does not have value"
            found = emit_where_alive(region, ref[0], ref, fault)
        if isinstance(found, Resource) and found.kind == "variable" and found.info.get("is_ref"):
            found = self.read(self.top, found, tensor.name)
        if isinstance(found, TwoRanks):
            if self.ranks is None:  # as no library could give it
                raise _of_two_ranks(f"{tensor.name}, which is fetched,", found, tensor.op.name)
            self.top.b.origin = (tensor.op.name,)
            found = self.top.b.chosen_tensor(found.is_first, *found.sides)
        if isinstance(found, RunTimeTensor):
            raise NeedsContent(
                f"{tensor.name}, which is fetched, has a shape that values of the run decide",
                node=tensor.op.name,
            )
        if not isinstance(found, Value):
            raise UnsupportedError(
                f"{tensor.name} is a handle and cannot be fetched", node=tensor.op.name
            )
        return found

    def _program(
        self,
        results: list[Value],
        writes: Sequence[Resource],
        feeds: Iterable[Tensor],
        fetches: Iterable[Tensor],
    ) -> ExtractedProgram:
        late = {r.name for r in writes} & self.starts.constants
        if late:
            raise _AssignedLater(late)
        for resource in writes:
            contents = self.top.contents[resource]
            assert isinstance(contents, Value)
            results.append(contents)
        c = self.top.b.build(results)
        names = [t.name for t in feeds], [t.name for t in fetches]
        variables = list(self.starts.read), [r.name for r in writes]
        spec = spec_of(c, *names, *variables, self.starts.made)
        return ExtractedProgram(c, spec, tuple(self.variables), self.assumes_ranks)

    # -- state

    def contents(self, scope: BodyBuilder, resource: Resource, reader: str) -> Bound:
        """What a resource holds in a scope."""
        found = scope.find(resource)
        if found is None and resource.kind == "variable":
            self.top.contents[resource] = self.starts.value(self.top.b, resource, reader)
            found = scope.find(resource)
        if found is None:
            raise FailedPreconditionError(
                f"{resource.kind} '{resource.name}' holds nothing that '{reader}' could read",
                node=reader,
            )
        return found

    def is_initialized(self, scope: BodyBuilder, resource: Resource) -> bool:
        return scope.find(resource) is not None or self.starts.is_known(resource.name)

    def read(self, scope: BodyBuilder, bound: Bound | None, name: str) -> Value:
        """A Value for something that is read as a tensor: of a variable its contents."""
        if isinstance(bound, Resource) and bound.kind == "variable":
            bound = self.contents(scope, bound, name)
        if isinstance(bound, TwoRanks):
            raise _of_two_ranks(f"what '{name}' reads", bound, name)
        if not isinstance(bound, Value):
            what = "has no value" if bound is None else "is a handle, not a value"
            raise UnsupportedError(f"'{name}' {what} that flowc can compute with", node=name)
        return bound

    def current(
        self, scope: BodyBuilder, bound: Bound | None, kept: Resource | None = None
    ) -> Bound | None:
        """What a node finds in an input when it runs. In TensorFlow the `v/read` of a reference
        variable is its memory, not a copy: a reader that waits for an assignment finds the new
        value. `kept`: what holds the value from before the assignments that come after the
        reader."""
        if not isinstance(bound, Value) or bound not in self.shared:
            return bound
        found = scope.find(kept or self.shared[bound])
        return found if isinstance(found, Value) and found.type == bound.type else bound

    # -- calls

    def call(
        self,
        scope: BodyBuilder,
        name: str,
        reference: Any,
        inputs: Sequence[Bound],
        callers: tuple[str, ...],
    ) -> list[Bound]:
        """What the results of a function are bound to, extracted in place. `callers`: the functions
        from which it is called, the innermost last. Raises as `called_function`."""
        function = called_function(self.functions, name, reference, len(inputs), callers)
        source = CallSource(function, f"{name}/", reference.attrs, self.functions)
        results = [source.resolve(r) for r in function.body.results]
        roots = [key for key, _ in results if key != ARGUMENT]
        roots += [k for k in function.body.control_results if k not in roots]
        flow = ControlFlow(source, roots, (), results)
        region = RegionExtractor(self, scope, source, flow, flow.top, (*callers, reference.name))
        for i, bound in enumerate(inputs):
            region.values[(ARGUMENT, i)] = bound
        region.run(roots)
        found: list[Bound] = []
        for ref in results:
            bound = region.bound(ref)
            if bound is None:
                raise UnsupportedError(
                    f"result '{ref[0]}' of the function {reference.name!r} has no value that flowc "
                    "can compute",
                    node=name,
                )
            found.append(bound)
        return found


def _is_flow(tensor: Tensor) -> bool:
    """Whether a tensor is the flow of a TensorArray, or carries one through a loop."""
    while tensor.op.type in _PASS_ON and tensor.op.inputs:
        tensor = tensor.op.inputs[0]
    signature = signature_of(tensor.op.type)
    outputs = () if signature is None else signature.outputs
    return any(arg.name in _FLOWS for arg in outputs[tensor.value_index : tensor.value_index + 1])


def _of_two_ranks(what: str, found: TwoRanks, name: str) -> InvalidArgumentError:
    first, second = found.sides
    return InvalidArgumentError(
        f"{what} is {first.type} or {second.type}, as branches of a conditional differ in rank: "
        "expected one rank",
        node=name,
        hint="reshape the values in the branches to one rank, or what is fetched: "
        "tf.reshape(x, [-1])",
    )


class _AssignedLater(Exception):
    """Variables that were taken for constants are assigned further on."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self.names = names


def extract_program(
    graph: Graph,
    fetches: Sequence[Tensor],
    feeds: Mapping[Tensor, TensorType],
    targets: Sequence[Operation] = (),
    held: Mapping[str, TensorType] | None = None,
    ranks: RankOf | None = None,
    met: list[tuple[Dim, Dim]] | None = None,
    done: Collection[Operation] = (),
    values: Mapping[Tensor, Array] | None = None,
) -> ExtractedProgram:
    """The program of a fetch set. `held`: types of the variables whose value the caller keeps and
    gives to every run; of the others those with a value are constants, unless they are assigned.
    `ranks`: of outputs of which the graph tells none, if they may be assumed. `met`: where to note
    sizes that the graph needs to be equal and that are not seen to be, whatever branches it takes.
    `done`: operations that ran before, for which nothing waits. `values`: of tensors that are fed
    the same in every run, which are constants of the program.

    Raises `UnsupportedError` with all op types that cannot be compiled, `PermissionDeniedError` for
    what the graph does not allow of imported nodes, `InvalidArgumentError` for
    a placeholder that is needed and not fed, `ShapeError` with the node for types that do not fit,
    `FailedPreconditionError` for a variable without a value, `InvalidModelError` for malformed
    control flow.
    """
    known = values or {}
    check_supported(graph, fetches, targets, {*feeds, *known}, done)
    assigned: set[str] = set()
    while True:
        try:
            extraction = Extraction(graph, held or {}, assigned, ranks, met, done)
            return extraction.run(fetches, targets, feeds, known)
        except _AssignedLater as found:
            assigned |= found.names


def extract(
    graph: Graph,
    fetches: Sequence[Tensor],
    feeds: Mapping[Tensor, TensorType],
    targets: Sequence[Operation] = (),
) -> Computation:
    """The Computation of a fetch set that assigns no variables. Raises as `extract_program`, and
    `UnsupportedError` for one that does."""
    program = extract_program(graph, fetches, feeds, targets)
    if program.spec.variables:
        names = ", ".join(v.name for v in program.spec.variables)
        raise UnsupportedError(f"what is fetched assigns variables: {names}")
    return program.computation
