"""`Assert` and `Print`: operations that are there for their effect."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.conversion import as_tensor
from flowc.api.scopes import name_scope, no_op
from flowc.api.typed_nodes import add_node
from flowc.graph import Operation, Tensor


def Assert(
    condition: Any, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that fails a run with `InvalidArgumentError` where `condition` does not hold.

    The error shows the `data`, `summarize` elements of each."""
    from flowc.api.conditionals import cond

    with name_scope(name, "Assert", [condition, *data]):
        tensors = [as_tensor(item) for item in data]
        if all(t.dtype in (dtypes.string, dtypes.i32) for t in tensors):
            return _assert(condition, data, summarize)
        condition = as_tensor(condition, name="Condition")
        guarded = cond(
            condition, no_op, lambda: _assert(condition, data, summarize), name="AssertGuard"
        )
        return guarded.op


def _assert(condition: Any, data: Sequence[Any], summarize: int | None) -> Operation:
    from flowc.api.create import create

    attrs = {} if summarize is None else {"summarize": summarize}
    return create("Assert", [condition, list(data)], attrs, "Assert")


def Print(
    input_: Any,
    data: Sequence[Any],
    message: str = "",
    first_n: int = -1,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_` again; computing it writes `message` and the `data` to the standard error."""
    with name_scope(name, "Print", [input_, *data]) as scope:
        tensor = as_tensor(input_, name="input")
        tensors = [as_tensor(item, name=f"data_{k}") for k, item in enumerate(data)]
        attrs = {
            "T": tensor.dtype,
            "U": [t.dtype for t in tensors],
            "message": message.encode(),
            "first_n": first_n,
            "summarize": 3 if summarize is None else summarize,
        }
        assert tensor.dtype is not None
        inputs = [("input", tensor, None), *(("data", t, None) for t in tensors)]
        return add_node("Print", inputs, attrs, [(tensor.dtype, tensor.shape)], scope).outputs[0]
