"""Relocatable objects -> one image, which a process copies into memory and runs without LLVM.

In: objects that LLVM made for x86-64, position-independent. Out: bytes: what is known of the image
as JSON, then its code, constants and data, each on pages of its own. Invariant: an image does what
LLVM's linker in memory makes of the same objects. There is none of objects that hold more than code
of flowc has (thread-local data, constructors, other processors): LLVM loads these.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cache
from typing import Any

from flowc.dataclass import dataclass
from flowc.errors import InternalError

MAGIC = b"\x7fFLOWIMG"
_START = struct.Struct("<8sI")  # the magic number and the bytes of JSON
_PAGE = 4096

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATION = struct.Struct("<QQq")
_X86_64 = 62
_PROGBITS, _SYMTAB, _RELA, _NOBITS = 1, 2, 4, 8
_WRITE, _ALLOC, _EXEC, _THREAD_LOCAL = 1, 2, 4, 0x400
_ABSOLUTE, _RESERVED = 0xFFF1, 0xFF00
_R_64, _R_PC32, _R_PLT32, _R_GOTPCREL, _R_GOTPCRELX, _R_REX_GOTPCRELX = 1, 2, 4, 9, 41, 42
_NEAR, _TABLE = (_R_PC32, _R_PLT32), (_R_GOTPCREL, _R_GOTPCRELX, _R_REX_GOTPCRELX)
# Who loads code in memory runs no destructors of it, and unwinds no stack through it.
_LEFT_OUT = (".eh_frame", ".fini_array")
_CALLED_AT_START = (".init_array", ".ctors")


class _Unusual(Exception):
    """An object holds what an image has no place for."""


def is_image(data: bytes) -> bool:
    return data.startswith(MAGIC)


def link_image(objects: Sequence[bytes]) -> bytes | None:
    """The image of objects; None where LLVM has to load them."""
    try:
        return _Linker([_Object(data) for data in objects if data]).image()
    except _Unusual:
        return None


class _Object:
    """The sections of an object that are loaded, by number, and its symbols."""

    def __init__(self, data: bytes) -> None:
        header = _HEADER.unpack_from(data) if data.startswith(b"\x7fELF\x02") else None
        if header is None or header[2] != _X86_64:
            raise _Unusual
        self.data = data
        at, count, names = header[6], header[12], header[13]
        self.rows = [_SECTION.unpack_from(data, at + i * _SECTION.size) for i in range(count)]
        self.loaded: dict[int, tuple[Any, ...]] = {}
        self.relocations: list[tuple[int, tuple[Any, ...]]] = []
        self.symbols: list[tuple[str, int, int]] = []  # name (none: local), section, value
        for number, row in enumerate(self.rows):
            name = self._text(names, row[0])
            if row[2] & _ALLOC and name not in _LEFT_OUT:
                is_plain = row[1] in (_PROGBITS, _NOBITS) and not row[2] & _THREAD_LOCAL
                if not is_plain or name.startswith(_CALLED_AT_START):
                    raise _Unusual
                self.loaded[number] = row
        for row in self.rows:
            if row[1] == _SYMTAB:
                self._read_symbols(row)
            elif row[1] == _RELA and row[7] in self.loaded:
                places = range(row[4], row[4] + row[5], _RELOCATION.size)
                self.relocations += [(row[7], _RELOCATION.unpack_from(data, p)) for p in places]

    def _read_symbols(self, row: tuple[Any, ...]) -> None:
        for at in range(row[4], row[4] + row[5], _SYMBOL.size):
            name, info, _, section, value, _ = _SYMBOL.unpack_from(self.data, at)
            if section >= _RESERVED and section != _ABSOLUTE:
                raise _Unusual
            text = self._text(row[6], name) if info >> 4 else ""
            self.symbols.append((text, section, value))

    def _text(self, table: int, at: int) -> str:
        begin = self.rows[table][4] + at
        return self.data[begin : self.data.index(b"\0", begin)].decode()


@dataclass(slots=True)
class _Part:
    """Bytes that have the same protection. `start`: its place in the image."""

    data: bytearray = field(default_factory=bytearray)
    start: int = 0

    def add(self, data: bytes, alignment: int) -> int:
        """Appends; gives the place in the part."""
        self.data += bytes(-len(self.data) % max(alignment, 1))
        self.data += data
        return len(self.data) - len(data)


class _Linker:
    """Places the sections of objects, then writes what their relocations ask for."""

    def __init__(self, objects: Sequence[_Object]) -> None:
        self.objects = objects
        self.code, self.constants, self.data = _Part(), _Part(), _Part()
        self.exports: dict[str, int] = {}
        self.imports: dict[str, list[int]] = {}  # 8 bytes, to which the address is added
        self.bases: list[int] = []  # 8 bytes, to which the address of the image is added
        self._places: dict[tuple[int, int], tuple[_Part, int]] = {}
        self._slots: dict[str | int, int] = {}  # of the table of addresses, in the constants
        self._jumps: dict[str, int] = {}  # to what is not in the image, in the code

    def image(self) -> bytes:
        for number, found in enumerate(self.objects):
            for index, row in found.loaded.items():
                self._place(number, index, row, found.data)
        known = self._defined()
        self._reserve(known)
        at = 0
        for part in (self.code, self.constants, self.data):
            part.start = at
            at += -(-len(part.data) // _PAGE) * _PAGE
        self.exports = {name: self._at(place) for name, place in known.items()}
        for number, found in enumerate(self.objects):
            for section, row in found.relocations:
                self._relocate(number, section, row)
        self._fill_tables()
        return self._bytes(at)

    def _place(self, number: int, index: int, row: tuple[Any, ...], data: bytes) -> None:
        part = self.code if row[2] & _EXEC else self.data if row[2] & _WRITE else self.constants
        if row[8] > _PAGE:
            raise _Unusual
        content = bytes(row[5]) if row[1] == _NOBITS else data[row[4] : row[4] + row[5]]
        self._places[number, index] = part, part.add(content, row[8])

    def _defined(self) -> dict[str, tuple[int, int, int]]:
        """(object, section, value) of every name for others; of several the first is taken."""
        found: dict[str, tuple[int, int, int]] = {}
        for number, each in enumerate(self.objects):
            for name, section, value in each.symbols:
                if name and (number, section) in self._places:
                    found.setdefault(name, (number, section, value))
        return found

    def _reserve(self, known: Mapping[str, object]) -> None:
        """Makes room for jumps to what is elsewhere, and for a table of addresses."""
        for number, each in enumerate(self.objects):
            for _, (_, info, _) in each.relocations:
                kind, symbol = info & 0xFFFFFFFF, info >> 32
                name, section, _ = each.symbols[symbol]
                is_here = name in known or (number, section) in self._places
                if not is_here and not name:
                    raise _Unusual
                if kind in _NEAR and not is_here and name not in self._jumps:
                    self._jumps[name] = self.code.add(bytes(8), 8)
                    self._slot(name)
                elif kind in _TABLE:
                    self._slot(name or symbol << 32 | number)
                elif kind not in (*_NEAR, _R_64):
                    raise _Unusual

    def _slot(self, key: str | int) -> int:
        if key not in self._slots:
            self._slots[key] = self.constants.add(bytes(8), 8)
        return self._slots[key]

    def _at(self, place: tuple[int, int, int]) -> int:
        part, start = self._places[place[:2]]
        return part.start + start + place[2]

    def _address(self, number: int, symbol: int) -> int | None:
        """Where in the image a symbol of an object is; None where it is elsewhere."""
        name, section, value = self.objects[number].symbols[symbol]
        if name in self.exports:
            return self.exports[name]
        return self._at((number, section, value)) if (number, section) in self._places else None

    def _relocate(self, number: int, section: int, row: tuple[Any, ...]) -> None:
        offset, info, addend = row
        kind, symbol = info & 0xFFFFFFFF, info >> 32
        name = self.objects[number].symbols[symbol][0]
        part, start = self._places[number, section]
        at = start + offset
        address = self._address(number, symbol)
        if kind == _R_64:
            self._write_address(part, at, address, name, addend)
            return
        if kind in _TABLE:
            slot = self._slots[name or symbol << 32 | number]
            if name not in self.exports and address is not None:
                struct.pack_into("<q", self.constants.data, slot, address)
            address = self.constants.start + slot
        elif address is None:
            address = self.code.start + self._jumps[name]
        struct.pack_into("<i", part.data, at, address + addend - part.start - at)

    def _write_address(
        self, part: _Part, at: int, address: int | None, name: str, addend: int
    ) -> None:
        struct.pack_into("<q", part.data, at, (address or 0) + addend)
        if address is None:
            self.imports.setdefault(name, []).append(part.start + at)
        else:
            self.bases.append(part.start + at)

    def _fill_tables(self) -> None:
        for key, slot in self._slots.items():
            if isinstance(key, int):
                self.bases.append(self.constants.start + slot)
            else:
                self._write_address(self.constants, slot, self.exports.get(key), key, 0)
        for name, jump in self._jumps.items():
            to = self.constants.start + self._slots[name] - (self.code.start + jump + 6)
            self.code.data[jump : jump + 6] = b"\xff\x25" + struct.pack("<i", to)  # jmp [rip + to]

    def _bytes(self, size: int) -> bytes:
        known = {
            "ends": [self.constants.start, self.data.start, size],
            "exports": self.exports,
            "imports": self.imports,
            "bases": self.bases,
        }
        text = json.dumps(known).encode()
        content = bytearray(self.data.start + len(self.data.data))
        for part in (self.code, self.constants, self.data):
            content[part.start : part.start + len(part.data)] = part.data
        return _START.pack(MAGIC, len(text)) + text + content


class LoadedImage:
    """An image mapped into memory, which is freed with this object."""

    def __init__(self, data: bytes, known: Mapping[str, int]) -> None:
        """`known`: addresses of what this process has for images; else its libraries are asked.
        Raises `InternalError` for a name that nobody has."""
        length = _START.unpack_from(data)[1]
        content = memoryview(data)[_START.size + length :]
        header = json.loads(data[_START.size : _START.size + length])
        code, constants, size = header["ends"]
        self._memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        self._memory[: len(content)] = content
        base = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        for at in header["bases"]:
            self._add(at, base)
        for name, places in header["imports"].items():
            address = known.get(name) or _address_in_process(name)
            for at in places:
                self._add(at, address)
        _protect(base, code, mmap.PROT_READ | mmap.PROT_EXEC)
        _protect(base + code, constants - code, mmap.PROT_READ)
        self._base, self._exports = base, header["exports"]

    def address_of(self, name: str) -> int:
        """Where a function is."""
        return self._base + self._exports[name]

    def keep_for_good(self) -> None:
        """Has the memory stay until the process has ended, after Python has."""
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self._memory))

    def _add(self, at: int, address: int) -> None:
        (before,) = struct.unpack_from("<q", self._memory, at)
        struct.pack_into("<q", self._memory, at, before + address)


def _address_in_process(name: str) -> int:
    try:
        found = ctypes.cast(getattr(_process(), name), ctypes.c_void_p).value
    except AttributeError:
        found = None
    if found is None:
        raise InternalError(f"code from the cache calls {name}, which this process does not have")
    return found


@cache
def _process() -> ctypes.CDLL:
    found = ctypes.CDLL(None, use_errno=True)
    found.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return found


def _protect(address: int, size: int, protection: int) -> None:
    if size and _process().mprotect(address, size, protection):
        raise InternalError(f"memory for code cannot be had: error {ctypes.get_errno()}")
