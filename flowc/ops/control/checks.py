"""Checks: ops that end the run with an error where a condition does not hold."""

from __future__ import annotations

from typing import Any

from flowc.ir.inference import Inference
from flowc.ir.lowering import ByOneThread, Native, on_gpu
from flowc.ir.op import define
from flowc.ir.types import Dims


def _infer_check(c: Inference) -> list[Dims]:
    c.need_rank(0, 0, "the condition must be a scalar")
    return []


@on_gpu(ByOneThread())
def _check_kernel(condition: Any, status: Any, begin: int, end: int) -> None:
    if condition[0] == 0:
        status[0] = 1


check = define(
    "check",
    '_Check(condition: bool; message: string, fault: string = "InvalidArgumentError")',
    infer=_infer_check,
    lowering=lambda node: Native(
        _check_kernel,
        errors=(_braces_doubled(node.attrs["message"]),),
        fault=node.attrs["fault"],
    ),
    traits=frozenset({"stateful"}),
)


@on_gpu(ByOneThread())
def _needed_kernel(value: Any, begin: int, end: int) -> None:
    return


# A value that is computed because that may fail, though nobody reads it.
needed = define(
    "needed",
    "_Needed(value: T; T: type)",
    infer=lambda c: [],
    reference=lambda value: [],
    lowering=Native(_needed_kernel, moves=True),
    traits=frozenset({"stateful"}),
)


def _braces_doubled(message: str) -> str:
    return message.replace("{", "{{").replace("}", "}}")
