"""Assertions: the run fails where a condition does not hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc.ir.builder import Builder
from flowc.ir.computation import Node, Value
from flowc.ir.lowering import Decompose, Native
from flowc.ir.op import Inference, Op, define
from flowc.ir.types import Dims


def _infer_check(c: Inference) -> list[Dims]:
    if c.rank(0) != 0:
        raise c.fail("the condition must be a scalar")
    return []


def _check_kernel(condition: Any, status: Any, begin: int, end: int) -> None:
    if condition[0] == 0:
        status[0] = 1


check = define(
    Op(
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
)


def _braces_doubled(message: str) -> str:
    return message.replace("{", "{{").replace("}", "}}")


def _decompose_assert(b: Builder, node: Node) -> list[Value]:
    condition, *data = node.inputs
    known = condition.constant
    if known is None or not bool(known.reshape(-1)[0]):
        parts = [_shown(v) for v in data]
        message = "assertion failed: " + " ".join(f"[{p}]" for p in parts if p)
        b.check(condition, message=message)
    return []


def _shown(value: Value) -> str:
    """What a message can say of an input when compiling: constants in full, others by type."""
    array = value.constant
    if array is None:
        return str(value.type)
    items = [
        x.decode("utf-8", "replace") if isinstance(x, bytes) else str(x) for x in array.flat[:3]
    ]
    return " ".join(items) + (" ..." if np.size(array) > 3 else "")


assert_ = define(
    Op(
        "assert",
        "Assert(condition: bool, data: T; T: list(type), summarize: int = 3)",
        infer=_infer_check,
        lowering=Decompose(_decompose_assert),
        traits=frozenset({"stateful"}),
    )
)
