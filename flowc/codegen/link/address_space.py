"""Room for the sections of loaded code near one another.

In: how many bytes are about to be mapped, in several pieces. Out: a context in which the kernel
places them side by side. Invariant: nothing stays mapped after it.

Code reaches its constants over 2 GiB at most. LLVM's memory manager maps each section by itself,
and where a process has small holes in its address space far above the next large one, as one with
many threads and libraries may, the sections end up too far apart, and LLVM aborts the process. So
the holes that are too small for all of them together are filled while they are mapped.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_PRIVATE_ANONYMOUS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
_NO_ACCESS = 0
_FAILED = ctypes.c_void_p(-1).value
MOST_HOLES = 1 << 14  # a process with more is left to LLVM


class _Maps:
    """Mappings that nobody may touch, which only take their place."""

    def __init__(self) -> None:
        libc = ctypes.CDLL(None)
        self._map = libc.mmap
        self._map.restype = ctypes.c_void_p
        self._map.argtypes = [
            *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int),
            *(ctypes.c_int, ctypes.c_long),
        ]
        self._unmap = libc.munmap
        self._unmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

    def take(self, size: int) -> int | None:
        """The address that the kernel chose, if any."""
        address = self._map(None, size, _NO_ACCESS, _PRIVATE_ANONYMOUS, -1, 0)
        return None if address in (None, _FAILED) else address

    def drop(self, address: int, size: int) -> None:
        self._unmap(address, size)


@contextmanager
def side_by_side(size: int) -> Iterator[None]:
    """Maps of `size` bytes in all, made while this lasts, are placed in one hole."""
    if not sys.platform.startswith("linux"):
        yield
        return
    maps = _Maps()
    size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
    room = maps.take(size)
    filled = _holes_above(maps, room, size) if room is not None else []
    try:
        if room is not None:
            maps.drop(room, size)
        yield
    finally:
        for address, length in filled:
            maps.drop(address, length)


def _holes_above(maps: _Maps, room: int, size: int) -> list[tuple[int, int]]:
    """Fills the holes that the kernel would choose before the room: those above it, too small for
    all. The kernel takes the highest hole that is large enough."""
    filled: list[tuple[int, int]] = []
    length = size
    while length > mmap.PAGESIZE and len(filled) < MOST_HOLES:
        length = -(-length // 2 // mmap.PAGESIZE) * mmap.PAGESIZE
        while len(filled) < MOST_HOLES:
            address = maps.take(length)
            if address is None:
                break
            if address < room:
                maps.drop(address, length)
                break
            filled.append((address, length))
    return filled
