"""The protobuf wire format, as far as it takes to find parts of a message without parsing it.

In: bytes of a message. Out: where its fields lie. Big tensors stay where the file was read to, a
2 GB graph needs no 2 GB message, and an error can say at which byte of the file it is.
Invariant: no field reaches beyond the message that holds it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from flowc.dataclass import dataclass
from flowc.errors import InvalidModelError
from flowc.files.plain_file import PlainFile

MOST_BYTES = (1 << 31) - 1  # of a message, for protobuf as for TensorFlow

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


@dataclass(frozen=True, slots=True)
class FileBytes:
    """Bytes of a file: `view` begins at byte `base` of `name`."""

    view: memoryview
    name: str
    base: int = 0

    def part(self, start: int, end: int) -> FileBytes:
        return FileBytes(self.view[start:end], self.name, self.base + start)

    def fail(self, at: int, message: str, hint: str | None = None) -> InvalidModelError:
        return InvalidModelError(f"{self.name}, byte {self.base + at}: {message}", hint=hint)

    def __len__(self) -> int:
        return len(self.view)


def open_region(
    path: str | os.PathLike[str], within: Path | None = None, most: int = MOST_BYTES
) -> FileBytes:
    """A whole file, read. Raises as `PlainFile`, and `InvalidModelError` for an empty file and for
    one of more than `most` bytes."""
    file = PlainFile(path, within)
    if not len(file):
        raise InvalidModelError(f"{file.name}: the file is empty")
    if len(file) > most:
        raise InvalidModelError(f"{file.name}: {len(file)} bytes, expected at most {most}")
    return FileBytes(file.read(0, len(file)), file.name)


def varint(view: memoryview, at: int) -> tuple[int, int]:
    """(value, position behind it). Raises `IndexError` at the end, `ValueError` beyond 64 bits."""
    byte = view[at]
    if byte < 0x80:
        return byte, at + 1
    value, shift = byte & 0x7F, 7
    while True:
        at += 1
        byte = view[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
        shift += 7
        if shift > 63:
            raise ValueError("a varint of more than 64 bits")


def varint_bytes(value: int) -> bytes:
    """A number of at most 64 bits as a varint."""
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def varints(view: memoryview, count: int) -> tuple[list[int], int]:
    """(values, position behind them) of the varints that a view begins with. Raises as `varint`."""
    found: list[int] = []
    at = 0
    for _ in range(count):
        value, at = varint(view, at)
        found.append(value)
    return found, at


def pieces(view: memoryview, at: int, lengths: Iterable[int]) -> Iterator[bytes]:
    """The bytes from `at` on, cut into pieces of these lengths."""
    for length in lengths:
        yield bytes(view[at : at + length])
        at += length


def fields(region: FileBytes) -> Iterator[tuple[int, int, int, int, int]]:
    """(number, wire type, start of the field, start and end of its content) of each field.

    Raises `InvalidModelError` with the byte where the message stops to make sense.
    """
    view = region.view
    size = len(view)
    at = 0
    while at < size:
        start = at
        try:
            tag, at = varint(view, at)
            kind = tag & 7
            if kind == BYTES:
                length, at = varint(view, at)
                begin, at = at, at + length
            elif kind == VARINT:
                begin = at
                _, at = varint(view, at)
            elif kind in (FIXED64, FIXED32):
                begin, at = at, at + (8 if kind == FIXED64 else 4)
            else:
                begin = at = size + 1
        except IndexError:
            raise region.fail(start, "the message is cut off") from None
        except ValueError as error:
            raise region.fail(start, str(error)) from None
        if kind not in (VARINT, FIXED64, BYTES, FIXED32):
            raise region.fail(start, f"the wire format has no field type {kind}")
        if at > size:
            raise region.fail(
                start,
                f"a field of {at - begin} bytes, where {size - begin} are left",
                hint="the file seems to be truncated or damaged",
            )
        if tag >> 3 == 0:
            raise region.fail(
                start,
                "a field with the number 0, which no message has",
                hint="the file seems to be damaged, or no GraphDef, MetaGraphDef or SavedModel",
            )
        yield tag >> 3, kind, start, begin, at


def without_field(region: FileBytes, number: int) -> bytes:
    """The message without its fields of that number."""
    view = region.view
    kept = [view[start:end] for n, _, start, _, end in fields(region) if n != number]
    return b"".join(kept)


def parts(region: FileBytes, number: int) -> list[FileBytes]:
    """Each field of that number that holds bytes (a message or string)."""
    return [
        region.part(begin, end)
        for n, kind, _, begin, end in fields(region)
        if n == number and kind == BYTES
    ]
