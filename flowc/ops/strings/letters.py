"""Strings letter by letter: lengths, cases, what is cut out of them, base64.

In: strings. Out: host steps: strings and lengths in the same shape. Invariant: bytes are bytes, and
characters are UTF-8's, whatever a string holds.
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.strings.string_values import strings_of

Array = np.ndarray[Any, Any]
_UNIT = 'unit: {"BYTE", "UTF8_CHAR"} = "BYTE"'
_FOLLOWS = re.compile(rb"[\x80-\xbf]")  # bytes of UTF-8 that begin no character
_BASE64 = re.compile(rb"[A-Za-z0-9_-]*(={0,2})")
_OF_URLS = bytes.maketrans(b"+/", b"-_")  # the alphabet of URLs, from base64's and back
_FROM_URLS = bytes.maketrans(b"-_", b"+/")


def _each(function: Callable[[bytes], bytes], strings: Any) -> list[Array]:
    texts = np.asarray(strings, object)
    return [strings_of([function(text) for text in texts.reshape(-1).tolist()], texts.shape)]


# -- lengths


def _characters(text: bytes) -> int:
    return len(text) - len(_FOLLOWS.findall(text))


def _length(inputs: Sequence[Any], _: Sequence[DType], *, unit: str) -> list[Array]:
    texts = np.asarray(inputs[0], object)
    count = _characters if unit == "UTF8_CHAR" else len
    flat = texts.reshape(-1).tolist()
    return [np.fromiter(map(count, flat), np.int32, len(flat)).reshape(texts.shape)]


host_op(
    "string_length",
    f"StringLength(input: string; {_UNIT}) -> output: i32",
    _length,
    infer=lambda c: c.dims(0),
)


# -- cases and blanks


def _with_case(change_bytes: Callable[[bytes], bytes], change_text: Callable[[str], str]) -> Any:
    def change(text: bytes) -> bytes:
        return change_text(text.decode("utf-8", "replace")).encode()

    def function(inputs: Sequence[Any], _: Sequence[DType], *, encoding: str) -> list[Array]:
        if encoding not in ("", "utf-8"):
            raise InvalidArgumentError(
                f"only utf-8 or '' (no encoding) is supported, received {encoding}"
            )
        return _each(change if encoding else change_bytes, inputs[0])

    return function


for _word, _function in (
    ("Lower", _with_case(bytes.lower, str.lower)),
    ("Upper", _with_case(bytes.upper, str.upper)),
):
    host_op(
        f"string_{_word.lower()}",
        f'String{_word}(input: string; encoding: string = "") -> output: string',
        _function,
        infer=lambda c: c.dims(0),
    )

host_op(
    "string_strip",
    "StringStrip(input: string) -> output: string",
    lambda inputs, _: _each(lambda text: text.strip(b" \t\n\v\f\r"), inputs[0]),
    infer=lambda c: c.dims(0),
)


# -- parts


def _starts(text: bytes) -> list[int]:
    """Where each character of UTF-8 begins, and where the last one ends."""
    return [i for i, byte in enumerate(text) if byte & 0xC0 != 0x80] + [len(text)]


def _part(text: bytes, start: int, length: int, index: int) -> bytes:
    if not -len(text) <= start <= len(text):
        shown = text.decode("utf-8", "replace")
        raise InvalidArgumentError(
            f"pos {start} out of range for string b'{shown}' at index {index}"
        )
    begin = start + len(text) if start < 0 else start
    return text[begin:] if length < 0 else text[begin : begin + length]


def _part_in_characters(text: bytes, start: int, length: int, index: int) -> bytes:
    starts = _starts(text)
    count = len(starts) - 1
    if not -count <= start <= count:
        raise InvalidArgumentError(f"pos {start} out of range for string at index {index}")
    begin = start + count if start < 0 else start
    end = count if length < 0 else min(begin + length, count)
    return text[starts[begin] : starts[end]]


def _substr(inputs: Sequence[Any], _: Sequence[DType], *, unit: str) -> list[Array]:
    texts, starts, lengths = np.broadcast_arrays(*(np.asarray(x) for x in inputs))
    rows = zip(
        texts.reshape(-1).tolist(), starts.reshape(-1).tolist(), lengths.reshape(-1).tolist()
    )
    part = _part if unit == "BYTE" else _part_in_characters
    return [strings_of([part(*row, i) for i, row in enumerate(rows)], texts.shape)]


def _infer_substr(c: Inference) -> Dims:
    fault = f"pos and len shapes must match: {list(c.dims(1))} vs. {list(c.dims(2))}"
    c.match_dims(c.dims(1), c.dims(2), fault)
    return c.broadcast(0, 1)


host_op(
    "substr",
    f"Substr(input: string, pos: T, len: T; T: {{i32, i64}}, {_UNIT}) -> output: string",
    _substr,
    infer=_infer_substr,
)


# -- base64


def _encode(inputs: Sequence[Any], _: Sequence[DType], *, pad: bool) -> list[Array]:
    def encoded(text: bytes) -> bytes:
        found = binascii.b2a_base64(text, newline=False).translate(_OF_URLS)
        return found if pad else found.rstrip(b"=")

    return _each(encoded, inputs[0])


def _decoded(text: bytes) -> bytes:
    found = _BASE64.fullmatch(text)
    if found is None or (found[1] and len(text) % 4):
        raise InvalidArgumentError("Invalid character found in base64.")
    bare = text.rstrip(b"=")
    if len(bare) % 4 == 1:
        raise InvalidArgumentError("Base64 string length cannot be 1 modulo 4.")
    return binascii.a2b_base64(bare.translate(_FROM_URLS) + b"=" * (-len(bare) % 4))


host_op(
    "encode_base64",
    "EncodeBase64(input: string; pad: bool = False) -> output: string",
    _encode,
    infer=lambda c: c.dims(0),
)
host_op(
    "decode_base64",
    "DecodeBase64(input: string) -> output: string",
    lambda inputs, _: _each(_decoded, inputs[0]),
    infer=lambda c: c.dims(0),
)
