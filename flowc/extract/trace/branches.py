"""Conditionals under extraction: two traced branches become one `if` node.

In: a condition and, for each branch, the body that it was traced in and its results. Out: what the
results are bound to outside. Resources that either branch changed are results too. Invariant: the
branches give values of the same types; where one lacks a part of a list or an optional that the
other has, it gives zeros, which nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.errors import InvalidArgumentError, UnsupportedError
from flowc.extract.body_builder import BodyBuilder
from flowc.ir.computation import Value
from flowc.ir.dims import as_dim
from flowc.ir.extraction import (
    Bound,
    Columns,
    ListValue,
    OptionalCase,
    OptionalValue,
    Ragged,
    Resource,
    RunTimeTensor,
    SparseMatrix,
    TwoRanks,
    join_known,
    joined_dims,
    values_of,
    with_values,
)
from flowc.ir.op import op_named
from flowc.ir.structures import arranged, element_of, paired, united
from flowc.ops.lists.list_operations import with_element
from flowc.ops.lists.lists_by_rank import of_same_ranks
from flowc.ops.lists.ragged_values import Shape, as_ragged, stays_dense

Trace = Callable[[BodyBuilder], Sequence[Bound]]
B = TypeVar("B", bound=Bound)


@dataclass(slots=True)
class _TracedBranch:
    scope: BodyBuilder
    results: list[Bound]


def build_if(
    scope: BodyBuilder, name: str, condition: Value, then: Trace, otherwise: Trace
) -> list[Bound]:
    """What the results of a conditional are bound to. `name`: the node, for messages.

    Raises `InvalidArgumentError` where the branches give values of different dtypes.
    """
    known = scope.b.content(condition)  # of ranks and sizes, if not of a constant
    if known is not None:
        return list(then(scope) if bool(known) else otherwise(scope))
    branches: list[_TracedBranch] = []
    for trace in (then, otherwise):
        inner = BodyBuilder(scope)
        inner.b.origin = scope.b.origin
        inner.decide(condition, trace is then)
        branches.append(_TracedBranch(inner, list(trace(inner))))
    counts = [len(branch.results) for branch in branches]
    if counts[0] != counts[1]:
        raise InvalidArgumentError(
            f"the branches of '{name}' give {counts[0]} and {counts[1]} values", node=name
        )
    changed = dict.fromkeys(r for branch in branches for r in branch.scope.replaced)
    for branch in branches:
        for resource in changed:
            contents = branch.scope.held(resource)
            if contents is None:
                raise UnsupportedError(
                    f"{resource.kind} '{resource.name}' gets its first contents in one branch of "
                    f"'{name}' only",
                    node=name,
                )
            branch.results.append(contents)
    for i in range(len(branches[0].results)):
        _make_alike(scope, branches, i, name)
    values = [[v for r in branch.results for v in values_of(r)] for branch in branches]
    outputs = _emit(scope, condition, branches, values)
    found: list[Bound] = []
    for result in branches[0].results:
        count = len(values_of(result))
        found.append(with_values(result, outputs[:count]))
        outputs = outputs[count:]
    for resource in reversed(changed):
        scope.replace(resource, found.pop())
    return found


def _emit(
    scope: BodyBuilder, condition: Value, branches: list[_TracedBranch], values: list[list[Value]]
) -> list[Value]:
    effects = any(b.scope.last_effect is not None for b in branches)
    pairs = list(zip(*values))
    decided = {pair: _decided(scope, condition, branches, pair) for pair in pairs}
    left = [pair for pair, found in decided.items() if found is None]
    results = dict(decided)
    if left or effects:
        captures = list(dict.fromkeys(v for b in branches for v in b.scope.captures()))
        bodies = [
            b.scope.computation((), captures, [pair[side] for pair in left])
            for side, b in enumerate(branches)
        ]
        attrs = {
            "then": bodies[0],
            "otherwise": bodies[1],
            "Tout": tuple(then.type.dtype for then, _ in left),
        }
        node = scope.b.emit(op_named("if"), (condition, *captures), attrs)
        if effects:
            scope.note_effect(node)
        results.update(zip(left, node.outputs, strict=True))
    return [found for pair in pairs if (found := results[pair]) is not None]


def _decided(
    scope: BodyBuilder, condition: Value, branches: list[_TracedBranch], pair: tuple[Value, Value]
) -> Value | None:
    """A result that needs no branch: the condition or its opposite, where it says no more than
    which branch was taken; integers and sizes that are known outside."""
    known = [v.constant for v in pair]
    both = all(k is not None and not k.shape and k.dtype == np.bool_ for k in known)
    if both and known[0] != known[1]:
        return condition if known[0] else scope.b.logical_not(condition)
    contents = [b.scope.b.content(v) for b, v in zip(branches, pair)]
    for content, other, branch, value in zip(contents, contents[::-1], branches, pair):
        if other is None or value.type.rank > 1 or not value.type.dtype.is_integer:
            continue
        same = content is not None and np.array_equal(content, other)
        dims = tuple(as_dim(d) for d in other.reshape(-1))
        if (same or branch.scope.is_filling(value)) and all(map(scope.knows, dims)):
            sizes = scope.b.sizes(dims, value.type.dtype)
            return sizes if value.type.rank else scope.b.reshape(sizes, ())
    return None


def _make_alike(scope: BodyBuilder, branches: list[_TracedBranch], i: int, name: str) -> None:
    """Checks that both branches give the same kind of thing, and gives lists and optionals that
    lack a type what the other ones have."""
    _read_references(branches, i)
    a, b = branches[0].results[i], branches[1].results[i]
    if isinstance(a, Resource) or isinstance(b, Resource):
        if a is not b:
            raise UnsupportedError(
                f"the branches of '{name}' give different handles, of which flowc must know one",
                node=name,
            )
        return
    try:
        alike = _alike(scope, branches, a, b, name)
    except UnsupportedError as fault:
        fault.node = fault.node or name
        raise
    for branch, result in zip(branches, alike):
        branch.results[i] = result


def _alike(
    scope: BodyBuilder, branches: list[_TracedBranch], a: Bound, b: Bound, name: str
) -> tuple[Bound, Bound]:
    """What both branches give, made of the same number of values."""
    match a, b:
        case Value() | TwoRanks(), Value() | TwoRanks():
            return _tensors_alike(branches, a, b, name)
        case ListValue(), ListValue():
            if isinstance(a.held, Columns) or isinstance(b.held, Columns):
                return _columns_alike(scope, branches, a, b)
            return _lists_alike(branches, a, b)
        case OptionalValue(), OptionalValue():
            return _optionals_alike(scope, branches, a, b, name)
        case _:
            kinds = " and ".join(_kind(side) for side in (a, b))
            raise UnsupportedError(f"the branches of '{name}' give {kinds}", node=name)


def _kind(bound: Bound) -> str:
    match bound:
        case Value():
            return "a tensor"
        case Resource():
            return "a handle"
        case ListValue():
            return "a list"
        case OptionalValue():
            return "an optional"
        case SparseMatrix():
            return "a sparse matrix"
        case RunTimeTensor():
            return "a tensor of which only the run knows the rank"
        case _:
            assert_never(bound)


def _tensors_alike(
    branches: list[_TracedBranch], a: Value | TwoRanks, b: Value | TwoRanks, name: str
) -> tuple[Bound, Bound]:
    """What both branches give for a tensor: where its rank differs, alternatives of both."""
    kinds: dict[int, Value] = {}
    for side in (a, b):
        for value in _tensors(side):
            kinds.setdefault(value.type.rank, value)
    found = list(kinds.values())
    shown = " and ".join(str(value.type) for value in found)
    if len({value.type.dtype for side in (a, b) for value in _tensors(side)}) > 1:
        shown = f"{_tensors(a)[0].type} and {_tensors(b)[0].type}"
        raise InvalidArgumentError(
            f"the branches of '{name}' give {shown}, which differ in dtype", node=name
        )
    if len(found) > 2:
        raise InvalidArgumentError(
            f"the branches of '{name}' give {shown}: flowc knows tensors of two ranks at most",
            node=name,
            hint="reshape the values in the branches to one rank",
        )
    if isinstance(a, Value) and isinstance(b, Value) and len(found) == 1:
        return a, b
    one, other = found
    return _two_ranks(branches[0], a, one, other), _two_ranks(branches[1], b, one, other)


def _tensors(side: Value | TwoRanks) -> tuple[Value, ...]:
    return (side,) if isinstance(side, Value) else side.sides


def _two_ranks(
    branch: _TracedBranch, found: Value | TwoRanks, one: Value, other: Value
) -> TwoRanks:
    """What a branch gives, as one of two tensors like `one` and `other`."""
    if isinstance(found, TwoRanks):
        first, second = found.sides
        if first.type.rank == one.type.rank:
            return found
        return TwoRanks((branch.scope.b.logical_not(found.is_first), second, first))
    is_one = found.type.rank == one.type.rank
    first = branch.scope.b.const(np.bool_(is_one))
    filling = _filling(branch.scope, other if is_one else one)
    return TwoRanks((first, *((found, filling) if is_one else (filling, found))))


def _optionals_alike(
    scope: BodyBuilder, branches: list[_TracedBranch], a: OptionalValue, b: OptionalValue, name: str
) -> tuple[Bound, Bound]:
    cases: tuple[list[OptionalCase], list[OptionalCase]] = ([], [])
    for one, other in paired(a.cases, b.cases, scope.knows):
        if one is not None and other is not None:
            held = _alike(scope, branches, one.held, other.held, name)
        elif one is not None:
            held = (one.held, _filling(branches[1].scope, one.held))
        else:
            assert other is not None
            held = (_filling(branches[0].scope, other.held), other.held)
        always = all(case is not None and case.holds is None for case in (one, other))
        for branch, case, mine, found in zip(branches, (one, other), held, cases):
            holds = case.holds if case is not None else None
            if holds is None and not always:
                holds = branch.scope.filled_with(dtypes.bool_, (), int(case is not None))
            assert isinstance(mine, Value | ListValue)
            found.append(OptionalCase(mine, holds))
    return OptionalValue(tuple(cases[0])), OptionalValue(tuple(cases[1]))


def _filling(scope: BodyBuilder, like: B) -> B:
    """Zeros in a branch for a value that only the other one has: nothing reads them."""
    return with_values(like, [scope.stand_in(value) for value in values_of(like)])


def _columns_alike(
    scope: BodyBuilder, branches: list[_TracedBranch], a: ListValue, b: ListValue
) -> tuple[Bound, Bound]:
    sides = (a, b)
    like = next(side.held.element for side in sides if isinstance(side.held, Columns))
    elements = [element_of(side, like) for side in sides]
    whole = united(scope.b, elements[0], elements[1], scope.knows)
    typed = [arranged(branches[k].scope.b, side, whole, k) for k, side in enumerate(sides)]
    pairs = [_lists_alike(branches, *columns) for columns in zip(*(t.lists for t in typed))]
    first, second = (
        replace(side, dtype=dtypes.variant, held=replace(t, lists=tuple(p[k] for p in pairs)))
        for k, (side, t) in enumerate(zip(sides, typed))
    )
    return first, second


def _read_references(branches: list[_TracedBranch], i: int) -> None:
    """A reference to a variable reads as the value, unless both branches give the same one."""
    if branches[0].results[i] is branches[1].results[i]:
        return
    for branch in branches:
        result = branch.results[i]
        if isinstance(result, Resource) and result.info.get("is_ref"):
            contents = branch.scope.find(result)
            if isinstance(contents, Value):
                branch.results[i] = contents


def _lists_alike(
    branches: list[_TracedBranch], a: ListValue, b: ListValue
) -> tuple[ListValue, ListValue]:
    """Makes both lists dense or both ragged, and gives one without elements the type of the
    other's."""
    by_rank = of_same_ranks(a, b, "the branch that a run takes")
    if by_rank is not None:
        return by_rank
    outside = branches[0].scope.outer
    assert outside is not None
    known = join_known(a.known, b.known)
    ragged = any(isinstance(c.held, Ragged) for c in (a, b)) or _one_sided(outside, a, b)
    found: list[ListValue] = []
    for branch, own, other in ((branches[0], a, b), (branches[1], b, a)):
        if ragged:
            common = _common(outside, a, b)
            own = as_ragged(branch.scope.b, own, common, other.dtype)
            assert isinstance(own.held, Ragged)
            own = replace(own, held=replace(own.held, common=common))
        elif own.element is None and other.element is not None:
            # Zeros of no size, where the other branch finds the size when it runs.
            element = tuple(d if outside.knows(d) else 0 for d in other.element)
            own = with_element(branch.scope.b, own, element, other.dtype)
        found.append(replace(own, known=known))
    return found[0], found[1]


def _common(outside: BodyBuilder, a: ListValue, b: ListValue) -> Shape:
    """The dims that the elements of two lists share, as far as they are known outside."""
    mine, theirs = a.common, b.common
    shared = theirs or mine or () if not (mine and theirs) else joined_dims(mine, theirs)
    return tuple(d if d is not None and outside.knows(d) else None for d in shared)


def _one_sided(outside: BodyBuilder, a: ListValue, b: ListValue) -> bool:
    """Whether one branch alone puts elements into a list, of sizes that it finds when it runs."""
    given = b.element if a.element is None else a.element if b.element is None else None
    if given is None or stays_dense(a):
        return False
    return not all(outside.knows(d) for d in given)
