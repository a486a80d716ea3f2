"""Weights beside the library: the format of the side file, and the code that maps it at load.

In: the packed weights. Out: `<library>.weights`, a 64-byte header and the blob; and functions that
open it when the library is loaded. Invariant: a file is mapped only if its header, which holds the
blob's size and SHA-256, is byte for byte the one the library was built with.

Header, little endian: magic `FLOWCWTS`, u32 format 1, u32 0, u64 blob bytes, 32 bytes SHA-256 of
the blob, 8 zero bytes. The blob starts at byte 64 of the file.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from flowc_runtime.native.writer import (
    I8,
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
_PATH_BYTES = 4096


@dataclass(frozen=True, slots=True)
class WeightsFile:
    """What a library knows of its side file."""

    size: int
    sha256: bytes

    def header(self) -> bytes:
        return struct.pack("<8sIIQ32s8x", b"FLOWCWTS", 1, 0, self.size, self.sha256)


@dataclass(frozen=True, slots=True)
class Mapping:
    """The functions to run when the library is loaded and unloaded."""

    open: ir.Function
    close: ir.Function


def emit_weights_mapping(module: ir.Module, file: WeightsFile) -> Mapping:
    """Adds `flowc_weights_address` (NULL if there is none), `.._path` and `.._reason`."""

    def state(name: str, kind: ir.Type) -> Any:
        return as_pointer(new_global(module, f"flowc_weights_{name}", kind))

    address = state("address", PTR)
    path = state("path", ir.ArrayType(I8, _PATH_BYTES))
    reason = state("reason", PTR)
    _emit_map(module, file, address, path, reason)
    return Mapping(_emit_open(module, path, reason), _emit_close(module, file, address))


def _emit_map(module: ir.Module, file: WeightsFile, address: Any, path: Any, reason: Any) -> None:
    """Maps the file that `path` names; gives whether it could be opened."""
    w = FunctionWriter(module, "flowc_weights_map", ir.IntType(32), {})
    read_only_close_on_exec = i32(0o2000000)
    fd = w.call("open", path, read_only_close_on_exec)
    with w.when(w.compare("<", fd, i32(0))):
        w.b.store(w.text("cannot be opened; it belongs beside the library"), reason)
        w.give(i32(0))
    header = file.header()
    found = w.block(HEADER_BYTES)
    expected = ir.Constant(ir.ArrayType(I8, HEADER_BYTES), bytearray(header))
    got = w.call("pread", fd, found, i64(HEADER_BYTES), i64(0))
    wrong = w.variable(ir.Constant(ir.IntType(1), 1))
    with w.when(w.compare("==", got, i64(HEADER_BYTES))):
        known = as_pointer(data_constant(module, expected, "header"))
        differs = w.call("memcmp", found, known, i64(HEADER_BYTES))
        end = w.call("lseek", fd, i64(0), i32(2))
        is_short = w.compare("!=", end, i64(HEADER_BYTES + file.size))
        wrong.set(w.b.or_(w.compare("!=", differs, i32(0)), is_short))
    with w.when(wrong.get()):
        w.b.store(w.text("is not the one that this library was built with"), reason)
        w.call("close", fd)
        w.give(i32(1))
    size = i64(HEADER_BYTES + file.size)
    read, private = i32(1), i32(2)
    place = w.call("mmap", NULL, size, read, private, fd, i64(0))
    w.call("close", fd)
    with w.when(w.compare("==", w.b.ptrtoint(place, I64), i64(-1))):
        w.b.store(w.text("cannot be mapped: address space is short"), reason)
        w.give(i32(1))
    w.b.store(w.element(place, i64(HEADER_BYTES // 8)), address)
    w.give(i32(1))


def _emit_open(module: ir.Module, path: Any, reason: Any) -> ir.Function:
    """Looks beside the library as it was named, then beside the file that links lead to."""
    w = FunctionWriter(module, "flowc_weights_open", VOID, {})
    w.b.store(w.text("cannot be found: the library does not know its own path"), reason)
    info = w.block(32)
    here = as_pointer(w.function)
    with w.when(w.compare("==", w.call("dladdr", here, info), i32(0))):
        w.give()
    named = w.load(info, i64(0), PTR)
    with w.when(w.compare("==", named, NULL)):
        w.give()
    template = f"%s{SUFFIX}"
    w.print_to(path, i64(_PATH_BYTES), template, named)
    with w.when(w.compare("!=", w.call("flowc_weights_map"), i32(0))):
        w.give()
    real = w.call("realpath", named, NULL)
    with w.when(w.compare("!=", real, NULL)):
        w.print_to(path, i64(_PATH_BYTES), template, real)
        w.call("free", real)
        w.call("flowc_weights_map")
    w.give()
    return w.function


def _emit_close(module: ir.Module, file: WeightsFile, address: Any) -> ir.Function:
    w = FunctionWriter(module, "flowc_weights_close", VOID, {})
    place = w.b.load(address, typ=PTR)
    with w.when(w.compare("!=", place, NULL)):
        start = w.element(place, i64(-HEADER_BYTES // 8))
        w.call("munmap", start, i64(HEADER_BYTES + file.size))
        w.b.store(NULL, address)
    w.give()
    return w.function
