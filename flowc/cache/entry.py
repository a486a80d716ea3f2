"""The file of one cache entry: a program's objects, metadata and weights.

    magic (8 bytes), header length (u64), SHA-256 of the header (32 bytes), header (JSON)
    objects, the runtime's last, one after another; then, at a page boundary, the weights

The header holds the key, the metadata, and the size and checksum of every part: SHA-256 of code,
CRC32C of weights. Reading gives None for anything that is not exactly what was written. What was
read stays as it is, whatever happens to the file; of an entry of `MAPPED` bytes or more the weights
are mapped, not copied, and nobody but flowc, which replaces files whole, may change those.
"""

from __future__ import annotations

import hashlib
import json
import logging
import mmap
import os
import struct
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO

import google_crc32c
import numpy as np

from flowc.codegen.compiled import CompiledProgram, ProgramMetadata
from flowc.errors import FlowcError, NotFoundError
from flowc.files.plain_file import PlainFile

log = logging.getLogger("flowc.cache.store")

MAGIC = b"FLOWC\x00\x00\x01"
PREFIX = struct.Struct("<8sQ32s")
PAGE = mmap.PAGESIZE
HEADER_LIMIT = 1 << 28
MAPPED = 4 << 20


def open_entry(path: Path) -> AbstractContextManager[BinaryIO]:
    """The file of an entry, which is there whole or not at all: when the block ends without an
    exception. What the system loses when it stops at once is a miss by its checksums: nothing waits
    for the disk. Raises `OSError`, `UsageError` where there is no folder."""
    from flowc.files.safe_write import replacing  # late: most processes only read

    return replacing(path, private=True)


def fill_entry(file: BinaryIO, key: str, program: CompiledProgram) -> None:
    """Writes what is in the file of an entry. Raises `OSError`."""
    from flowc.codegen.link.elf import pieces_of  # late: most processes only read

    size, checksum = program.metadata.weights_bytes, 0
    for piece in pieces_of(program.weights, size):
        flat = np.frombuffer(piece.toreadonly(), np.uint8)  # it takes no memoryview
        checksum = google_crc32c.extend(checksum, flat)
    parts = (*program.objects, program.runtime)
    header = json.dumps(
        {
            "key": key,
            "metadata": program.metadata.to_json(),
            "objects": [[len(o), hashlib.sha256(o).hexdigest()] for o in parts],
            "weights": [size, checksum],
        },
        sort_keys=True,
    ).encode()
    file.write(PREFIX.pack(MAGIC, len(header), hashlib.sha256(header).digest()))
    file.write(header)
    for data in parts:
        file.write(data)
    if size:
        file.write(b"\0" * (-file.tell() % PAGE))
    for piece in pieces_of(program.weights, size):
        file.write(piece)


def read_entry(path: Path, key: str) -> CompiledProgram | None:
    """The entry of a key, or None; what is damaged or foreign is removed."""
    try:
        file = PlainFile(path)
        if file.status.st_uid != os.getuid():
            return None
        whole = file.mapped() if len(file) >= MAPPED else file.read(0, len(file))
    except NotFoundError:
        return None
    except (FlowcError, OSError, ValueError) as error:
        log.warning("cannot read the cache entry %s: %s", path, error)
        return None
    program = _parse(whole, key)
    if program is None:
        log.warning("dropped the damaged cache entry %s", path)
        path.unlink(missing_ok=True)
    return program


def _parse(whole: memoryview, key: str) -> CompiledProgram | None:
    header = _header(whole, key)
    if header is None:
        return None
    at = PREFIX.size + header[1]
    parts = []
    for size, checksum in header[0]["objects"]:
        data = bytes(whole[at : at + size])
        if len(data) != size or hashlib.sha256(data).hexdigest() != checksum:
            return None
        parts.append(data)
        at += size
    size, checksum = header[0]["weights"]
    metadata = ProgramMetadata.from_json(header[0]["metadata"])
    if not size:
        return CompiledProgram(tuple(parts[:-1]), [], metadata, parts[-1])
    at += -at % PAGE
    if at + size != len(whole):
        return None
    weights = np.frombuffer(whole, np.uint8, size, at)
    if google_crc32c.value(weights) != checksum:
        return None
    return CompiledProgram(tuple(parts[:-1]), [(0, weights)], metadata, parts[-1])


def _header(whole: memoryview, key: str) -> tuple[dict[str, Any], int] | None:
    if len(whole) < PREFIX.size:
        return None
    magic, length, checksum = PREFIX.unpack(whole[: PREFIX.size])
    if magic != MAGIC or length > min(HEADER_LIMIT, len(whole)):
        return None
    text = bytes(whole[PREFIX.size : PREFIX.size + length])
    if hashlib.sha256(text).digest() != checksum:
        return None
    header = json.loads(text)
    return (header, length) if header["key"] == key else None
