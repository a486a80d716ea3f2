"""What the system lets this process have.

In: nothing. Out: a number. Invariant: it is asked each time, as it may change while a process runs.
"""

from __future__ import annotations

import os


def usable_cores() -> int:
    """The cores that the calling thread may run on: `taskset` and containers leave it some."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
