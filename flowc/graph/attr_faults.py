"""Whether the value of an attr is what the signature of its op asks for.

In: what the signature says of an attr, a plain value. Out: what is wrong with it, in words, or
None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.graph.attrs import AttrPlaceholder, FunctionRef
from flowc.ir.signature import REQUIRED, AttrDef

_KINDS: dict[str, Callable[[Any], bool]] = {
    "int": lambda v: isinstance(v, int | np.integer) and not isinstance(v, bool),
    "float": lambda v: isinstance(v, float | np.floating),
    "bool": lambda v: isinstance(v, bool),
    "string": lambda v: isinstance(v, bytes | str),
    "type": lambda v: isinstance(v, DType),
    "shape": lambda v: v is None or isinstance(v, tuple),
    "tensor": lambda v: isinstance(v, np.ndarray | np.generic),
    "func": lambda v: isinstance(v, FunctionRef),
}


def attr_fault(definition: AttrDef, value: Any) -> str | None:
    """What is wrong with the value of an attr; None if nothing is. A value that the call of the
    enclosing function gives (`AttrPlaceholder`) counts as right."""
    kind, least = definition.kind, definition.minimum
    if value is REQUIRED:
        return f"attr {definition.name!r} is missing, expected a value of kind {kind}"
    if value is definition.default or isinstance(value, AttrPlaceholder):
        return None
    if kind[:5] != "list(":
        fault = _value_fault(definition, kind, value)
        if fault is None and least is not None and value < least:
            fault = _expected(definition, value, f"{least} or more")
        return fault
    if not isinstance(value, list | tuple):
        return _expected(definition, value, f"a list of values of kind {kind[5:-1]}")
    faults = (_value_fault(definition, kind[5:-1], one) for one in value)
    fault = next((f for f in faults if f is not None), None)
    if fault is None and least is not None and len(value) < least:
        fault = _expected(definition, list(value), f"{least} values or more")
    return fault


def _value_fault(definition: AttrDef, kind: str, value: Any) -> str | None:
    fits, allowed = _KINDS.get(kind), definition.allowed
    if fits is not None and not fits(value):
        return _expected(definition, value, f"a value of kind {kind}")
    if allowed is None or value in allowed:
        return None
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if value in allowed or (isinstance(value, DType) and (value.is_quantized or value.is_narrow)):
        return None  # TensorFlow takes such dtypes for more ops than have kernels here
    return _expected(definition, value, f"one of {', '.join(f'{a}' for a in allowed)}")


def _expected(definition: AttrDef, found: Any, expected: str) -> str:
    shown = found.short if isinstance(found, DType) else repr(found)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return f"attr {definition.name!r} is {shown}, expected {expected}"
