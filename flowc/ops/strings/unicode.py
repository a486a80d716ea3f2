"""Strings as code points: UnicodeDecode, UnicodeEncode, UnicodeTranscode, UnicodeScript.

In: strings in an encoding, or code points. Out: host steps. Invariant: what is malformed is
replaced, left out or refused where and as often as TensorFlow does: once for each longest part that
could have begun a character.
"""

from __future__ import annotations

import codecs
import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.strings.string_values import strings_of

Array = np.ndarray[Any, Any]
_HIGHEST = 0x10FFFF
_LAST_CONTROL = 0x1F
_OUT = {"UTF-8": "utf-8", "UTF-16-BE": "utf-16-be", "UTF-32-BE": "utf-32-be"}
# Codecs of Python that are no character sets.
_NO_CHARSETS = ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs")
_ERRORS = 'errors: {"strict", "replace", "ignore"} = "replace", replacement_char: int = 65533'
_DECODING = (
    f"input_encoding: string, {_ERRORS}, replace_control_characters: bool = False,"
    " Tsplits: {i32, i64} = i64"
)
_SETTINGS = ("input_encoding", "errors", "replacement_char", "replace_control_characters")


def _check_replacement(point: int) -> None:
    if not _is_character(point):
        raise InvalidArgumentError("replacement_char out of unicode codepoint range")


def _with_order(codec: str, data: bytes) -> tuple[str, int]:
    """The codec for the order of bytes that the data begins with, where it may have either, and how
    many bytes say so; what says nothing has the most significant byte first."""
    if codec not in ("utf-16", "utf-32"):
        return codec, 0
    for order in ("le", "be"):
        mark = "\ufeff".encode(f"{codec}-{order}")
        if data.startswith(mark):
            return f"{codec}-{order}", len(mark)
    return f"{codec}-be", 0


class Decoder:
    """How strings of an encoding become code points."""

    def __init__(
        self,
        input_encoding: str,
        errors: str,
        replacement_char: int,
        replace_control_characters: bool,
    ) -> None:
        _check_replacement(replacement_char)
        try:
            bytes(4).decode(input_encoding)  # else no codec of text
            self._codec = codecs.lookup(input_encoding).name
            if self._codec in _NO_CHARSETS:
                raise LookupError
        except (LookupError, ValueError):
            raise InvalidArgumentError(
                f"Could not create converter for input encoding: {input_encoding}"
            ) from None
        self._errors = errors
        self._replacement = replacement_char
        self._controls = replace_control_characters

    def code_points(self, data: bytes) -> list[int]:
        codec, marked = _with_order(self._codec, data)
        if not self._controls:
            try:
                return list(map(ord, data[marked:].decode(codec)))
            except UnicodeDecodeError:
                pass  # what is wrong with it is replaced, left out or told
        return [point for point, _ in self.with_starts(data)]

    def with_starts(self, data: bytes) -> Iterator[tuple[int, int]]:
        """Each code point with the byte at which it begins; a mark of the order of bytes, where it
        is one, belongs to the first."""
        codec, marked = _with_order(self._codec, data)
        at = marked
        while at < len(data):
            try:
                text, bad = data[at:].decode(codec), 0
            except UnicodeDecodeError as error:
                text = data[at : at + error.start].decode(codec)
                bad = error.end - error.start
            for letter in text:
                point, start = ord(letter), 0 if at == marked else at
                if not (self._controls and point <= _LAST_CONTROL):
                    yield point, start
                elif self._errors != "ignore":
                    yield self._replacement, start
                at += len(letter.encode(codec))
            if bad:
                if self._errors == "strict":
                    raise InvalidArgumentError("Invalid formatting on input string")
                if self._errors == "replace":
                    yield self._replacement, 0 if at == marked else at
                at += bad
            elif not text:
                return  # bytes that only switch between sets of characters


def _decoded(
    inputs: Sequence[Any], types: Sequence[DType], with_starts: bool, **settings: Any
) -> list[Array]:
    decoder = Decoder(**settings)
    points: list[int] = []
    starts: list[int] = []
    ends = [0]
    for text in np.asarray(inputs[0], object).reshape(-1).tolist():
        if with_starts:
            for point, start in decoder.with_starts(text):
                points.append(point)
                starts.append(start)
        else:
            points += decoder.code_points(text)
        ends.append(len(points))
    found = [np.array(ends, types[0].numpy), np.array(points, np.int32)]
    return [*found, np.array(starts, np.int64)] if with_starts else found


def _decode(inputs: Sequence[Any], types: Sequence[DType], **settings: Any) -> list[Array]:
    return _decoded(inputs, types, False, **settings)


def _decode_with_starts(
    inputs: Sequence[Any], types: Sequence[DType], **settings: Any
) -> list[Array]:
    return _decoded(inputs, types, True, **settings)


def _infer_decode(c: Inference) -> list[Dims]:
    count = c.fresh("characters")
    size: Any = 1
    for d in c.dims(0):
        size = size * d
    return [(size + 1,), (count,), (count,)][: len(c.op.signature.outputs)]


host_op(
    "unicode_decode",
    f"UnicodeDecode(input: string; {_DECODING}) -> row_splits: Tsplits, char_values: i32",
    _decode,
    infer=_infer_decode,
    settings=_SETTINGS,
)
host_op(
    "unicode_decode_with_offsets",
    f"UnicodeDecodeWithOffsets(input: string; {_DECODING}) -> row_splits: Tsplits, char_values:"
    " i32, char_to_byte_starts: i64",
    _decode_with_starts,
    infer=_infer_decode,
    settings=_SETTINGS,
)


# -- written again


def _writer(encoding: str) -> Callable[[Sequence[int]], bytes]:
    return lambda points: "".join(map(chr, points)).encode(_OUT[encoding])


def _is_character(point: int) -> bool:
    return 0 <= point <= _HIGHEST and not 0xD800 <= point <= 0xDFFF


def _encode(
    inputs: Sequence[Any],
    _: Sequence[DType],
    *,
    errors: str,
    output_encoding: str,
    replacement_char: int,
) -> list[Array]:
    _check_replacement(replacement_char)
    points, splits = (np.asarray(x).tolist() for x in inputs)
    if not splits or splits[0]:
        raise InvalidArgumentError("First value in input_splits must be zero.")
    if splits[-1] != len(points):
        raise InvalidArgumentError(
            "Last value in input_splits must be equal to length of input_tensor."
        )
    if any(b < a for a, b in itertools.pairwise(splits)):
        raise InvalidArgumentError("Values in input_splits must be equal or in ascending order.")
    write, rows = _writer(output_encoding), []
    for start, end in itertools.pairwise(splits):
        row = points[start:end]
        if not all(map(_is_character, row)):
            if errors == "strict":
                raise InvalidArgumentError(
                    "Code point is out of range for Unicode, or is a surrogate."
                )
            if errors == "ignore":
                row = [p for p in row if _is_character(p)]
            else:
                row = [p if _is_character(p) else replacement_char for p in row]
        rows.append(write(row))
    return [strings_of(rows, (len(rows),))]


def _infer_encode(c: Inference) -> Dims:
    for i in (0, 1):
        c.need_rank(i, 1)
    return (c.dims(1)[0] - 1,)


host_op(
    "unicode_encode",
    "UnicodeEncode(input_values: i32, input_splits: Tsplits; output_encoding: {"
    f'"UTF-8", "UTF-16-BE", "UTF-32-BE"}}, {_ERRORS}, Tsplits: {{i32, i64}} = i64) -> output:'
    " string",
    _encode,
    infer=_infer_encode,
)


def _transcode(
    inputs: Sequence[Any], _: Sequence[DType], *, output_encoding: str, **settings: Any
) -> list[Array]:
    decoder, write = Decoder(**settings), _writer(output_encoding)
    texts = np.asarray(inputs[0], object)
    rows = [write(decoder.code_points(text)) for text in texts.reshape(-1).tolist()]
    return [strings_of(rows, texts.shape)]


host_op(
    "unicode_transcode",
    'UnicodeTranscode(input: string; input_encoding: string, output_encoding: {"UTF-8",'
    f' "UTF-16-BE", "UTF-32-BE"}}, {_ERRORS}, replace_control_characters: bool = False) -> output:'
    " string",
    _transcode,
    infer=lambda c: c.dims(0),
    settings=("output_encoding", *_SETTINGS),
)


# -- scripts


@cache
def _scripts() -> tuple[Array, Array]:
    """Where each run of code points of one script begins, and the script's number in ICU."""
    text = files("flowc.ops.strings").joinpath("unicode_scripts.txt").read_text()
    rows = [line.split() for line in text.splitlines()]
    starts = np.array([int(start, 16) for start, _ in rows])
    return starts, np.array([int(script) for _, script in rows], np.int32)


def _script(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    points = np.asarray(inputs[0])
    starts, scripts = _scripts()
    found = scripts[np.searchsorted(starts, points, "right") - 1]
    outside = (points < 0) | (points > _HIGHEST)
    return [np.where(outside, np.int32(-1), found).astype(np.int32)]


host_op(
    "unicode_script",
    "UnicodeScript(input: i32) -> output: i32",
    _script,
    infer=lambda c: c.dims(0),
)
