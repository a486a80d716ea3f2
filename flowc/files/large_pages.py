"""Memory of the process for what is large: in large pages, where the system has them.

The system hands out each page when it is first written, and clears it before: with pages of 4 KB
that takes several times as long as to fill them.
"""

from __future__ import annotations

import mmap
from contextlib import suppress

LARGE = 1 << 22  # bytes for which large pages pay


def use_large_pages(memory: mmap.mmap) -> None:
    """Asks for large pages behind memory that nobody has written to yet, if there is enough."""
    if len(memory) >= LARGE:
        with suppress(OSError):  # a kernel without large pages
            memory.madvise(mmap.MADV_HUGEPAGE)
