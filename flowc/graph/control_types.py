"""The op types that carry control flow in a TensorFlow 1 graph, and their signatures.

They have no records: extraction reads loops and conditionals out of them, and no Computation holds
one. Invariant: their names stand here only, and where `control_nodes.py` and `switch_n.py` make
them.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowc.ir.signature import OpSignature

_FORWARD = "(data: {0}; T: type) -> output: {0}"
_FRAME = ", frame_name: string, is_constant: bool = False, parallel_iterations: int = 10)"
# Each of these has a form for references to variables too.
_SIGNATURES = {
    "Switch": "(data: {0}, pred: bool; T: type) -> (output_false: {0}, output_true: {0})",
    "Merge": "(inputs: N*T; T: type, N: int >= 1) -> (output: {0}, value_index: i32)",
    "Enter": f"(data: {{0}}; T: type{_FRAME} -> output: {{0}}",
    "Exit": _FORWARD,
    "NextIteration": _FORWARD,
}
LOOP_COND = "LoopCond"
SWITCH_N = "_SwitchN"  # what a `Case` is lowered to
_OTHERS = {
    LOOP_COND: "(input: bool) -> output: bool",
    SWITCH_N: "(data: T, output_index: i32; num_outs: int >= 1, T: type) -> outputs: num_outs*T",
}


def reference_form(op_type: str) -> str:
    """The type of the nodes that do to references what those of `op_type` do to values."""
    return f"Ref{op_type}"


def _with_references(op_type: str) -> frozenset[str]:
    return frozenset({op_type, reference_form(op_type)})


SWITCH = _with_references("Switch")
MERGE = _with_references("Merge")
ENTER = _with_references("Enter")
EXIT = _with_references("Exit")
NEXT = _with_references("NextIteration")
FRAME_TYPES = SWITCH | MERGE | ENTER | EXIT | NEXT | {LOOP_COND}
# What stands between these and passes on what it is given.
PASSING = _with_references("Identity")


@cache
def control_flow_signature(op_type: str) -> OpSignature | None:
    """The signature of an op type that carries control flow, or None for others."""
    from flowc.ir.signature import parse_signature  # late: a program may do without

    if op_type in _OTHERS:
        return parse_signature(op_type + _OTHERS[op_type])
    form = _SIGNATURES.get(op_type.removeprefix("Ref"))
    if form is None:
        return None
    return parse_signature(op_type + form.format("ref(T)" if op_type.startswith("Ref") else "T"))
