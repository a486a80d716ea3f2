"""The loops over one row of a cluster: which loop computes which value, and which values are kept
in scratch between them.

In: a cluster's body and its folds. Out: a stage for each node, and the values that one stage's loop
leaves in scratch for later ones. Invariant: a kept value is read at the loop's own index only.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from flowc.codegen.kernels.cost import BodyCost
from flowc.codegen.kernels.nest import (
    Apply,
    Expression,
    IndexSum,
    Let,
    Name,
    Statement,
    parts_of,
    statements_within,
)
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import View
from flowc.ir.types import Dims


def stages_of(body: Computation, folds: Container[Node]) -> dict[Node, int]:
    """For each node the loop over the row in which it can be computed first."""
    found: dict[Node, int] = {}
    for n in body.nodes:
        stage = 0
        for v in n.inputs:
            before = found.get(v.node, 0)
            stage = max(stage, before + (1 if v.node in folds else 0))
        found[n] = stage
    return found


def kept_values(
    body: Computation,
    folds: Container[Node],
    stages: Mapping[Node, int],
    full: Dims,
    cost: BodyCost,
) -> list[Value]:
    """Values across the row that one stage computes, a later one needs, and that cost much. What
    a view reads at other indices cannot be kept; what is made of it is kept instead."""
    elsewhere = _read_elsewhere(body)
    owed: set[Value] = set()  # of what is not kept: what costs much for each reader
    found: list[Value] = []
    for n in body.nodes:
        if n in folds or not n.outputs or n.op.name in ("parameter", "const"):
            continue
        value = n.output
        if not cost.is_compute_bound(n) and not any(v in owed for v in n.inputs):
            continue
        at_own_index = value.dims == full and value not in elsewhere
        if at_own_index and _uses(value, body, folds, stages) > 1:
            found.append(value)
        elif value in elsewhere or isinstance(n.lowering, View):
            owed.add(value)
    return found


def _read_elsewhere(body: Computation) -> set[Value]:
    """What views read, and what that is computed from."""
    found: set[Value] = set()
    for n in reversed(body.nodes):
        if isinstance(n.lowering, View) or any(v in found for v in n.outputs):
            found.update(n.inputs)
    return found


def _uses(
    value: Value, body: Computation, folds: Container[Node], stages: Mapping[Node, int]
) -> int:
    """In how many stages' loops the value is evaluated, through values that are not kept."""
    last = max(stages.values(), default=0)
    users: dict[Value, list[Node]] = body.users()
    seen: set[int] = set()
    stack = [value]
    while stack:
        v = stack.pop()
        if v in body.results:
            seen.add(last)
        for n in users[v]:
            if n in folds:
                seen.add(stages[n])
            else:
                stack.append(n.output)
    return len(seen)


def divides_rows(body: Sequence[Statement]) -> bool:
    """Whether a row's number, `p`, is divided."""
    parts = (
        part
        for statement in statements_within(body)
        if isinstance(statement, Let)
        for part in parts_of(statement.value)
    )
    return any(
        isinstance(part, Apply) and part.op == "idiv" and _names_row(part.operands[0])
        for part in parts
    )


def _names_row(x: Expression) -> bool:
    """Whether a row's number is in an index."""
    match x:
        case Name("p"):
            return True
        case IndexSum(terms):
            return any("p" in names for _, names in terms)
        case _:
            return False
