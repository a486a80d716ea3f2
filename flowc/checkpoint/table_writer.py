"""Sorted tables (the format of LevelDB), written.

In: (key, value) pairs in the order of their keys. Out: the bytes of the file, piece by piece.
Invariant: what is written, `table.read_table` gives back; blocks are not compressed.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from flowc.checkpoint.table import FOOTER, MAGIC, masked_crc
from flowc.encoding.wire import varint_bytes

BLOCK = 1 << 18  # bytes of entries after which a block ends
RESTART = 16  # entries between two that are written with their whole keys
_PLAIN = b"\x00"  # the compression type


class _Block:
    """Entries of one block; of a key only what the one before it does not begin with."""

    def __init__(self, interval: int = RESTART) -> None:
        self.last = b""
        self.content = bytearray()
        self._interval = interval
        self._restarts: list[int] = []
        self._count = 0

    def add(self, key: bytes, value: bytes) -> None:
        shared = 0
        if self._count % self._interval:
            limit = min(len(key), len(self.last))
            while shared < limit and key[shared] == self.last[shared]:
                shared += 1
        else:
            self._restarts.append(len(self.content))
        for number in (shared, len(key) - shared, len(value)):
            self.content += varint_bytes(number)
        self.content += key[shared:] + value
        self.last = key
        self._count += 1

    def finished(self) -> bytes:
        """The block with its restart points and its checksum."""
        restarts = self._restarts or [0]
        ends = struct.pack(f"<{len(restarts) + 1}I", *restarts, len(restarts))
        whole = bytes(self.content) + ends + _PLAIN
        return whole + struct.pack("<I", masked_crc(whole))


def table_pieces(entries: Iterable[tuple[bytes, bytes]]) -> Iterator[bytes]:
    """The bytes of a table of these entries, whose keys ascend."""
    index, block, at = _Block(1), _Block(), 0

    def ended(block: _Block) -> tuple[bytes, bytes]:
        content = block.finished()
        return content, varint_bytes(at) + varint_bytes(len(content) - 5)

    for key, value in entries:
        assert not block.last or key > block.last, "keys of a table ascend"
        block.add(key, value)
        if len(block.content) >= BLOCK:
            content, handle = ended(block)
            index.add(block.last, handle)
            yield content
            at += len(content)
            block = _Block()
    if block.content:
        content, handle = ended(block)
        index.add(block.last, handle)
        yield content
        at += len(content)
    handles = b""
    for block in (_Block(), index):  # the first says nothing: tables of checkpoints have no filter
        content, handle = ended(block)
        handles += handle
        yield content
        at += len(content)
    yield handles.ljust(FOOTER - 8, b"\x00") + struct.pack("<Q", MAGIC)
