"""What memory a process can have.

In: what Linux tells of the machine and of the group of processes. Out: bytes.
"""

from __future__ import annotations

import os
from functools import cache

_GROUPS = ("memory.max", "memory/memory.limit_in_bytes")  # of the second and the first kind


@cache
def memory_of_machine() -> int:
    """Of the machine with what it can swap, or of the group of processes if that is less."""
    found = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") + _swap()]
    for name in _GROUPS:
        text = _read(f"/sys/fs/cgroup/{name}").strip()
        if text.isdecimal():
            found.append(int(text))
    return min(found)


def _swap() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("SwapTotal:"):
            return int(line.split()[1]) << 10
    return 0


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""
