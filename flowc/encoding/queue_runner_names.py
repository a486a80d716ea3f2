"""The names of nodes in the messages that a collection holds of queue runners.

In: such a message as bytes, and what becomes of a name. Out: the message with other names.
Invariant: all that is no name goes back byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable

from flowc.encoding.wire import BYTES, FileBytes, fields, varint_bytes

QUEUE_RUNNERS = "queue_runners"
_NAMES = (1, 2, 3, 4)  # the fields of a queue, and of operations that fill, close and cancel it


def is_in_scope(message: bytes, prefix: str) -> bool:
    """Whether the queue of a message, its first field, has a name that begins so."""
    for number, kind, _, begin, end in fields(FileBytes(memoryview(message), QUEUE_RUNNERS)):
        if number == 1 and kind == BYTES:
            return message[begin:end].startswith(prefix.encode())
    return False


def renamed(message: bytes, change: Callable[[str], str]) -> bytes:
    """The message with other names. Raises `InvalidModelError` for bytes that are no message."""
    found = bytearray()
    for number, kind, start, begin, end in fields(FileBytes(memoryview(message), QUEUE_RUNNERS)):
        if kind != BYTES or number not in _NAMES or begin == end:
            found += message[start:end]
            continue
        name = change(message[begin:end].decode("utf-8", "replace")).encode()
        found += varint_bytes(number << 3 | BYTES) + varint_bytes(len(name)) + name
    return bytes(found)
