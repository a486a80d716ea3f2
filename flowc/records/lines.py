"""The lines of a data file.

In: pieces of bytes. Out: lines without their line feeds. Invariant: time is linear in the bytes,
however long a line is, and what a line takes is bounded.
"""

from __future__ import annotations

from collections.abc import Iterator

from flowc.records.byte_stream import ByteStream


def lines_of(stream: ByteStream) -> Iterator[bytes]:
    """The lines of a stream; the last one may lack its line feed. Raises what the stream's methods
    raise."""
    begun: list[bytes] = []
    size = 0
    while piece := stream.more():
        first, *others = piece.split(b"\n")
        begun.append(first)
        size += len(first)
        stream.check(size)
        if others:
            yield b"".join(begun)
            yield from others[:-1]
            begun, size = others[-1:], len(others[-1])
    if last := b"".join(begun):
        yield last
