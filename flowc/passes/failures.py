"""Whether a node can make a run fail: what must not be computed where it may not be wanted.

In: a node of a decomposed Computation. Out: False only where no element of its inputs is checked,
or what is checked can be proved.
"""

from __future__ import annotations

from flowc.ir.computation import Node
from flowc.ir.dims import is_nonnegative
from flowc.ir.lowering import Convolution, Elementwise, MatMul, Native, Reduction, View
from flowc.ir.scalar import held_dtype
from flowc.ir.scalar_body import BodyLiteral, Operand, ScalarBody, record_map, record_view


def may_fail(node: Node) -> bool:
    inputs = [v.type.dtype for v in node.inputs]
    match node.lowering:
        case MatMul() | Convolution():
            return False
        case Native(errors=errors):
            return bool(errors)
        case Elementwise(expr):
            return _checks(record_map(expr, inputs))
        case View(read):
            return _checks(record_view(read, inputs, node.output.dims))
        case Reduction(prepare=prepare, finish=finish, accumulator=accumulator):
            total = accumulator or inputs[0]
            if prepare is not None:
                body = record_map(prepare, inputs)
                if _checks(body):
                    return True
                total = accumulator or body.dtype
            return finish is not None and _checks(record_map(finish, [held_dtype(total)] * 2))
        case _:
            return True


def _checks(body: ScalarBody) -> bool:
    """Whether a body finds elements at fault."""
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
