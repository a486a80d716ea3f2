"""Numbers, arrays and sizes as text, and back.

In: attrs and operands of nodes. Out: text that gives the same bits when it is read, or None where
there is none that is short.

An operand that is a small constant, or a size, is written where it is read: `add(%i, 1)`,
`reshape(%x, [batch, -1])`. Whole numbers are i32 and decimals f32; others say so: `[1, 2]:i64`.
A text is its bytes.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.dims import Dim, symbols_of
from flowc.ir.text.dim_parsing import parse_dim
from flowc.ir.types import TensorType

INLINE_LIMIT = 16  # elements of a constant that stands in the text
OPERAND_LIMIT = 8  # elements of one that stands where it is read
_QUOTED = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")
_SUFFIX = re.compile(r"(?P<values>.*):(?P<dtype>[a-z]\w*)", re.DOTALL)
_PRINTABLE = frozenset(b"\n\t") | frozenset(range(32, 127))
_NOT_SIZES = frozenset({"True", "False", "None", "nan", "inf"})


# -- attrs


def like(value: Any, types: Sequence[TensorType]) -> str | None:
    """An array of the type of the node's output as text that leaves that type out."""
    if not isinstance(value, np.ndarray) or len(types) != 1 or not types[0].is_static:
        return None
    array = cast(np.ndarray, value)
    text = _values(array)
    same = text and dtypes.as_dtype(array.dtype) is types[0].dtype
    return f"dense<{text}>" if same and array.shape == types[0].static_dims else None


def inline(array: np.ndarray) -> str | None:
    """A small constant as text, when reading it back gives the same bits."""
    values = _values(array)
    return values and f"dense<{values}, {dtypes.as_dtype(array.dtype)}, {array.shape}>"


def _values(array: np.ndarray) -> str | None:
    if array.size > INLINE_LIMIT or array.dtype.kind not in "biufc":
        return None
    if array.dtype.kind == "c" and not np.isfinite(array).all():
        return None
    values = str(array.tolist())
    if np.array(eval_literal(values), array.dtype).tobytes() != array.tobytes():
        return None
    return values


def read_dense(text: str, types: Sequence[TensorType]) -> np.ndarray:
    """The array of what stands between `dense<` and `>`; without a type it has the output's."""
    values, *type_ = split_outside(text)
    if not type_ and not types:
        raise ValueError(f"dense<{text}> has no type")
    dtype = dtypes.as_dtype(type_[0]) if type_ else types[0].dtype
    shape = ast.literal_eval(type_[1]) if type_ else types[0].static_dims
    return np.array(eval_literal(values), dtype.numpy).reshape(shape)


def eval_literal(text: str) -> Any:
    """A Python literal, with `nan` and `inf` allowed."""
    if text[:1] in ("'", '"') or text[:2] in ("b'", 'b"'):
        return ast.literal_eval(text)
    spaced = re.sub(r"\bnan\b", "1e999j", text)
    value = ast.literal_eval(re.sub(r"\binf\b", "1e999", spaced))
    return _with_nan(value)


def _with_nan(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_nan(v) for v in cast(list[Any], value)]
    is_marker = isinstance(value, complex) and value.real == 0 and value.imag == float("inf")
    return float("nan") if is_marker else value


# -- operands


def constant_operand(array: np.ndarray) -> str | None:
    """A number, a few whole ones or the bytes of a text, as written where they are read."""
    if array.dtype == np.uint8 and array.ndim == 1 and array.size:
        text = array.tobytes()
        if all(b in _PRINTABLE for b in text):
            return repr(text.decode())
    if array.size > OPERAND_LIMIT or array.ndim > 2 or inline(array) is None:
        return None
    if array.dtype.kind not in ("biu" if array.ndim else "biuf"):
        return None
    if array.size == 0 and array.shape != (0,):
        return None
    dtype = dtypes.as_dtype(array.dtype)
    text = _nested(array)
    text = text if dtype is _usual(text) else f"{text}:{dtype}"
    found = read_constant(text)
    return text if found is not None and found.tobytes() == array.tobytes() else None


def _nested(array: np.ndarray) -> str:
    """Elements with as few digits as tell them apart."""
    if array.ndim:
        return f"[{', '.join(_nested(a) for a in array)}]"
    text = str(array[()])
    if array.dtype.kind == "f" and text.lstrip("-").isdigit():
        text += ".0"
    return text


def _usual(text: str) -> DType:
    """The dtype of an operand that does not say it."""
    if "True" in text or "False" in text:
        return dtypes.as_dtype("bool")
    decimal = any(c in text for c in (".", "e", "n"))
    return dtypes.f32 if decimal else dtypes.i32


def read_constant(text: str) -> np.ndarray | None:
    """The constant that is written as an operand; None where it is a size."""
    if text[:1] in ("'", '"'):
        return np.frombuffer(ast.literal_eval(text).encode(), np.uint8)
    values, dtype = parted(text)
    try:
        found = eval_literal(values)
    except (ValueError, SyntaxError):
        return None
    return np.array(found, (dtype or _usual(values)).numpy)


def sizes_operand(dims: Sequence[Dim], dtype: DType, is_vector: bool) -> str | None:
    """Sizes as they are written where they are read."""
    names = {size.name for size in symbols_of(*dims)}
    if len(dims) > OPERAND_LIMIT or names & _NOT_SIZES or not names:
        return None
    text = ", ".join(map(str, dims))
    text = f"[{text}]" if is_vector else text
    return text if dtype is dtypes.i32 else f"{text}:{dtype}"


def read_sizes(text: str) -> tuple[tuple[Dim, ...], DType, bool]:
    """The sizes that are written as an operand, their dtype, and whether they are a vector."""
    values, dtype = parted(text)
    is_vector = values.startswith("[")
    items = split_outside(values[1:-1]) if is_vector else [values]
    return tuple(parse_dim(item) for item in items), dtype or dtypes.i32, is_vector


def parted(text: str) -> tuple[str, DType | None]:
    """A literal, and the dtype that it says behind it."""
    match = _SUFFIX.fullmatch(text)
    return (text, None) if match is None else (match["values"], dtypes.as_dtype(match["dtype"]))


# -- text in parts


def masked(text: str) -> str:
    """The text with quoted strings blanked out, every other character where it was."""
    return _QUOTED.sub(lambda m: "_" * len(m[0]), text)


def split_outside(text: str, separator: str = ",") -> list[str]:
    """Splits outside of brackets and quotes."""
    parts: list[str] = []
    depth = start = 0
    for i, ch in enumerate(masked(text)):
        if ch in "[(<":
            depth += 1
        elif ch in "])>":
            depth -= 1
        elif ch == separator and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    last = text[start:].strip()
    return [*parts, last] if last or separator != "," else parts
