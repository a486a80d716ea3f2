"""The names of nodes in messages that collections hold: contexts of loops and branches, queue
runners.

In: such a message as bytes, and what becomes of a name. Out: the message with other names.
Invariant: all that is no name goes back byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowc.encoding.wire import BYTES, FileBytes, fields, varint_bytes
from flowc.errors import InvalidModelError

MAX_DEPTH = 100  # of contexts in one another
NAME = None  # a field that is the name of a node or tensor; the others have fields of their own

# Number of a field -> what it holds, of the fields with names.
_VALUES: dict[int, Any] = {1: NAME, 2: {1: NAME, 2: NAME}}
_NESTED: dict[int, Any] = {}
_COND: dict[int, Any] = {1: NAME, 2: NAME, 3: NAME, 5: _VALUES, 6: _NESTED}
_WHILE: dict[int, Any] = {
    **dict.fromkeys((1, 5, 6, 7, 8, 10, 11), NAME),
    9: _VALUES,
    12: _NESTED,
}
_NESTED |= {1: _COND, 2: _WHILE}
WHILE_CONTEXT = "while_context"
QUEUE_RUNNERS = "queue_runners"
MESSAGES: Mapping[str, dict[int, Any]] = {
    "cond_context": _COND,
    WHILE_CONTEXT: _WHILE,
    QUEUE_RUNNERS: dict.fromkeys((1, 2, 3, 4), NAME),
}


def first_name(message: bytes) -> str:
    """What a message is called: its first field."""
    for number, kind, _, begin, end in fields(FileBytes(memoryview(message), "context")):
        if number == 1 and kind == BYTES:
            return message[begin:end].decode("utf-8", "replace")
    return ""


def renamed(collection: str, message: bytes, change: Callable[[str], str]) -> bytes:
    """A message of a collection in `MESSAGES`, with other names. Raises `InvalidModelError` for
    bytes that are no message."""
    return _renamed(message, MESSAGES[collection], change, 0)


def _renamed(
    message: bytes, inside: Mapping[int, Any], change: Callable[[str], str], depth: int
) -> bytes:
    if depth > MAX_DEPTH:
        raise InvalidModelError(f"contexts are nested more than {MAX_DEPTH} deep")
    found = bytearray()
    for number, kind, start, begin, end in fields(FileBytes(memoryview(message), "context")):
        content = message[begin:end]
        if kind != BYTES or number not in inside:
            found += message[start:end]
            continue
        if inside[number] is NAME:
            content = change(content.decode("utf-8", "replace")).encode() if content else content
        else:
            content = _renamed(content, inside[number], change, depth + 1)
        found += varint_bytes(number << 3 | BYTES) + varint_bytes(len(content)) + content
    return bytes(found)
