"""Runs one program of `row_snippets_*.py`, in TensorFlow or flowc alike, and says what it saw.

In: the module, a program and an empty folder. Out: a list in the form that JSON keeps. A program is
text over `tf`, `np`, `os` and `folder` (which ends with "/"); it appends to `log` what it saw.
`raises` says of a call that it raised the error named, or else what it did.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from snippets.api_snippets import Snippet


def seen_by(tf: Any, snippet: Snippet, folder: str) -> list[Any]:
    log: list[Any] = []
    program = {"tf": tf, "np": np, "os": os, "log": log, "folder": folder, "raises": raises}
    with tf.Graph().as_default():
        exec(compile(snippet.code, snippet.name, "exec"), program)
    return [plain(item, folder) for item in log]


def raises(kind: str, words: str, function: Callable[[], Any], op: str | None = None) -> str:
    """`kind: words` if the call raises an error that `except kind` catches, whose message has the
    words and, if `op` is given, whose node has that name."""
    try:
        result = function()
    except Exception as error:
        names = [c.__name__ for c in type(error).__mro__ if c is not object]
        node = getattr(getattr(error, "node_def", None), "name", None)
        if kind in names and words in str(error) and op in (None, node):
            return f"{kind}: {words}" + (f" at {op}" if op else "")
        return f"{names} at {node}: {error}"
    return f"no error: {result!r}"


def plain(item: Any, folder: str) -> Any:
    """Lists, numbers and texts; the folder is D."""
    if isinstance(item, Mapping):
        return [[str(key), plain(value, folder)] for key, value in item.items()]
    if isinstance(item, bytes):
        return item.decode("latin-1").replace(folder, "D/")
    if isinstance(item, set):
        return sorted(plain(x, folder) for x in item)
    if hasattr(item, "components"):
        item = item.components()
    if isinstance(item, list | tuple):
        return [plain(value, folder) for value in item]
    if isinstance(item, np.ndarray | np.generic):
        return plain(item.tolist(), folder)
    if item is None or isinstance(item, bool | int | float):
        return item
    return str(item).replace(folder, "D/")
