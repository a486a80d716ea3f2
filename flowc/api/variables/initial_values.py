"""Initial values that are computed from other variables.

In: the initial value of a new variable. Out: the same computation, with every variable in it
replaced by its own initial value where it has no value yet. So one run initialises all variables,
in any order.
"""

from __future__ import annotations

from typing import Any

from flowc.graph import Operation, Tensor
from flowc.graph.op_info import has_trait

_KEPT = ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If")


def guarded(scope: str, value: Tensor) -> Tensor:
    """`value` as the variable made in the name scope `scope` may be given it. A value that comes
    out of a loop is left as it is."""
    order = _inputs_first(value.op)
    replaced: dict[Operation, Operation] = {}
    for op in order or ():
        if has_trait(op.type, "variable"):
            variable = _variable_of(op)
            if variable is not None:
                replaced[op] = variable.initialized_value().op
        elif op.type not in _KEPT and any(t.op in replaced for t in op.inputs):
            replaced[op] = _copied(op, replaced, scope)
    return replaced[value.op].outputs[value.value_index] if value.op in replaced else value


def _inputs_first(last: Operation) -> list[Operation] | None:
    """The operations behind `last` and itself, inputs first; None where they form a circle."""
    order: list[Operation] = []
    done: set[Operation] = set()
    active: set[Operation] = set()
    stack = [(last, False)]
    while stack:
        op, ready = stack.pop()
        if ready:
            active.discard(op)
            done.add(op)
            order.append(op)
        elif op in active:
            return None
        elif op not in done:
            active.add(op)
            stack.append((op, True))
            if op.type not in _KEPT:
                stack += [(t.op, False) for t in reversed(op.inputs)]
    return order


def _variable_of(op: Operation) -> Any:
    for collection in ("variables", "local_variables"):
        for variable in op.graph.get_collection(collection):
            if getattr(variable, "op", None) is op:
                return variable
    return None


def _copied(op: Operation, replaced: dict[Operation, Operation], scope: str) -> Operation:
    inputs = [replaced[t.op].outputs[t.value_index] if t.op in replaced else t for t in op.inputs]
    return op.graph.create_op(
        "Switch" if op.type == "RefSwitch" else op.type,
        inputs,
        dict(op.attrs),
        f"{op.name}_{scope}".replace(":", "_"),
        output_types=[(t.dtype, t.shape) for t in op.outputs],  # type: ignore[misc]
    )
