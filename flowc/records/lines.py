"""The lines of a data file.

In: pieces of bytes. Out: lines without their line feeds. Invariant: time is linear in the bytes,
however long a line is, and what a line takes is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowc.records.byte_stream import ByteStream, Mark


def lines_of(stream: ByteStream, mark: Mark | None = None) -> Iterator[bytes]:
    """The lines of a stream; the last one may lack its line feed. `mark`: where they begin. Raises
    what the stream's methods raise."""
    mark = mark or Mark()
    if mark.offset:
        stream.seek(mark.offset)
    begun: list[bytes] = []
    size, given, offset = 0, mark.records, mark.offset
    while piece := stream.more():
        first, *others = piece.split(b"\n")
        begun.append(first)
        size += len(first)
        stream.check(size)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, size = others[-1:], len(others[-1])
        given += len(others)
        offset += len(piece)
        if not stream.compression:
            mark.records, mark.offset = given, offset - size
    if last := b"".join(begun):
        yield last
