"""Whether a node can make a run fail: such a node must not be executed speculatively.

In: a node of a decomposed Computation. Out: False only where the node has no run-time checks, or
all of them are proved.
"""

from __future__ import annotations

from flowc.ir.computation import Node
from flowc.ir.core_ops import recorded
from flowc.ir.dims import is_nonnegative
from flowc.ir.lowering import (
    Convolution,
    Elementwise,
    FilterGradient,
    MatMul,
    Native,
    Reduction,
    Scalars,
    View,
)
from flowc.ir.scalar_body import BodyLiteral, Operand, ScalarBody


def may_fail(node: Node) -> bool:
    lowering, _ = recorded(node)
    if isinstance(lowering, (Elementwise, View)):
        return _checks(lowering.body)
    if isinstance(lowering, Reduction):
        return _checks(lowering.prepare) or _checks(lowering.finish)
    if isinstance(lowering, Native):
        return bool(lowering.errors)
    return not isinstance(lowering, (MatMul, Convolution, FilterGradient))


def _checks(body: Scalars | None) -> bool:
    """Whether a body finds elements at fault."""
    if body is None:
        return False
    assert isinstance(body, ScalarBody)
    proved: set[Operand] = set()
    for result, i in body.numbered():
        if i.name == "in_range":
            value, low, high = i.dims
            if is_nonnegative(value - low) and is_nonnegative(high - value - 1):
                proved.add(result)
        elif i.name == "logical_and" and proved.issuperset(i.operands):
            proved.add(result)
        elif i.name == "checked_index":
            return True
        elif i.name == "check" and i.operands[0] not in proved:
            holds = i.operands[0]
            if not (isinstance(holds, BodyLiteral) and holds.value):
                return True
    return False
