"""Bundles (checkpoint V2), written: a file of data for each shard, then the index.

In: tensors, or parts of them, by name. Out: a checkpoint that TensorFlow reads. Invariants: the one
rename of the index makes it, and replaces the one that was there: data goes to files that the old
index does not name, by another number of shards in their names (1, 2, 1, ... for one and the same
prefix). Whenever a process is killed, the old or the new checkpoint is whole, and the next save
removes what was left.
"""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from flowc import dtypes
from flowc.checkpoint.bundle import BundleReader
from flowc.checkpoint.names import STATE_FILE, data_path, index_path, remove_data_but
from flowc.checkpoint.slices import Part, fill_extents, slice_key
from flowc.checkpoint.table import crc, mask
from flowc.checkpoint.table_writer import table_pieces
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.encoding.tensor_proto import data_type
from flowc.encoding.wire import varint_bytes
from flowc.errors import (
    FlowcError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnknownError,
    UnsupportedError,
    UsageError,
)
from flowc.files.safe_write import abandoned, replacing, sync_folder
from flowc.proto.checkpoint_pb2 import BundleEntryProto, BundleHeaderProto

ALIGNMENT = 64  # bytes, so that a reader that maps the file need not copy
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)


@dataclass(frozen=True, slots=True, eq=False)
class SavedTensor:
    """A tensor to save. `part`: which part of the tensor of that name it is, None for the whole."""

    name: str
    value: np.ndarray
    dtype: DType
    part: Part | None = None

    @property
    def is_whole(self) -> bool:
        return self.part is None or self.part.shape == self.value.shape


def check_parts(tensors: Sequence[SavedTensor]) -> None:
    """Raises `InvalidArgumentError` for a part that does not fit its place, and for what is saved
    twice."""
    seen: set[object] = set()
    for tensor in tensors:
        key: object = tensor.name
        if not tensor.is_whole and tensor.part is not None:
            place = tensor.part.place
            sizes = None if place is None else tuple(s.stop - s.start for s in place)
            if sizes != tensor.value.shape:
                raise InvalidArgumentError(
                    f"Slice {list(tensor.part.extents)} of tensor {tensor.name!r} of shape "
                    f"{list(tensor.part.shape)} cannot hold a value of shape "
                    f"{list(tensor.value.shape)}"
                )
            key = tensor.name, tensor.part.extents
        if key in seen:
            raise InvalidArgumentError(f"Adding duplicate key: {tensor.name}")
        seen.add(key)


def write_bundle(prefix: str, tensors: Sequence[SavedTensor]) -> None:
    """Saves tensors as the checkpoint of this prefix, all of them in one shard.

    Raises `InvalidArgumentError` for tensors that do not go together, and for files that cannot be
    written `ResourceExhaustedError`, `PermissionDeniedError`, `NotFoundError` or `UnknownError`
    with the path and the bytes that it takes. What was saved by this prefix before is then intact.
    """
    check_parts(tensors)
    entries: dict[bytes, BundleEntryProto] = {}
    needed = sum(_size(t) for t in tensors)
    with _replacing_bundle(prefix, 1, needed) as (index, count):
        with replacing(data_path(prefix, 0, count)) as data:
            for tensor in sorted(tensors, key=_order):
                _add(entries, tensor, data)
        _write_index(index, entries, count)


def merge_bundles(parts: Sequence[str], prefix: str, allow_missing: bool = False) -> None:
    """Makes one checkpoint of several, each a shard of it: their data is renamed, not copied.

    Raises as `write_bundle`, and `NotFoundError` for a part that is missing unless that is
    allowed; `InvalidArgumentError` for a tensor that two of them have."""
    found = [p for p in parts if not allow_missing or os.path.isfile(index_path(p))]
    readers = [BundleReader(p) for p in found]
    entries: dict[bytes, BundleEntryProto] = {}
    moves: list[Path] = []
    for part, reader in zip(found, readers):
        first = len(moves)
        moves += [data_path(part, k, reader.num_shards) for k in range(reader.num_shards)]
        for key, entry in reader.entries():
            entry.shard_id += first
            _merge_entry(entries, key, entry)
    # A part that was saved by a prefix a second time names a shard without a file.
    kept = {e.shard_id for e in entries.values()}
    numbers = {old: new for new, old in enumerate(sorted(kept))}
    for entry in entries.values():
        entry.shard_id = numbers[entry.shard_id]
    with _replacing_bundle(prefix, max(len(kept), 1), 0) as (index, count):
        for old, new in numbers.items():
            os.replace(moves[old], data_path(prefix, new, count))
        _write_index(index, entries, count)
    for part in found:
        index_path(part).unlink(missing_ok=True)


def _merge_entry(
    entries: dict[bytes, BundleEntryProto], key: bytes, entry: BundleEntryProto
) -> None:
    """Adds an entry; of a tensor in slices each part may have some."""
    old = entries.setdefault(key, entry)
    if old is entry:
        return
    if not (old.slices and entry.slices) or old.shape != entry.shape or old.dtype != entry.dtype:
        raise InvalidArgumentError(f"Duplicate tensor keyed by {key!r} encountered, when merging")
    old.slices.extend(entry.slices)


@contextmanager
def _replacing_bundle(prefix: str, wanted: int, needed: int) -> Iterator[tuple[BinaryIO, int]]:
    """The file of an index, which takes its place at the end, and a number of shards in whose name
    data can be written meanwhile."""
    with writing(prefix, needed) as place:
        with replacing(index_path(prefix)) as index:
            held = shard_count(prefix)
            count = wanted + 1 if held == wanted else wanted
            yield index, count
            sync_folder(place.parent)  # the data is there by its name before the index says so
        sync_folder(place.parent)
        remove_data_but(prefix, count)


@contextmanager
def writing(prefix: str, needed: int) -> Iterator[Path]:
    """What writes the files of a checkpoint, which take so many bytes, stands in it. Removes first
    what saves that were cut off left there."""
    path = Path(prefix)
    try:
        path.parent.mkdir(exist_ok=True)
        remove_leftovers(path.parent)
        yield path
    except (OSError, UsageError) as error:
        if isinstance(error, FlowcError) and not isinstance(error, UsageError):
            raise
        raise _write_fault(prefix, error, needed) from error


def shard_count(prefix: str) -> int | None:
    """How many shards the index of a prefix speaks of; None without one that can be read."""
    try:
        return BundleReader(prefix).num_shards
    except FlowcError:
        return None


def remove_leftovers(folder: Path) -> None:
    """Removes what saves that were cut off left in a folder: files that nobody writes any more,
    and data that was there before its index."""
    for name, path in abandoned(folder):
        if name.endswith(".index"):
            prefix = str(folder / name.removesuffix(".index"))
            is_damaged = os.path.exists(index_path(prefix)) and shard_count(prefix) is None
            if not is_damaged:
                remove_data_but(prefix, shard_count(prefix))
            path.unlink(missing_ok=True)
        elif ".data-" in name or name == STATE_FILE:
            path.unlink(missing_ok=True)


def _write_fault(prefix: str, error: OSError | UsageError, needed: int) -> FlowcError:
    """The error of a checkpoint that could not be written."""
    if isinstance(error, FlowcError):
        return NotFoundError(f"{prefix}: {error}")
    kind: type[FlowcError] = UnknownError
    if error.errno in _FULL:
        kind = ResourceExhaustedError
    elif error.errno in _FORBIDDEN:
        kind = PermissionDeniedError
    elif error.errno == errno.ENOENT:
        kind = NotFoundError
    path = error.filename if isinstance(error.filename, str) else prefix
    said = os.strerror(error.errno) if error.errno else str(error)
    takes = f"; the checkpoint takes {needed} bytes" if needed else ""
    return kind(f"{path}; {said}{takes}", hint="what was saved before is untouched")


# -- data


def _order(tensor: SavedTensor) -> tuple[str, object]:
    return tensor.name, () if tensor.part is None else tensor.part.extents


def _size(tensor: SavedTensor) -> int:
    if tensor.dtype in (dtypes.string, dtypes.variant):
        return sum(len(s) + 1 for s in tensor.value.reshape(-1)) + 4
    return tensor.value.size * tensor.dtype.size


def _add(entries: dict[bytes, BundleEntryProto], tensor: SavedTensor, data: BinaryIO) -> None:
    """Writes a tensor's content, and notes where it is."""
    key, part = os.fsencode(tensor.name), tensor.part
    if part is not None and not tensor.is_whole:
        whole = entries.get(key)
        if whole is None:
            whole = entries[key] = BundleEntryProto(dtype=data_type(tensor.dtype))
            _fill_sizes(whole, part.shape)
        elif not whole.slices or tuple(d.size for d in whole.shape.dim) != part.shape:
            raise InvalidArgumentError(f"parts of two tensors are saved as {tensor.name!r}")
        fill_extents(whole.slices.add(), part.extents)
        key = slice_key(tensor.name, part.extents)
    entry = entries[key] = BundleEntryProto(dtype=data_type(tensor.dtype), offset=data.tell())
    _fill_sizes(entry, tensor.value.shape)
    if tensor.dtype is dtypes.string:
        pieces, checksum = _string_pieces(tensor.value)
    elif tensor.dtype is dtypes.variant:
        pieces, checksum = _variant_pieces(tensor.value)
    else:
        pieces, checksum = _number_pieces(tensor)
    for piece in pieces:
        data.write(cast(bytes, piece))
        entry.size += len(piece)
    entry.crc32c = mask(checksum)
    data.write(bytes(-data.tell() % ALIGNMENT))


def _fill_sizes(entry: BundleEntryProto, sizes: Sequence[int]) -> None:
    entry.shape.SetInParent()
    for size in sizes:
        entry.shape.dim.add(size=size)


def _number_pieces(tensor: SavedTensor) -> tuple[list[bytes | memoryview], int]:
    if not tensor.dtype.size:
        raise UnsupportedError(f"tensor {tensor.name!r} is a {tensor.dtype}, which has no content")
    raw = np.ascontiguousarray(tensor.value, tensor.dtype.numpy).reshape(-1).view(np.uint8).data
    return [raw], crc(raw)


def _string_pieces(value: np.ndarray) -> tuple[list[bytes | memoryview], int]:
    """The lengths of strings as varints, the checksum of these, and the strings."""
    strings = [s if isinstance(s, bytes) else str(s).encode() for s in value.reshape(-1)]
    lengths, total = bytearray(), 0
    for string in strings:
        lengths += varint_bytes(len(string))
        total = crc(struct.pack("<I" if len(string) <= 0xFFFFFFFF else "<Q", len(string)), total)
    behind = struct.pack("<I", mask(total)) + b"".join(strings)
    return [bytes(lengths), behind], crc(behind, total)


def _variant_pieces(value: np.ndarray) -> tuple[list[bytes | memoryview], int]:
    """Each message with its length before it and its own checksum behind it. The checksum of all is
    of these bytes, where lengths have 64 bits."""
    found: list[bytes | memoryview] = []
    total = 0
    for message in value.reshape(-1):
        total = crc(message, crc(struct.pack("<Q", len(message)), total))
        own = struct.pack("<I", mask(total))
        total = crc(own, total)
        found += [varint_bytes(len(message)), message, own]
    return found, total


def _write_index(index: BinaryIO, entries: Mapping[bytes, BundleEntryProto], count: int) -> None:
    header = BundleHeaderProto(num_shards=count)
    header.version.producer = 1
    every = [(b"", header.SerializeToString())]
    every += [(key, entries[key].SerializeToString()) for key in sorted(entries)]
    for piece in table_pieces(every):
        index.write(piece)
