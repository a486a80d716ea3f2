"""Initial values that are computed from other variables.

In: the initial value of a new variable. Out: the same computation, with every variable in it
replaced by its own initial value where it has no value yet. So one run initialises all variables,
in any order.
"""

from __future__ import annotations

from typing import Any

from flowc.graph import Operation, Tensor
from flowc.graph.op_info import has_trait
from flowc.ir.traversal import inputs_first

_KEPT = ("IsVariableInitialized", "VarIsInitializedOp", "ReadVariableOp", "If")


def guarded(scope: str, value: Tensor) -> Tensor:
    """`value` as the variable made in the name scope `scope` may be given it. A value that comes
    out of a loop is left as it is."""
    circles: list[list[Operation]] = []
    order = inputs_first([value.op], _inputs, circles.append)
    replaced: dict[Operation, Operation] = {}
    for op in order if not circles else ():
        if has_trait(op.type, "variable"):
            variable = _variable_of(op)
            if variable is not None:
                replaced[op] = variable.initialized_value().op
        elif op.type not in _KEPT and any(t.op in replaced for t in op.inputs):
            replaced[op] = _copied(op, replaced, scope)
    return replaced[value.op].outputs[value.value_index] if value.op in replaced else value


def _inputs(op: Operation) -> list[Operation]:
    return [] if op.type in _KEPT else [t.op for t in op.inputs]


def _variable_of(op: Operation) -> Any:
    for collection in ("variables", "local_variables"):
        for variable in op.graph.get_collection(collection):
            if getattr(variable, "op", None) is op:
                return variable
    return None


def _copied(op: Operation, replaced: dict[Operation, Operation], scope: str) -> Operation:
    inputs = [replaced[t.op].outputs[t.value_index] if t.op in replaced else t for t in op.inputs]
    return op.graph.add_operation(
        "Switch" if op.type == "RefSwitch" else op.type,
        inputs,
        dict(op.attrs),
        f"{op.name}_{scope}".replace(":", "_"),
        output_types=[(t.dtype, t.shape) for t in op.outputs],  # type: ignore[misc]
    )
