"""XLA's loops, branches and calls of functions: those of TensorFlow by other names.

In: what the functions are given. Out: their results. Invariant: all are extracted in place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowc.ir.extraction import Bound, Extractor
from flowc.ir.lowering import Extracted
from flowc.ir.op import define
from flowc.ops.control.functions import STATEFUL, emit_if, emit_while, infer_call


def _launch(x: Extractor, inputs: Sequence[Bound], attrs: Mapping[str, Any]) -> Sequence[Bound]:
    return x.call(attrs["function"], inputs)


for _name, _signature, _emit in (
    (
        "xla_if",
        "XlaIf(cond: Tcond, inputs: Tin; Tcond: type, then_branch: func, else_branch: func,"
        " Tin: list(type), Tout: list(type)) -> output: Tout",
        emit_if,
    ),
    (
        "xla_while",
        "XlaWhile(input: T; T: list(type), cond: func, body: func) -> output: T",
        emit_while,
    ),
    (
        "xla_launch",
        "XlaLaunch(constants: Tconstants, args: Targs, resources: Nresources*resource;"
        " Tconstants: list(type), Targs: list(type), Nresources: int, Tresults: list(type),"
        " function: func) -> results: Tresults",
        _launch,
    ),
    (
        "xla_launch_v2",
        "XlaLaunchV2(args: Targs; Targs: list(type), Tresults: list(type), constants: list(int),"
        " resources: list(int), function: func) -> results: Tresults",
        _launch,
    ),
):
    define(_name, _signature, infer=infer_call, lowering=Extracted(_emit), traits=STATEFUL)
