"""What the inputs and outputs of a graph's nodes are bound to while it is extracted.

Most are Values. A handle is bound to the `Resource` that it names, whose contents are a Bound of
their own that ops read and replace in order; a TensorList is bound to a `ListValue`, an optional to
an `OptionalValue`. So state and lists become plain values, which passes, fusion and planning treat
like any others, and which loops and branches carry. Bound is a closed union: code that matches on
it treats all of its arms, and ends with `assert_never`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Protocol, TypeVar, assert_never, cast

from flowc.dataclass import dataclass
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
class DenseItems:
    """Elements of equal dims: `buffer` is `dtype[rows, *element]`."""

    buffer: Value


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Elements of different dims: `flat` holds the numbers of all of them, `dtype[total]`; `table`
    (i64[rows, 1 + rank]) where each is and its dims (flowc/ops/lists/ragged_lists.py). `common`:
    the dims that all elements share, None for one in which they may differ."""

    flat: Value
    table: Value
    common: tuple[Dim | None, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Elements that are optionals, ragged lists, or lists of these: one list for each Value that an
    element is made of. `element` is any one of them, for its structure only."""

    element: OptionalValue | ListValue
    lists: tuple[ListValue, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ByRank:
    """Elements of several ranks: for each rank a list that is as long as the whole one, and for
    each element which of these has it, None where it was never set."""

    lists: tuple[Ragged, ...]
    owners: tuple[int | None, ...]


Held = DenseItems | Ragged | Columns | ByRank


@dataclass(frozen=True, slots=True, eq=False)
class ListValue:
    """The contents of a TensorList, TensorArray or stack: `rows` elements, of which `held` says how
    they are represented (None: no element was written yet, and no shape given).

    `marks` (TensorArrays: u8[rows]): what became of each element (ir/mark_access.py). `partial`:
    what is known of the dims of elements (None: nothing, or one of them). `uniform`: elements must
    have one shape, or the run fails. `known`: the numbers that every element holds, where they are
    known when compiling (shapes that loops keep for their gradients): empty before the first
    element, None where nothing is known; None for one that differs from element to element, but is
    a size.

    A list of dense lists holds the buffers of these as elements. `home`: what builds where the list
    was made, which may be outside of the loop or branch in which it changes. `assumed`: nothing is
    in it before the loop around, which takes its elements to be what an iteration made them before;
    where one makes them otherwise, it is traced again. `limit`: how many elements the list may
    have, -1 for any number.
    """

    dtype: DType
    rows: Dim
    held: Held | None = None
    marks: Value | None = None
    partial: tuple[Dim | None, ...] | None = None
    known: Known = None
    uniform: bool = False
    home: Builder | None = None
    assumed: bool = False
    limit: int = -1

    @property
    def element(self) -> Dims | None:
        """The dims of every element, where the list is dense."""
        return self.held.buffer.dims[1:] if isinstance(self.held, DenseItems) else None

    @property
    def common(self) -> tuple[Dim | None, ...] | None:
        """The dims that all elements share; None where there is no element of any rank yet."""
        return self.held.common if isinstance(self.held, Ragged) else self.element


Known = tuple[Dim | None, ...] | None


def join_known(one: Known, other: Known) -> Known:
    """The join of what is known of the numbers in elements: those in which both agree. `()`: there
    is no element yet, which any other joins."""
    if one == () or other == ():
        return other if one == () else one
    if one is None or other is None or len(one) != len(other):
        return None
    return joined_dims(one, other)


def joined_dims(one: Sequence[Dim | None], other: Sequence[Dim | None]) -> tuple[Dim | None, ...]:
    """The dims (or numbers) that two elements share, as many as each has."""
    return tuple(x if x == y else None for x, y in zip(one, other, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class OptionalCase:
    """One of the types that the value of an optional may have: it is `held` where `holds` (None:
    always). Elsewhere `held` is zeros, which nobody reads."""

    held: Value | ListValue
    holds: Value | None = None


@dataclass(frozen=True, slots=True, eq=False)
class OptionalValue:
    """A value or none: at most one of the cases, whose types differ, holds."""

    cases: tuple[OptionalCase, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class RunTimeTensor:
    """A tensor that no type describes, as only the run knows its length or its rank. `parts`: what
    it is made of."""

    parts: tuple[Value | bool, ...]

    @property
    def values(self) -> tuple[Value, ...]:
        return tuple(part for part in self.parts if isinstance(part, Value))


class RunAxes(RunTimeTensor):
    """Axes of a tensor that only the run knows: for each axis whether it is one of them."""


class Unranked(RunTimeTensor):
    """A tensor of any rank: one Value, which has its elements in order, and dims of 1 that the
    tensor may lack."""


class TwoRanks(RunTimeTensor):
    """A tensor of one of two ranks, by the branch that was taken: whether it is the first one, then
    both. Each is zeros, which nobody reads, where the tensor is the other one."""

    @property
    def is_first(self) -> Value:
        return self.values[0]

    @property
    def sides(self) -> tuple[Value, Value]:
        _, first, second = self.values
        return first, second


class SparseMatrix(RunTimeTensor):
    """A matrix, or a batch of them, by its elements that are kept, row by row: the places of these
    (i64[kept, rank]), their values, and the shape (i64[rank])."""

    @property
    def elements(self) -> tuple[Value, Value, Value]:
        places, values, shape = self.values
        return places, values, shape


Bound = Value | Resource | ListValue | OptionalValue | RunTimeTensor


def values_of(bound: Bound) -> tuple[Value, ...]:
    """The Values that a Bound is made of."""
    found: list[Value] = []

    def note(value: Value) -> Value:
        found.append(value)
        return value

    _mapped(bound, note)
    return tuple(found)


B = TypeVar("B")


def with_values(bound: B, values: Sequence[Value]) -> B:
    """A Bound of the same kind as `bound`, made of other Values; sizes follow from their types."""
    left = list(values)
    found = _mapped(bound, lambda _: left.pop(0))
    assert not left
    return found


def _mapped(bound: B, change: Callable[[Value], Value]) -> B:
    """A Bound, or a part of one, with its Values changed, one after the other."""
    part = cast(Bound | Held | OptionalCase | tuple[Any, ...] | bool | None, bound)
    found: Any = part
    match part:
        case Value():
            found = change(part)
        case tuple():
            found = tuple(_mapped(inner, change) for inner in part)
        case ListValue():
            held, marks = _mapped(part.held, change), _mapped(part.marks, change)
            rows = _rows_of(held)
            if rows is None:
                rows = part.rows if marks is None else marks.dims[0]
            found = replace(part, rows=rows, held=held, marks=marks)
        case OptionalCase():
            holds = _mapped(part.holds, change)
            found = OptionalCase(_mapped(part.held, change), holds)
        case OptionalValue(cases):
            found = OptionalValue(_mapped(cases, change))
        case RunTimeTensor(parts):
            found = type(part)(_mapped(parts, change))
        case DenseItems(buffer):
            found = DenseItems(_mapped(buffer, change))
        case Ragged(flat, table):
            flat = _mapped(flat, change)
            found = replace(part, flat=flat, table=_mapped(table, change))
        case Columns(_, lists) | ByRank(lists):
            found = replace(part, lists=_mapped(lists, change))
        case Resource() | bool() | None:
            pass
        case _:
            assert_never(part)
    return found


def _rows_of(held: Held | None) -> Dim | None:
    """How many elements there are, as far as what holds them tells."""
    match held:
        case None:
            return None
        case DenseItems(buffer):
            return buffer.dims[0]
        case Ragged(_, table):
            return table.dims[0]
        case Columns(_, lists):
            return next((column.rows for column in lists if column.held is not None), None)
        case ByRank(_, owners):
            return len(owners)
        case _:
            assert_never(held)


def with_held(contents: ListValue, held: Held) -> ListValue:
    """A list with other elements."""
    rows = _rows_of(held)
    rows = contents.rows if rows is None else rows
    return replace(contents, rows=rows, held=held, known=None)


class Extractor(Protocol):
    """What an op's `Extracted` lowering works with, one for the node that is being extracted.

    `b` builds nodes in the region (top level, branch, loop body, call) where the node stands;
    `name` is the node's full name, for messages and for the resources that it makes.
    """

    @property
    def b(self) -> Builder: ...

    @property
    def name(self) -> str: ...

    @property
    def is_unconditional(self) -> bool:
        """Whether every run executes the node: it is in no branch and no loop, so that what is
        known to fail may be refused when compiling."""
        ...

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

    def save_resource(self, holder: Resource, kept: Resource) -> None:
        """Notes that the elements of `holder` (a stack) name what `kept` is in each iteration of
        the loop where it is made."""
        ...

    def restored_resource(
        self, holder: Resource, make: Callable[[Extractor, Bound], Bound]
    ) -> Resource:
        """The resource that was saved on the stack `holder`, as it was in the iteration that is
        gone back to: one resource for all stacks on which it was saved. `make`: its contents, from
        its last ones.

        Raises `UnsupportedError` where branches of an iteration take what they do not share."""
        ...

    def is_lasting(self, dim: Dim) -> bool:
        """Whether a size is known all through the run, whatever loop this node stands in."""
        ...

    def is_loop_invariant(self, dim: Dim, home: Builder | None = None) -> bool:
        """Whether a size that may be known only inside of a loop is loop-invariant: computed from
        nothing that an iteration changes. `home`: only the loops inside of what it builds count; by
        default all do."""
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

    def gradients(self, function: Any, inputs: Sequence[Bound]) -> Sequence[Bound]:
        """The gradients of the arguments of a function of the graph. `inputs`: its arguments, then
        the gradients of its results."""
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
