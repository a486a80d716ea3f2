"""Values of attrs as people write them: `float32`, `3`, `true`, `SAME`, `[2,3]`.

In: a node, an attr, a text. Out: a value as graphs have them. Invariant: where flowc has a record
of the op, the value is of the kind that it says.
"""

from __future__ import annotations

import json
from typing import Any

from flowc.dtypes import as_dtype
from flowc.errors import UnknownNameError, UsageError, did_you_mean
from flowc.graph.encode import as_kind
from flowc.graph.op_info import signature_of

_KIND_OF_FIELD = {"s": "string", "i": "int", "f": "float", "b": "bool"}
_FIELDS = {**_KIND_OF_FIELD, "type": "type", "shape": "shape"}


def attr_of_text(node: Any, attr: str, text: str) -> Any:
    """The value of `attr` that a text means for a NodeDef. Raises `UnknownNameError` for an attr
    that the op does not have, `UsageError` for a text that is no such value."""
    signature = signature_of(node.op)
    where = f"--set-attr {node.name}:{attr}={text}"
    if signature is not None and attr not in signature.attrs and not attr.startswith("_"):
        known = ", ".join(signature.attrs) or "none"
        raise UnknownNameError(
            f"{where}: {node.op} has no attr {attr!r}",
            hint=did_you_mean(attr, signature.attrs) or f"it has {known}",
        )
    if signature is not None and attr in signature.attrs:
        kind = signature.attrs[attr].kind
    elif attr in node.attr:
        kind = _FIELDS.get(node.attr[attr].WhichOneof("value") or "", "")
    else:
        kind = ""
    try:
        return _value(kind, text, where)
    except (ValueError, TypeError, json.JSONDecodeError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{where}: {text!r} is no {kind}") from None


def _value(kind: str, text: str, where: str) -> Any:
    match kind:
        case "type":
            return as_dtype(text)
        case "string":
            return text
        case "int":
            return int(text)
        case "float":
            return float(text)
        case "bool":
            return ("false", "true").index(text.lower()) == 1
        case "list(type)":
            return [as_dtype(part.strip()) for part in text.strip("[]").split(",") if part.strip()]
        case "tensor" | "func" | "list(tensor)" | "list(func)":
            raise UsageError(f"{where}: a {kind} cannot be written as text")
        case "":
            return _guessed(text)
        case _:
            return as_kind(json.loads(text.replace("?", "null")), kind, where)


def _guessed(text: str) -> Any:
    """The value of an attr's text for an op that flowc has no record of: JSON, a dtype, or else the
    text itself."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    try:
        return as_dtype(text)
    except TypeError:
        return text
