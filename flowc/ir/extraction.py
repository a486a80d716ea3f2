"""What the inputs and outputs of a graph's nodes are bound to while it is extracted.

Most are Values. A handle is bound to the `Resource` that it names, whose contents are a Bound of
their own that ops read and replace in order; a TensorList is bound to a `ListValue`, an optional to
an `OptionalValue`, a list of these to a `CompositeList`. So state and lists become plain values,
which passes, fusion and planning treat like any others, and which loops and branches carry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from flowc.dtypes import DType
from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.dims import Dim
from flowc.ir.types import Dims


@dataclass(frozen=True, slots=True, eq=False)
class Resource:
    """Something that ops change in place: a variable, a TensorArray, a stack. Identity is equality.

    `kind` and `name` are for messages; `info` holds what its creation fixed (dtype, flags).
    """

    kind: str
    name: str
    info: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True, eq=False)
class ListValue:
    """The contents of a TensorList, TensorArray or stack: `rows` elements, dense or ragged.

    Dense: elements have equal dims, and `buffer` has the type `dtype[rows, *element]`; it is None
    as long as `element` is (no element was written yet, and no shape given). Ragged: `buffer` holds
    the numbers of all elements, `dtype[total]`, and `table` (i64[rows, 1 + rank]) where each is and
    its dims (flowc/ops/lists/ragged_lists.py); `element` is None, and `common` says which dims all
    elements share (None for a dim in which they may differ).

    `marks` (TensorArrays: u8[rows]): 1 written, 2 read and cleared. `partial`: what is known of the
    dims of elements (None: nothing, or one of them). `uniform`: elements must have one shape, or
    the run fails. `known`: the numbers that every element holds, where they are known when
    compiling (shapes that loops keep for their gradients): empty before the first element, None
    where nothing is known; None for one that differs from element to element, but is a size.

    A list of dense lists holds the buffers of these as elements. `home`: what builds where the list
    was made, which may be outside of the loop or branch in which it changes. `assumed`: nothing is
    in it before the loop around, which takes its elements to be what an iteration made them before;
    where one makes them otherwise, it is traced again.
    """

    dtype: DType
    rows: Dim
    element: Dims | None = None
    buffer: Value | None = None
    marks: Value | None = None
    partial: tuple[Dim | None, ...] | None = None
    known: Known = None
    table: Value | None = None
    common: tuple[Dim | None, ...] = ()
    uniform: bool = False
    home: Builder | None = None
    assumed: bool = False


Known = tuple[Dim | None, ...] | None


def joined_known(one: Known, other: Known) -> Known:
    """What every element holds of a list that has elements of two kinds."""
    if one == () or other == ():
        return other if one == () else one
    if one is None or other is None or len(one) != len(other):
        return None
    return joined_dims(one, other)


def joined_dims(one: Sequence[Dim | None], other: Sequence[Dim | None]) -> tuple[Dim | None, ...]:
    """The dims (or numbers) that two elements share, as many as each has."""
    return tuple(x if x == y else None for x, y in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """One of the types that the value of an optional may have: it is `held` where `holds` (None:
    always). Elsewhere `held` is zeros, which nobody reads."""

    held: Value | ListValue | CompositeList
    holds: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """A value or none: at most one of the cases, whose types differ, holds."""

    cases: tuple[Case, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class CompositeList:
    """A list whose elements are optionals, ragged lists, or such lists: one list for each Value
    that an element is made of. `element` is any one of them, for its structure only."""

    rows: Dim
    element: OptionalValue | CompositeList | ListValue
    columns: tuple[ListValue, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RunAxes:
    """Those axes of a tensor that the run says to be meant: for each axis whether it is."""

    summed: tuple[Value | bool, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Unranked:
    """A tensor whose rank only the run knows: `value` has its elements in order, and dims of 1 that
    the tensor may lack."""

    value: Value


@dataclass(frozen=True, slots=True, eq=False)
class Alternatives:
    """A tensor of one of two ranks, by the branch that was taken: `one` where `first` holds, else
    `other`. Each is zeros, which nobody reads, where the tensor is the other one."""

    first: Value
    one: Value
    other: Value


Bound = (
    Value | Resource | ListValue | OptionalValue | CompositeList | RunAxes | Unranked | Alternatives
)


def values_of(bound: Bound) -> tuple[Value, ...]:
    """The Values that a Bound is made of."""
    match bound:
        case Value():
            return (bound,)
        case ListValue():
            return tuple(v for v in (bound.buffer, bound.table, bound.marks) if v is not None)
        case OptionalValue():
            parts = [(c.holds, *values_of(c.held)) for c in bound.cases]
            return tuple(v for part in parts for v in part if v is not None)
        case CompositeList():
            return tuple(v for column in bound.columns for v in values_of(column))
        case RunAxes():
            return tuple(v for v in bound.summed if isinstance(v, Value))
        case Unranked():
            return (bound.value,)
        case Alternatives():
            return (bound.first, bound.one, bound.other)
        case _:
            return ()


def with_values(bound: Bound, values: Sequence[Value]) -> Bound:
    """The same kind of Bound made of other Values; sizes follow from their types."""
    match bound:
        case Value():
            (value,) = values
            return value
        case ListValue() if bound.buffer is not None or bound.marks is not None:
            left = list(values)
            buffer, table, marks = (
                left.pop(0) if part is not None else None
                for part in (bound.buffer, bound.table, bound.marks)
            )
            rows = next(v for v in (table, buffer, marks) if v is not None).dims[0]
            element = buffer.dims[1:] if buffer is not None and table is None else None
            return replace(
                bound, rows=rows, element=element, buffer=buffer, table=table, marks=marks
            )
        case OptionalValue():
            left = list(values)
            cases: list[Case] = []
            for case in bound.cases:
                holds = None if case.holds is None else left.pop(0)
                cases.append(Case(_taken(case.held, left), holds))
            return OptionalValue(tuple(cases))
        case CompositeList():
            left = list(values)
            columns = tuple(_taken(column, left) for column in bound.columns)
            rows = next((c.rows for c in columns if c.buffer is not None), bound.rows)
            return replace(bound, rows=rows, columns=columns)
        case RunAxes():
            left = list(values)
            return RunAxes(tuple(left.pop(0) if isinstance(v, Value) else v for v in bound.summed))
        case Unranked():
            return Unranked(*values)
        case Alternatives():
            return Alternatives(*values)
        case _:
            return bound


def _taken(bound: Any, left: list[Value]) -> Any:
    """A part of a Bound made of the first of the values that are left."""
    count = len(values_of(bound))
    taken, left[:] = left[:count], left[count:]
    return with_values(bound, taken)


class Extractor(Protocol):
    """What an op's `Extracted` lowering works with, one for the node that is being extracted.

    `b` builds nodes in the region (top level, branch, loop body, call) where the node stands;
    `name` is the node's full name, for messages and for the resources that it makes.
    """

    @property
    def b(self) -> Builder: ...

    @property
    def name(self) -> str: ...

    def contents(self, resource: Resource) -> Bound:
        """What a resource holds now. Raises `FailedPreconditionError` for a variable without."""
        ...

    def replace(self, resource: Resource, contents: Bound) -> None:
        """Gives a resource new contents, for all nodes extracted after this one."""
        ...

    def create(
        self, kind: str, contents: Bound | None, info: Mapping[str, Any] | None = None
    ) -> Resource:
        """A new resource that is named after this node."""
        ...

    def variable(
        self, name: str, dtype: DType, dims: Dims | None, info: Mapping[str, Any] | None = None
    ) -> Resource:
        """The variable with this name: the same one wherever it is asked for. `info["is_ref"]`:
        its tensor is a reference, which reads as the value."""
        ...

    def is_initialized(self, resource: Resource) -> bool:
        """Whether a variable has a value, before this run or from a node extracted before."""
        ...

    def related(self, resource: Resource, role: str) -> Resource | None:
        """A resource that was made beside another one (the gradient of a TensorArray)."""
        ...

    def create_beside(
        self,
        resource: Resource,
        role: str,
        make: Callable[[Extractor], Bound],
        info: Mapping[str, Any] | None = None,
    ) -> Resource:
        """A resource that lives where another one does, which may be outside of the loop or branch
        where this node stands; `make` gives its contents, built there."""
        ...

    def note_kept(self, holder: Resource, kept: Resource) -> None:
        """Notes that the elements of `holder` (a stack) name what `kept` is in each iteration of
        the loop where it is made."""
        ...

    def kept_in(self, holder: Resource, make: Callable[[Extractor, Bound], Bound]) -> Resource:
        """What the element just taken from `holder` names: the same resource for all holders of one
        resource in one iteration. `make`: its contents, from those that the one kept had at last.

        Raises `UnsupportedError` where branches of an iteration take what they do not share."""
        ...

    def is_lasting(self, dim: Dim) -> bool:
        """Whether a size is known all through the run, whatever loop this node stands in."""
        ...

    def is_steady(self, dim: Dim, home: Builder | None = None) -> bool:
        """Whether a size, though it may be known here only, is the same each time that this node
        runs: it follows from nothing that an iteration changes. `home`: of the loops inside of
        which that counts, as what is made there is new in each iteration of the others."""
        ...

    def output_shapes(self, like: int) -> Sequence[tuple[int | None, ...] | None]:
        """What the graph says of the shapes of the node's outputs; None for one of unknown rank,
        unless a rank may be assumed, first of all `like`."""
        ...

    def effect(self, node: Node) -> None:
        """Notes that a node has an effect on the world (a message, a check)."""
        ...

    def call(self, function: Any, inputs: Sequence[Bound]) -> Sequence[Bound]:
        """The results of a function of the graph, extracted in place."""
        ...

    def branch(
        self, condition: Value, then: Any, otherwise: Any, inputs: Sequence[Bound]
    ) -> Sequence[Bound]:
        """An `if` whose branches are functions: of the graph (FunctionRef), or Python functions
        `f(x, inputs)` that build with the Extractor they are given."""
        ...

    def loop(self, condition: Any, body: Any, inputs: Sequence[Bound]) -> Sequence[Bound]:
        """A `while` whose condition and body are functions, as for `branch`."""
        ...
