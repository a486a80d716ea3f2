"""Bundles (checkpoint V2): `prefix.index`, a table of entries, and shards of raw tensor bytes.

In: a prefix. Out: names, shapes, dtypes, arrays. Invariant: see reader.py.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from flowc import dtypes
from flowc.checkpoint.slices import (
    Place,
    extents_of,
    gathered,
    incomplete,
    resolve,
    slice_key,
    whole_place,
)
from flowc.checkpoint.table import crc, damage, mask, read_table
from flowc.dtypes import DType
from flowc.encoding.tensor_proto import element_type, shape_of
from flowc.encoding.wire import FileBytes, open_region, pieces, varint, varints
from flowc.errors import DataLossError, InvalidModelError, NotFoundError, UnsupportedError
from flowc.files.plain_file import PlainFile
from flowc.proto.checkpoint_pb2 import BundleEntryProto, BundleHeaderProto

MAX_SHARDS = 100_000


class BundleReader:
    """`shapes`: name -> shape, in the order of the index. `within`: see `PlainFile`."""

    def __init__(self, prefix: str, within: Path | None = None) -> None:
        self.prefix = prefix
        self._within = within
        try:
            self._index = open_region(prefix + ".index", within)
        except InvalidModelError as error:  # an index cut to nothing, or of too many bytes
            raise DataLossError(error.message, hint=error.hint) from None
        self._shards: dict[int, PlainFile] = {}
        self._entries: dict[bytes, memoryview] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._parsed: dict[bytes, BundleEntryProto] = {}
        header: BundleHeaderProto | None = None
        for key, value in read_table(self._index):
            if key == b"":
                header = self._parse(BundleHeaderProto, value, "the header")
            else:
                self._entries[key] = value
        if header is None:
            raise damage(self._index, 0, "the index has no header")
        self._check_header(header)
        self.num_shards = header.num_shards
        self.big_endian = header.endianness == BundleHeaderProto.BIG
        self._read_names()

    def _check_header(self, header: BundleHeaderProto) -> None:
        if not 0 < header.num_shards <= MAX_SHARDS:
            raise damage(self._index, 0, f"the header speaks of {header.num_shards} shards")
        if header.endianness not in (BundleHeaderProto.LITTLE, BundleHeaderProto.BIG):
            raise damage(self._index, 0, f"the header has the byte order {header.endianness}")
        if header.version.min_consumer > 1:
            raise InvalidModelError(
                f"{self._index.name}: the bundle asks for readers of version "
                f"{header.version.min_consumer}, flowc reads version 1"
            )

    def _read_names(self) -> None:
        for key in self._entries:
            if key[0] == 0:
                continue  # a slice: found through the entry of the whole tensor
            try:
                name = key.decode()
            except UnicodeDecodeError:
                raise damage(self._index, 0, f"the name {key[:80]!r} is no UTF-8") from None
            entry = self._entry(key, f"tensor {name!r}")
            try:
                self.shapes[name] = shape_of(entry.shape, f"tensor {name!r}")
            except InvalidModelError as error:
                raise damage(self._index, 0, error.message) from None

    def _parse(self, message: Any, value: memoryview, what: str) -> Any:
        try:
            return message.FromString(bytes(value))
        except DecodeError as error:
            raise damage(self._index, 0, f"the entry of {what} is damaged: {error}") from None

    def _entry(self, key: bytes, what: str) -> BundleEntryProto:
        found = self._parsed.get(key)
        if found is None:
            found = self._parsed[key] = self._parse(BundleEntryProto, self._entries[key], what)
        return found

    def entries(self) -> Iterator[tuple[bytes, BundleEntryProto]]:
        """Every entry but the header, slices too, by its key: copies."""
        for key in self._entries:
            found = BundleEntryProto()
            found.CopyFrom(self._entry(key, repr(key)))
            yield key, found

    def dtype(self, name: str) -> DType:
        try:
            return element_type(self._entry(name.encode(), name).dtype, f"tensor {name!r}")
        except InvalidModelError as error:
            raise damage(self._index, 0, error.message) from None

    def read(self, name: str, wanted: Place | None = None) -> np.ndarray:
        entry = self._entry(name.encode(), name)
        if entry.slices:
            found = self._read_slices(name, entry, wanted or whole_place(self.shapes[name]))
        else:
            found = self._read_one(name, entry)
            found = found if wanted is None else found[(*wanted, ...)]
        found.flags.writeable = False
        return found

    def _read_slices(self, name: str, entry: BundleEntryProto, wanted: Place) -> np.ndarray:
        shape = self.shapes[name]
        stored: list[tuple[Place, Callable[[], np.ndarray]]] = []
        for proto in entry.slices:
            extents = extents_of(proto)
            place = resolve(extents, shape)
            key = slice_key(name, extents)
            if place is None or key not in self._entries:
                raise damage(
                    self._index, 0, f"slice {extents} of tensor {name!r} {list(shape)} is missing"
                )
            part = self._entry(key, f"a slice of {name!r}")
            sizes = [s.stop - s.start for s in place]
            if [d.size for d in part.shape.dim] != sizes or part.dtype != entry.dtype:
                raise damage(self._index, 0, f"a slice of tensor {name!r} has another type")
            stored.append((place, partial(self._read_one, name, part)))
        found = gathered(wanted, stored, self.dtype(name).numpy)
        if found is None:
            raise incomplete(self._index.name, name, shape, wanted)
        return found

    def _read_one(self, name: str, entry: BundleEntryProto) -> np.ndarray:
        where = f"tensor {name!r}"
        dtype = self.dtype(name)
        shape = shape_of(entry.shape, where)
        elements = math.prod(shape)
        content = self._content(entry, where)
        if dtype is dtypes.string:
            return self._strings(content, elements, entry, where).reshape(shape)
        if dtype is dtypes.variant:
            return self._variants(content, elements, entry, where).reshape(shape)
        if not dtype.size:
            raise UnsupportedError(f"{self.prefix}: {where} is a {dtype}, which flowc cannot read")
        if len(content) != elements * dtype.size:
            raise damage(
                self._index,
                0,
                f"{where} {list(shape)} takes {elements * dtype.size} bytes, found {len(content)}",
            )
        self._verify(crc(content.view), entry, content, where)
        stored = dtype.numpy
        if self.big_endian and dtype.size > 1:
            raw = np.frombuffer(content.view, np.uint8)
            width = dtype.size // (2 if dtype.is_complex else 1)
            swapped = np.ascontiguousarray(raw.reshape(-1, width)[:, ::-1])
            return swapped.reshape(-1).view(stored).reshape(shape)
        found = np.frombuffer(content.view, stored).reshape(shape)
        return found if found.flags.aligned else found.copy()

    def _verify(self, found: int, entry: BundleEntryProto, content: FileBytes, where: str) -> None:
        if mask(found) != entry.crc32c:
            raise damage(
                content, 0, f"checksum of {where}: {mask(found):08x}, stored {entry.crc32c:08x}"
            )

    def _content(self, entry: BundleEntryProto, where: str) -> FileBytes:
        if not 0 <= entry.shard_id < self.num_shards:
            raise damage(
                self._index, 0, f"{where} lies in shard {entry.shard_id} of {self.num_shards}"
            )
        if not entry.size:
            return self._index.part(0, 0)
        shard, start = self._shard(entry.shard_id, where), entry.offset
        if start < 0 or entry.size < 0 or start > len(shard) - entry.size:
            raise damage(
                FileBytes(memoryview(b""), shard.name, max(start, 0)),
                0,
                f"{where} takes {entry.size} bytes here, and the file has {len(shard)}",
            )
        return FileBytes(shard.read(start, start + entry.size), shard.name, start)

    def _shard(self, index: int, where: str) -> PlainFile:
        if index not in self._shards:
            name = f"{self.prefix}.data-{index:05d}-of-{self.num_shards:05d}"
            try:
                self._shards[index] = PlainFile(name, self._within)
            except NotFoundError:
                raise NotFoundError(
                    f"{name}: the shard that holds {where} is missing",
                    hint="copy every .data file of the checkpoint beside its .index",
                ) from None
            except InvalidModelError as error:
                raise DataLossError(error.message, hint=error.hint) from None
        return self._shards[index]

    def _variants(
        self, content: FileBytes, n: int, entry: BundleEntryProto, where: str
    ) -> np.ndarray:
        """n messages, each with its length before it and its checksum behind it."""
        if n > len(content):
            raise damage(content, 0, f"{where}: {n} variants in {len(content)} bytes")
        found = np.empty(n, object)
        at = total = 0
        for k in range(n):
            try:
                length, at = varint(content.view, at)
            except (IndexError, ValueError):
                raise damage(content, at, f"{where}: the length of a variant is cut off") from None
            message = bytes(content.view[at : at + length])
            total = crc(message, crc(struct.pack("<Q", length), total))
            stored = bytes(content.view[at + length : at + length + 4])
            if stored != struct.pack("<I", mask(total)):
                raise damage(content, at, f"checksum of a variant of {where}")
            total = crc(stored, total)
            found[k], at = message, at + length + 4
        self._verify(total, entry, content, where)
        return found

    def _strings(
        self, content: FileBytes, n: int, entry: BundleEntryProto, where: str
    ) -> np.ndarray:
        """n lengths (varints), their checksum, then the strings."""
        if n > len(content):
            raise damage(content, 0, f"{where}: {n} strings in {len(content)} bytes")
        try:
            lengths, at = varints(content.view, n)
        except (IndexError, ValueError):
            raise damage(content, 0, f"{where}: the lengths of its strings are cut off") from None
        if at + 4 + sum(lengths) != len(content):
            raise damage(content, 0, f"{where}: the lengths of its strings do not add up")
        total = 0
        for value in lengths:
            total = crc(struct.pack("<I" if value <= 0xFFFFFFFF else "<Q", value), total)
        stored = bytes(content.view[at : at + 4])
        if struct.unpack("<I", stored)[0] != mask(total):
            raise damage(content, 0, f"checksum of the string lengths of {where}")
        self._verify(crc(content.view[at:], total), entry, content, where)
        found = np.empty(n, object)
        found[:] = list(pieces(content.view, at + 4, lengths))
        return found
