"""StringToNumber, and numbers in texts as TensorFlow reads them.

In: strings. Out: a host step: a number each. Invariant: blanks around a number are no part of it;
floats beyond the dtype become infinite, integers beyond it are errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.lowering import Host
from flowc.ir.op import define

Array = np.ndarray[Any, Any]

_BLANK = b" \t\n\v\f\r"
_INTEGER = re.compile(rb"[+-]?[0-9]+")
_PLAIN_FLOATS = re.compile(rb"(?:-?[0-9]+\.?[0-9]*\0)*-?[0-9]+\.?[0-9]*")
_FLOAT = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    rb"|(?P<word>inf|infinity|nan(?:\([a-z0-9_]*\))?)"
    rb"|(?P<hex>0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?))",
    re.IGNORECASE,
)


def as_numbers(texts: Sequence[bytes], dtype: DType) -> tuple[Array, int | None]:
    """The numbers that texts are, and the place of the first that is none."""
    joined = b"\0".join(texts)
    is_plain = not dtype.is_integer and joined.count(b"\0") == len(texts) - 1
    if is_plain and _PLAIN_FLOATS.fullmatch(joined):
        found = np.fromiter(map(float, texts), np.float64, len(texts))
        with np.errstate(over="ignore"):
            return found.astype(dtype.numpy), None
    read = _integer if dtype.is_integer else _float
    found = np.zeros(len(texts), dtype.numpy)
    values: list[Any] = []
    limits = np.iinfo(dtype.numpy) if dtype.is_integer else None
    for i, text in enumerate(texts):
        value = read(text)
        if value is None or (limits is not None and not limits.min <= value <= limits.max):
            return found, i
        values.append(value)
    with np.errstate(over="ignore"):
        return np.array(values, dtype.numpy if dtype.is_integer else np.float64).astype(
            dtype.numpy
        ), None


def _integer(text: bytes) -> int | None:
    if text.isdigit():
        return int(text) if len(text) < 40 else None
    trimmed = text.strip(_BLANK)
    if len(trimmed) < 40 and _INTEGER.fullmatch(trimmed):
        return int(trimmed)
    return None


def _float(text: bytes) -> float | None:
    trimmed = text.strip(_BLANK)
    found = _FLOAT.fullmatch(trimmed)
    if found is None:
        return None
    if found["hex"]:
        return float.fromhex(trimmed.decode())
    if found["word"] and b"(" in trimmed:
        return float("nan")
    return float(trimmed)


def _to_number(inputs: Sequence[Any], types: Sequence[DType]) -> list[Array]:
    strings = np.asarray(inputs[0], object)
    texts = strings.reshape(-1).tolist()
    found, wrong = as_numbers(texts, types[0])
    if wrong is not None:
        shown = texts[wrong].decode("utf-8", "surrogateescape")
        raise InvalidArgumentError(f"StringToNumberOp could not correctly convert string: {shown}")
    return [found.reshape(strings.shape)]


define(
    "string_to_number",
    "StringToNumber(string_tensor: string; out_type: {f32, f64, i32, i64, u32, u64} = f32) ->"
    " output: out_type",
    infer=lambda c: c.dims(0),
    lowering=Host(_to_number, "StringToNumber", only_reads=True),
    traits=frozenset({"by_element"}),
)
