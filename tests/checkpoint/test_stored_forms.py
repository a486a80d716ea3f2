"""Codes of checkpoints, number by number: keys of slices, checksums, copies in blocks, places."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from bundle_files import varint

from flowc import dtypes
from flowc.checkpoint.bundle import BundleReader
from flowc.checkpoint.bundle_writer import SavedTensor, write_bundle
from flowc.checkpoint.reader import CheckpointReader
from flowc.checkpoint.slices import slice_key
from flowc.checkpoint.snappy import decompress
from flowc.checkpoint.table import crc, masked_crc
from flowc.checkpoint.table_writer import RESTART, table_pieces
from flowc.encoding.wire import FileBytes
from flowc.encoding.wire import varint as read_varint
from flowc.errors import DataLossError, NotFoundError

EDGES = [0, *(1 << k for k in range(63)), *((1 << k) - 1 for k in range(2, 64))]


def test_keys_of_slices_are_in_the_order_of_their_numbers() -> None:
    for length in (1, 7):
        keys = [slice_key("v", ((start, length),)) for start in sorted(EDGES)]
        assert keys == sorted(keys) and len(set(keys)) == len(set(EDGES))
    # An order-preserving code: a sign, as many ones as more bytes follow, and the number.
    assert slice_key("v", ((0, -1),)) == b"\x00v\x00\x01\x01\x01\x80\x7f"
    assert slice_key("v", ((64, 63),)) == b"\x00v\x00\x01\x01\x01\xc0\x40\xbf"
    assert slice_key("v", ()) == b"\x00v\x00\x01\x00"


def test_checksums() -> None:
    assert crc(b"123456789") == 0xE3069283  # the check value of CRC-32C
    assert crc(b"456789", crc(b"123")) == 0xE3069283
    # Turned right by 15 bits, and a constant more.
    assert masked_crc(b"123456789") == (0x2507C60D + 0xA282EAD8) % (1 << 32)


def test_copies_from_far_before() -> None:
    """A copy of two bytes has eleven bits for how far before it begins."""
    head = bytes(i * 7 % 256 for i in range(2047)) + b"?"
    size = len(head) - 1
    literal = bytes([61 << 2]) + size.to_bytes(2, "little") + head
    for offset in (256, 300, 1023, 2047):
        copy = bytes([1 | (5 - 4) << 2 | (offset >> 8) << 5, offset & 255])
        wanted = head + head[len(head) - offset :][:5]
        assert decompress(varint(len(wanted)) + literal + copy) == wanted, offset


def test_places_of_parts_of_parts() -> None:
    region = FileBytes(memoryview(bytes(20)), "f").part(5, 15).part(3, 9)
    assert str(region.fail(2, "wrong")) == "f, byte 10: wrong"


def test_numbers_end() -> None:
    assert read_varint(memoryview(b"\xff" * 9 + b"\x01"), 0) == (2**64 - 1, 10)
    with pytest.raises(ValueError, match="more than 64 bits"):
        read_varint(memoryview(b"\xff" * 10 + b"\x01"), 0)
    with pytest.raises(IndexError):
        read_varint(memoryview(b"\xff"), 0)


def test_restart_points() -> None:
    """Every sixteenth key stands whole, as whoever looks one up expects."""
    rows = [(b"key%03d" % i, b"") for i in range(2 * RESTART + 1)]
    (block, *_) = table_pieces(rows)
    count = struct.unpack_from("<I", block, len(block) - 9)[0]
    places = struct.unpack_from(f"<{count}I", block, len(block) - 9 - 4 * count)
    assert count == 3
    for place, row in zip(places, rows[::RESTART]):
        assert block[place : place + 9] == b"\x00\x06\x00" + row[0]


def test_scalars_have_a_shape(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    write_bundle(prefix, [SavedTensor("a", np.float32(3), dtypes.f32)])
    (entry,) = [entry for key, entry in BundleReader(prefix).entries() if key == b"a"]
    assert entry.HasField("shape") and not entry.shape.dim
    reader = CheckpointReader(prefix)
    for ask in (reader.shape, reader.dtype, reader.read):
        with pytest.raises(NotFoundError, match="Key b not found"):
            ask("b")
    assert repr(reader) == f"<CheckpointReader {prefix}: 1 tensors>"


def test_texts_end_where_their_lengths_say(tmp_path: Path) -> None:
    prefix = str(tmp_path / "m")
    write_bundle(prefix, [SavedTensor("a", np.array([b"x", b"yz"], object), dtypes.string)])
    path = Path(f"{prefix}.data-00000-of-00001")
    content = path.read_bytes()
    assert content.startswith(b"\x01\x02") and content[6:9] == b"xyz"
    path.write_bytes(content.replace(b"xyz", b"xy!"))
    with pytest.raises(DataLossError, match="tensor 'a'"):
        CheckpointReader(prefix).read("a")
