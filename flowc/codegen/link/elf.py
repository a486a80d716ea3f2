"""A relocatable ELF object that holds the packed weights, written without a copy of them.

In: the weights as (offset, array) chunks, or one array. Out: an object file whose read-only data is
the blob, 64-byte aligned, under the hidden symbol `flowc_weights`. Invariant: bytes go from the
arrays to the file piece by piece, and the file depends on nothing but them.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, TypeAlias

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import InternalError

X86_64, AARCH64 = 62, 183
ALIGNMENT = 64
SYMBOL = "flowc_weights"
PIECE_BYTES = 1 << 24

Weights: TypeAlias = "Sequence[tuple[int, np.ndarray[Any, Any]]] | np.ndarray[Any, Any]"

_FILE_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION_HEADER = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")

_PROGBITS, _SYMTAB, _STRTAB = 1, 2, 3
_ALLOC = 2


def pieces_of(weights: Weights, size: int) -> Iterator[memoryview]:
    """The bytes of the blob in order, zeros in its gaps. Raises `InternalError` when chunks overlap
    or pass `size`."""
    chunks = [(0, weights)] if isinstance(weights, np.ndarray) else sorted(weights, key=_offset)
    position = 0
    for offset, array in chunks:
        flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if offset < position or offset + flat.size > size:
            raise InternalError(
                f"weights chunk at {offset} of {flat.size} bytes: expected within "
                f"[{position}, {size})"
            )
        yield from _zeros(offset - position)
        for start in range(0, flat.size, PIECE_BYTES):
            yield flat[start : start + PIECE_BYTES].data
        position = offset + flat.size
    yield from _zeros(size - position)


def _offset(chunk: tuple[int, Any]) -> int:
    return chunk[0]


def _zeros(count: int) -> Iterator[memoryview]:
    while count > 0:
        step = min(count, PIECE_BYTES)
        yield memoryview(bytes(step))
        count -= step


def write_pieces(weights: Weights, size: int, file: BinaryIO) -> bytes:
    """Writes the blob at the file's position; gives its SHA-256."""
    digest = hashlib.sha256()
    for piece in pieces_of(weights, size):
        digest.update(piece)
        file.write(piece)
    return digest.digest()


def machine_of(objects: Sequence[bytes]) -> int:
    """The machine number of ELF objects. Raises `InternalError` when one is not a 64-bit ELF."""
    for data in objects:
        if data[:5] != b"\x7fELF\x02":
            raise InternalError("a compiled object is not 64-bit ELF")
    return struct.unpack_from("<H", objects[0], 18)[0]


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int = 0
    info: int = 0
    align: int = 1
    entry: int = 0


def write_weights_object(weights: Weights, size: int, machine: int, file: BinaryIO) -> None:
    """Writes the whole object at the start of `file`."""
    names = b"\0.rodata.flowc\0.symtab\0.strtab\0.shstrtab\0.note.GNU-stack\0"
    strings = f"\0{SYMBOL}\0".encode()
    hidden, global_object, data_section = 2, 0x11, 1
    symbols = _SYMBOL.pack(0, 0, 0, 0, 0, 0)
    symbols += _SYMBOL.pack(1, global_object, hidden, data_section, 0, size)
    file.write(bytes(ALIGNMENT))  # the header's place; it needs no more than 64 bytes
    for piece in pieces_of(weights, size):
        file.write(piece)
    start = -(-(ALIGNMENT + size) // 8) * 8
    file.write(bytes(start - ALIGNMENT - size))
    tables = symbols + strings + names
    headers = start + -(-len(tables) // 8) * 8
    file.write(tables.ljust(headers - start, b"\0"))
    at_strings = start + len(symbols)
    at_names = at_strings + len(strings)
    sections = (
        _Section("", 0, 0, 0, 0, align=0),
        _Section(".rodata.flowc", _PROGBITS, _ALLOC, ALIGNMENT, size, align=ALIGNMENT),
        _Section(".symtab", _SYMTAB, 0, start, len(symbols), 3, 1, 8, _SYMBOL.size),
        _Section(".strtab", _STRTAB, 0, at_strings, len(strings)),
        _Section(".shstrtab", _STRTAB, 0, at_names, len(names)),
        _Section(".note.GNU-stack", _PROGBITS, 0, at_names + len(names), 0),
    )
    for s in sections:
        name = names.index(s.name.encode() + b"\0") if s.name else 0
        row = (name, s.kind, s.flags, 0, s.offset, s.size, s.link, s.info, s.align, s.entry)
        file.write(_SECTION_HEADER.pack(*row))
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    relocatable, version = 1, 1
    file.seek(0)
    file.write(
        _FILE_HEADER.pack(
            ident, relocatable, machine, version, 0, 0, headers, 0,
            _FILE_HEADER.size, 0, 0, _SECTION_HEADER.size, len(sections), 4,
        )
    )  # fmt: skip
