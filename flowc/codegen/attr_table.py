"""Attrs as the structs of `flowc/op.h`, constants of an LLVM module.

In: attrs. Out: the address of an array of `flowc_op_attr`. Invariant: the fields are those of the
header.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llvmlite import ir

from flowc_runtime.native.writer import (
    I32,
    I64,
    NULL,
    PTR,
    as_pointer,
    data_constant,
    text_constant,
)

F64 = ir.DoubleType()
ATTR = ir.LiteralStructType([PTR, I32, I32, I64, F64, PTR, PTR, PTR])


def attr_table(module: ir.Module, attrs: Mapping[str, Any]) -> Any:
    """The address of the array; NULL where there are no attrs."""
    if not attrs:
        return NULL
    rows = [ir.Constant(ATTR, _attr(module, name, value)) for name, value in attrs.items()]
    return _array(module, ATTR, rows)


def _attr(module: ir.Module, name: str, value: Any) -> list[Any]:
    whole, number, text = 0, 0.0, NULL
    ints = floats = NULL
    count = 0
    match value:
        case tuple() | list():
            count = len(value)
            kind = "F" if any(isinstance(v, float) for v in value) else "I"
            element = F64 if kind == "F" else I64
            found = _array(module, element, [ir.Constant(element, v) for v in value])
            ints, floats = (NULL, found) if kind == "F" else (found, NULL)
        case float():
            kind, number = "f", value
        case str():
            kind, text = "s", text_constant(module, value)
        case _:
            kind, whole = "i", int(value)
    first = [text_constant(module, name), I32(ord(kind)), I32(count), I64(whole), F64(number)]
    return [*first, text, ints, floats]


def _array(module: ir.Module, kind: ir.Type, rows: Sequence[Any]) -> Any:
    value = ir.Constant(ir.ArrayType(kind, len(rows)), list(rows))
    return as_pointer(data_constant(module, value, "attrs"))
