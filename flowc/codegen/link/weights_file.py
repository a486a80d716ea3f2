"""Weights beside the library: the format of the side file, and the code that opens it at load.

In: the packed weights. Out: `<library>.weights`, a 64-byte header and the blob; and functions that
open it when the library is loaded. Library and file take their places together: until the library
has, the file has a name of its own, where the library looks first. Invariant: a file is used only
if its header, which holds the blob's size and SHA-256, is byte for byte the one the library was
built with, and if the blob, which is read once at load, has the checksum that it had then. It is
read into memory, where nothing that happens to the file matters, or, where that was asked for,
mapped, which processes share, and its header looked at again before each run.

The checksum: `LANES` sums modulo 2^64, of every eighth word times an odd number that is another one
for each row of words. So a change of one word is always seen.

Header, little endian: magic `FLOWCWTS`, u32 format 1, u32 0, u64 blob bytes, 32 bytes SHA-256 of
the blob, 8 zero bytes. The blob starts at byte 64 of the file.
"""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
from llvmlite import ir

from flowc.dataclass import dataclass
from flowc_runtime.native.writer import (
    I8,
    I32,
    I64,
    NULL,
    PTR,
    VOID,
    FunctionWriter,
    as_pointer,
    data_constant,
    i32,
    i64,
    new_global,
)

HEADER_BYTES = 64
SUFFIX = ".weights"
OWN_DIGITS = 16
LANES = 8
_STEP = 0x9E3779B97F4A7C15  # between the odd numbers of two rows
_ROWS = 1 << 17  # summed at once
_PATH_BYTES = 4096
_READ, _WRITE = mmap.PROT_READ, mmap.PROT_WRITE
_PRIVATE, _ANONYMOUS = mmap.MAP_PRIVATE, mmap.MAP_ANONYMOUS


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """What a library knows of its side file."""

    size: int
    sha256: bytes
    checksum: tuple[int, ...]
    is_mapped: bool = False

    @property
    def file_bytes(self) -> int:
        return HEADER_BYTES + self.size

    @property
    def own_suffix(self) -> str:
        """What the file is called, behind the library's name, until the library is in its place:
        nobody else's file has this name."""
        return f"{SUFFIX}-{self.sha256.hex()[:OWN_DIGITS]}"

    def header(self) -> bytes:
        return struct.pack("<8sIIQ32s8x", b"FLOWCWTS", 1, 0, self.size, self.sha256)


def checksum_of(path: Path) -> tuple[int, ...]:
    """The checksum of the blob in a weights file; the last row is filled up with zeros."""
    sums = np.zeros(LANES, np.uint64)
    first = 0
    with path.open("rb") as file:
        file.seek(HEADER_BYTES)
        while data := file.read(_ROWS * 8 * LANES):
            rows = np.frombuffer(data + bytes(-len(data) % (8 * LANES)), "<u8").reshape(-1, LANES)
            numbers = np.arange(first, first + len(rows), dtype=np.uint64) * np.uint64(_STEP)
            sums += (rows * (numbers | np.uint64(1))[:, None]).sum(axis=0, dtype=np.uint64)
            first += len(rows)
    return tuple(int(lane) for lane in sums)


@dataclass(frozen=True, slots=True)
class Mapping:
    """The functions to run when the library is loaded and unloaded."""

    open: ir.Function
    close: ir.Function


def emit_weights_mapping(module: ir.Module, file: WeightsFile) -> Mapping:
    """Adds `flowc_weights_address` (NULL if there is none), `.._path`, `.._reason`, and for a file
    that is mapped `.._descriptor` and `.._is_right(descriptor)`."""

    def state(name: str, kind: ir.Type) -> Any:
        return as_pointer(new_global(module, f"flowc_weights_{name}", kind))

    address = state("address", PTR)
    path = state("path", ir.ArrayType(I8, _PATH_BYTES))
    reason = state("reason", PTR)
    descriptor = state("descriptor", I32)
    _emit_is_right(module, file)
    _emit_is_whole(module, file)
    _emit_map(module, file, address, path, reason, descriptor)
    closed = _emit_close(module, file, address, descriptor)
    return Mapping(_emit_open(module, file, path, reason, address), closed)


def _emit_is_right(module: ir.Module, file: WeightsFile) -> None:
    """Whether a file has the size and header that the library knows."""
    w = FunctionWriter(module, "flowc_weights_is_right", I32, {"descriptor": I32})
    (fd,) = w.args
    found = w.block(HEADER_BYTES)
    expected = ir.Constant(ir.ArrayType(I8, HEADER_BYTES), bytearray(file.header()))
    got = w.call("pread", fd, found, i64(HEADER_BYTES), i64(0))
    with w.when(w.compare("!=", got, i64(HEADER_BYTES))):
        w.give(i32(0))
    known = as_pointer(data_constant(module, expected, "header"))
    differs = w.call("memcmp", found, known, i64(HEADER_BYTES))
    end = w.call("lseek", fd, i64(0), i32(2))
    is_whole = w.compare("==", end, i64(file.file_bytes))
    w.give(w.b.zext(w.b.and_(w.compare("==", differs, i32(0)), is_whole), I32))


def _emit_is_whole(module: ir.Module, file: WeightsFile) -> None:
    """Whether a blob in memory, with zeros behind it, has the checksum that the library knows."""
    w = FunctionWriter(module, "flowc_weights_is_whole", I32, {"blob": PTR})
    (blob,) = w.args
    row, number = w.variable(i64(0)), w.variable(i64(0))
    sums = [w.variable(i64(0)) for _ in range(LANES)]
    end = i64(-(-file.size // (8 * LANES)) * LANES)
    with w.loop() as loop:
        loop.leave_if(w.compare("==", row.get(), end))
        factor = w.b.or_(number.get(), i64(1))
        for lane, total in enumerate(sums):
            word = w.load(blob, w.b.add(row.get(), i64(lane)), I64)
            total.set(w.b.add(total.get(), w.b.mul(word, factor)))
        row.set(w.b.add(row.get(), i64(LANES)))
        number.set(w.b.add(number.get(), i64(_STEP)))
    for known, total in zip(file.checksum, sums, strict=True):
        with w.when(w.compare("!=", total.get(), i64(known))):
            w.give(i32(0))
    w.give(i32(1))


def _emit_map(
    module: ir.Module, file: WeightsFile, address: Any, path: Any, reason: Any, descriptor: Any
) -> None:
    """Takes the file that `path` names into memory; gives whether it could be opened."""
    w = FunctionWriter(module, "flowc_weights_map", I32, {})
    fd = w.call("open", path, i32(os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY))
    with w.when(w.compare("<", fd, i32(0))):
        w.b.store(w.text("cannot be opened; it belongs beside the library"), reason)
        w.give(i32(0))

    def refuse_if(condition: Any, why: str) -> None:
        with w.when(condition):
            w.b.store(w.text(why), reason)
            w.call("close", fd)
            w.give(i32(1))

    foreign = "is not the one that this library was built with"
    refuse_if(w.compare("==", w.call("flowc_weights_is_right", fd), i32(0)), foreign)
    size = i64(file.file_bytes)
    access, kind, source = _READ, _PRIVATE, fd
    if not file.is_mapped:
        access, kind, source = _READ | _WRITE, _PRIVATE | _ANONYMOUS, i32(-1)
    place = w.call("mmap", NULL, size, i32(access), i32(kind), source, i64(0))
    failed = w.compare("==", w.b.ptrtoint(place, I64), i64(-1))
    refuse_if(failed, "cannot be mapped: address space is short")
    if file.is_mapped:
        w.b.store(fd, descriptor)
    else:
        at = w.variable(i64(0))
        with w.loop() as loop:
            loop.leave_if(w.compare("==", at.get(), size))
            left = w.b.sub(size, at.get())
            got = w.call("pread", fd, w.element(place, at.get(), I8), left, at.get())
            with w.when(w.compare("<=", got, i64(0))):
                w.call("munmap", place, size)
            refuse_if(w.compare("<=", got, i64(0)), "cannot be read")
            at.set(w.b.add(at.get(), got))
        w.call("close", fd)
    blob = w.element(place, i64(HEADER_BYTES // 8))
    with w.when(w.compare("==", w.call("flowc_weights_is_whole", blob), i32(0))):
        w.b.store(w.text("is damaged: its weights are not those that it was written with"), reason)
        w.call("munmap", place, size)
        if file.is_mapped:
            w.call("close", fd)
        w.give(i32(1))
    w.b.store(blob, address)
    w.give(i32(1))


def _emit_open(
    module: ir.Module, file: WeightsFile, path: Any, reason: Any, address: Any
) -> ir.Function:
    """Looks beside the library as it was named, then beside the file that links lead to; in both
    places first for the file of its own name, which is there where a compilation was ended between
    its files."""
    w = FunctionWriter(module, "flowc_weights_open", VOID, {})
    w.b.store(w.text("cannot be found: the library does not know its own path"), reason)
    info = w.block(32)
    here = as_pointer(w.function)
    with w.when(w.compare("==", w.call("dladdr", here, info), i32(0))):
        w.give()
    named = w.load(info, i64(0), PTR)
    with w.when(w.compare("==", named, NULL)):
        w.give()

    def look_beside(name: Any) -> Any:
        w.print_to(path, i64(_PATH_BYTES), f"%s{file.own_suffix}", name)
        w.call("flowc_weights_map")
        with w.when(w.compare("!=", w.b.load(address, typ=PTR), NULL)):
            w.give()
        w.print_to(path, i64(_PATH_BYTES), f"%s{SUFFIX}", name)
        return w.call("flowc_weights_map")

    with w.when(w.compare("!=", look_beside(named), i32(0))):
        w.give()
    real = w.call("realpath", named, NULL)
    with w.when(w.compare("!=", real, NULL)):
        look_beside(real)
        w.call("free", real)
    w.give()
    return w.function


def _emit_close(module: ir.Module, file: WeightsFile, address: Any, descriptor: Any) -> ir.Function:
    w = FunctionWriter(module, "flowc_weights_close", VOID, {})
    place = w.b.load(address, typ=PTR)
    with w.when(w.compare("!=", place, NULL)):
        start = w.element(place, i64(-HEADER_BYTES // 8))
        w.call("munmap", start, i64(file.file_bytes))
        if file.is_mapped:
            w.call("close", w.b.load(descriptor, typ=I32))
        w.b.store(NULL, address)
    w.give()
    return w.function
