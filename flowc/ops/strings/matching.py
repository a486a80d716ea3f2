"""StaticRegexFullMatch: which strings match a pattern as a whole.

In: strings, and a pattern that is known when compiling. Out: a bool each. Invariant: matching takes
time in proportion to the text. TensorFlow's patterns are RE2's; flowc takes those of plain letters,
`.` and `.*`, which is what the graphs of savers ask.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from flowc.errors import UnsupportedError
from flowc.ir.op import define
from flowc.ops.strings.string_values import host_step

_PLAIN = re.compile(r"\^?((?:[^\\.\[\](){}*+?|^$]|\.)*(?:\.\*)?)\$?")


def _matches(input: np.ndarray[Any, Any], *, pattern: str) -> np.ndarray[Any, Any]:
    found = _PLAIN.fullmatch(pattern)
    if found is None:
        raise UnsupportedError(
            f"flowc matches patterns of letters, '.' and '.*' at the end, found {pattern!r}"
        )
    wanted = re.compile(found[1].encode("utf-8", "surrogateescape"))
    rows = [wanted.fullmatch(text) is not None for text in input.reshape(-1).tolist()]
    return np.array(rows, np.bool_).reshape(input.shape)


define(
    "static_regex_full_match",
    "StaticRegexFullMatch(input: string; pattern: string) -> output: bool",
    infer=lambda c: c.dims(0),
    reference=lambda input, *, pattern: _matches(np.asarray(input, object), pattern=pattern),
    lowering=host_step(_matches, "StaticRegexFullMatch", "pattern"),
)
