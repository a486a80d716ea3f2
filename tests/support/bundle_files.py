"""Checkpoints as bytes: tables as LevelDB writes them, and bundles (V2) of one shard.

In: entries of a table, or of a bundle. Out: bytes, files. Nothing checks that they are sound.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import cast

from flowc.checkpoint.table import MAGIC, masked_crc
from flowc.proto.checkpoint_pb2 import BundleEntryProto, BundleHeaderProto
from flowc.proto.tensor_pb2 import DataType


def varint(value: int) -> bytes:
    found = bytearray()
    value &= (1 << 64) - 1
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def block(entries: list[tuple[bytes, bytes]], compress: bool = False) -> bytes:
    content = b"".join(
        varint(0) + varint(len(k)) + varint(len(v)) + k + v for k, v in entries
    ) + struct.pack("<II", 0, 1)
    if compress:
        content = varint(len(content)) + b"".join(
            bytes([(len(part) - 1) << 2]) + part
            for part in (content[i : i + 60] for i in range(0, len(content), 60))
        )
    kind = bytes([compress])
    return content + kind + struct.pack("<I", masked_crc(content + kind))


def table(entries: list[tuple[bytes, bytes]], compress: bool = False) -> bytes:
    """A table of one block, as LevelDB writes it."""
    data = block(entries, compress)
    meta = block([])
    handle = varint(0) + varint(len(data) - 5)
    index = block([(b"\xff", handle)])
    meta_handle = varint(len(data)) + varint(len(meta) - 5)
    index_handle = varint(len(data) + len(meta)) + varint(len(index) - 5)
    footer = (meta_handle + index_handle).ljust(40, b"\0") + struct.pack("<Q", MAGIC)
    return data + meta + index + footer


def write_bundle(
    prefix: Path,
    entries: dict[str, BundleEntryProto],
    data: bytes,
    header: BundleHeaderProto | None = None,
    compress: bool = False,
) -> str:
    header = header or BundleHeaderProto(num_shards=1)
    pairs = [(b"", header.SerializeToString())]
    pairs += sorted((k.encode("latin-1"), e.SerializeToString()) for k, e in entries.items())
    Path(f"{prefix}.index").write_bytes(table(pairs, compress))
    Path(f"{prefix}.data-00000-of-00001").write_bytes(data)
    return str(prefix)


def entry(data: bytes, shape: list[int], dtype: int = 1, **fields: int) -> BundleEntryProto:
    found = BundleEntryProto(dtype=cast(DataType, dtype), size=len(data), crc32c=masked_crc(data))
    for size in shape:
        found.shape.dim.add(size=size)
    for name, value in fields.items():
        setattr(found, name, value)
    return found
