"""StringToNumber, and numbers in texts as TensorFlow reads them.

In: strings. Out: a host step: a number each. Invariant: blanks around a number are no part of it;
floats beyond the dtype become infinite, integers beyond it are errors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ops.host_ops import host_op

Array = np.ndarray[Any, Any]

MANY = 8  # texts, of which to look at all together is faster
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
    """The numbers that texts spell, and the position of the first text that spells none."""
    if len(texts) >= MANY and not dtype.is_integer and _are_plain_floats(texts):
        found = np.fromiter(map(float, texts), np.float64, len(texts))
        with np.errstate(over="ignore"):
            return found.astype(dtype.numpy), None
    values: list[Any] = []
    for i, text in enumerate(texts):
        value = as_number(text, dtype)
        if value is None:
            return np.zeros(len(texts), dtype.numpy), i
        values.append(value)
    if dtype.is_integer or (len(values) == 1 and abs(values[0]) < 1e38):
        return np.array(values, dtype.numpy), None
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(dtype.numpy), None


def as_number(text: bytes, dtype: DType) -> int | float | None:
    """The number that a text is; None if it is none of the dtype."""
    if not dtype.is_integer:
        return _float(text)
    found = _integer(text)
    if found is None:
        return None
    least, most = _limits(dtype)
    return found if least <= found <= most else None


@cache
def _limits(dtype: DType) -> tuple[int, int]:
    found = np.iinfo(dtype.numpy)
    return int(found.min), int(found.max)


def _are_plain_floats(texts: Sequence[bytes]) -> bool:
    joined = b"\0".join(texts)
    return joined.count(b"\0") == len(texts) - 1 and bool(_PLAIN_FLOATS.fullmatch(joined))


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


host_op(
    "string_to_number",
    "StringToNumber(string_tensor: string; out_type: {f32, f64, i32, i64, u32, u64} = f32) ->"
    " output: out_type",
    _to_number,
    infer=lambda c: c.dims(0),
    traits=frozenset({"by_element"}),
)
