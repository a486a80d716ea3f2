"""Other names for what ELF objects define and call, so that several models live in one program.

In: relocatable objects. Out: the same objects with names changed, or with more names for what they
define. Invariant: code, data and relocations stay byte for byte; only tables of symbols and their
texts are written anew, behind what was there.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from flowc.dataclass import dataclass

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB = 2
_LOCAL = 0  # a binding
_UNDEFINED = 0  # a section


@dataclass(frozen=True, slots=True)
class _NamedPlace:
    name: str
    info: int
    other: int
    section: int
    value: int
    size: int

    @property
    def is_global(self) -> bool:
        return self.info >> 4 != _LOCAL and bool(self.name)


class _SymbolTable:
    """The table of symbols of an object, and where its header tells of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        header = _HEADER.unpack_from(data, 0)
        self.at_headers, self.count = header[6], header[12]
        rows = [self.section(i) for i in range(self.count)]
        self.index = next(i for i, row in enumerate(rows) if row[1] == _SYMTAB)
        self.row = rows[self.index]
        self.texts = rows[self.row[6]]

    def section(self, index: int) -> list[int]:
        return list(_SECTION.unpack_from(self.data, self.at_headers + index * _SECTION.size))

    def symbols(self) -> Iterator[_NamedPlace]:
        start, size = self.row[4], self.row[5]
        for at in range(start, start + size, _SYMBOL.size):
            name, *rest = _SYMBOL.unpack_from(self.data, at)
            begin = self.texts[4] + name
            text = self.data[begin : self.data.index(b"\0", begin)].decode()
            yield _NamedPlace(text, *rest)

    def written(self, symbols: Iterable[_NamedPlace]) -> bytes:
        """The object with these symbols."""
        # What is there stays: names of sections may stand in the same table.
        start, size = self.texts[4], self.texts[5]
        texts, rows = bytearray(self.data[start : start + size]), bytearray()
        for s in symbols:
            at = len(texts) if s.name else 0
            texts += s.name.encode() + b"\0" if s.name else b""
            rows += _SYMBOL.pack(at, s.info, s.other, s.section, s.value, s.size)
        found = bytearray(self.data)
        found += bytes(-len(found) % 8)
        for index, table in ((self.index, rows), (self.row[6], texts)):
            row = self.section(index)
            row[4], row[5] = len(found), len(table)
            _SECTION.pack_into(found, self.at_headers + index * _SECTION.size, *row)
            found += table + bytes(-len(table) % 8)
        return bytes(found)


def defined_names(data: bytes) -> list[str]:
    """What an object defines for others, in the order of its table."""
    return [s.name for s in _SymbolTable(data).symbols() if s.is_global and s.section != _UNDEFINED]


def renamed(data: bytes, name_of: Callable[[str], str]) -> bytes:
    """The object with other names for what it defines for others or takes from them."""
    tables = _SymbolTable(data)
    return tables.written(
        replace(s, name=name_of(s.name)) if s.is_global else s for s in tables.symbols()
    )


def with_more_names(data: bytes, names_of: Callable[[str], Iterable[str]]) -> bytes:
    """The object with more names for what it defines for others."""
    tables = _SymbolTable(data)
    symbols = list(tables.symbols())
    more = [
        replace(s, name=name)
        for s in symbols
        if s.is_global and s.section != _UNDEFINED
        for name in names_of(s.name)
    ]
    return tables.written([*symbols, *more])
