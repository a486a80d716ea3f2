"""Regular expressions: which strings match as a whole, and strings with matches replaced.

In: strings, patterns of RE2, what matches become. Out: host steps: bools, strings. Invariant:
matching takes time in proportion to the text; patterns mean what they do in RE2, whose code it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.errors import InvalidArgumentError
from flowc.ir.inference import Inference
from flowc.ir.types import Dims
from flowc.ops.host_ops import host_op
from flowc.ops.strings.string_values import strings_of

Array = np.ndarray[Any, Any]
_PIECE = re.compile(rb"\\(?:([0-9])|(\\))|([^\\]+)")


@lru_cache(1 << 7)
def _compiled(pattern: bytes) -> Any:
    """Raises `InvalidArgumentError` for what is no pattern."""
    import re2  # late: few graphs match

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        said = error.args[0] if error.args else ""
        text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
        shown = pattern.decode("utf-8", "replace")
        raise InvalidArgumentError(f"Invalid pattern: {shown}, error: {text}") from None


def _bytes(text: Any) -> bytes:
    if isinstance(text, str):
        return text.encode("utf-8", "surrogateescape")
    return np.asarray(text, object).item()


# -- full matches


def _matches(strings: Any, pattern: Any) -> list[Array]:
    compiled, texts = _compiled(_bytes(pattern)), np.asarray(strings, object)
    rows = [compiled.fullmatch(text) is not None for text in texts.reshape(-1).tolist()]
    return [np.array(rows, np.bool_).reshape(texts.shape)]


def _full_match(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    return _matches(inputs[0], inputs[1])


def _static_full_match(inputs: Sequence[Any], _: Sequence[DType], *, pattern: str) -> list[Array]:
    return _matches(inputs[0], pattern)


# -- replacing


def _pieces(rewrite: bytes) -> tuple[list[bytes | int], bool]:
    """What a match becomes: texts and numbers of groups, as far as they make sense, and whether
    that is all."""
    found: list[bytes | int] = []
    at = 0
    while at < len(rewrite):
        piece = _PIECE.match(rewrite, at)
        if piece is None:
            return found, False
        found.append(int(piece[1]) if piece[1] else b"\\" if piece[2] else piece[3])
        at = piece.end()
    return found, True


def _replacing(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    """What replaces the matches in a text."""
    compiled = _compiled(pattern)
    pieces, is_whole = _pieces(rewrite)
    if max((p for p in pieces if isinstance(p, int)), default=0) > compiled.groups:
        return lambda text: text
    if not everywhere and not is_whole:
        return lambda text: text

    literal = b"".join(p for p in pieces if isinstance(p, bytes))
    is_literal = all(isinstance(p, bytes) for p in pieces)

    def written(match: Any) -> bytes:
        if is_literal:
            return literal
        return b"".join(p if isinstance(p, bytes) else match.group(p) or b"" for p in pieces)

    def once(text: bytes) -> bytes:
        match = compiled.search(text)
        if match is None:
            return text
        return text[: match.start()] + written(match) + text[match.end() :]

    def all_over(text: bytes) -> bytes:
        found: list[bytes] = []
        at = 0
        for match in compiled.finditer(text):
            start, end = match.span()
            if start == end:
                return with_empty_matches(text)
            found += (text[at:start], written(match))
            at = end
        return b"".join((*found, text[at:])) if found else text

    def with_empty_matches(text: bytes) -> bytes:
        """What `finditer` passes over byte by byte, and RE2 character by character."""
        found: list[bytes] = []
        at, last = 0, -1
        while at <= len(text):
            match = compiled.search(text, at)
            if match is None:
                break
            start, end = match.span()
            if start == end == last:  # nothing, right behind the last match
                step = _character(text, at)
                found.append(text[at : at + step])
                at += step
                if start >= len(text):
                    break
                continue
            found += [text[at:start], written(match)]
            at = last = end
        found.append(text[at:])
        return b"".join(found)

    return all_over if everywhere else once


def _character(text: bytes, at: int) -> int:
    """The bytes of the UTF-8 character at a place, 1 where there is none."""
    for size in (1, 2, 3, 4):
        try:
            text[at : at + size].decode()
        except UnicodeDecodeError:
            continue
        return size
    return 1


def _replaced(strings: Any, pattern: Any, rewrite: Any, everywhere: bool) -> list[Array]:
    texts = np.asarray(strings, object)
    replace = _replacing(_bytes(pattern), _bytes(rewrite), everywhere)
    return [strings_of([replace(text) for text in texts.reshape(-1).tolist()], texts.shape)]


def _replace(inputs: Sequence[Any], _: Sequence[DType], *, replace_global: bool) -> list[Array]:
    strings, pattern, rewrite = inputs
    return _replaced(strings, pattern, rewrite, replace_global)


def _static_replace(
    inputs: Sequence[Any], _: Sequence[DType], *, pattern: str, rewrite: str, replace_global: bool
) -> list[Array]:
    return _replaced(inputs[0], pattern, rewrite, replace_global)


# -- records


def _infer(c: Inference) -> Dims:
    for i in range(1, len(c.inputs)):
        c.need_rank(i, 0)
    return c.dims(0)


host_op(
    "regex_full_match",
    "RegexFullMatch(input: string, pattern: string) -> output: bool",
    _full_match,
    infer=_infer,
)
host_op(
    "static_regex_full_match",
    "StaticRegexFullMatch(input: string; pattern: string) -> output: bool",
    _static_full_match,
    infer=_infer,
    reference=lambda input, *, pattern: _matches(input, pattern)[0],
)
host_op(
    "regex_replace",
    "RegexReplace(input: string, pattern: string, rewrite: string; replace_global: bool = True) ->"
    " output: string",
    _replace,
    infer=_infer,
)
host_op(
    "static_regex_replace",
    "StaticRegexReplace(input: string; pattern: string, rewrite: string, replace_global: bool ="
    " True) -> output: string",
    _static_replace,
    infer=_infer,
)
