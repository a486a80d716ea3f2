"""How native kernels say what is wrong: a part of theirs.

In: the status of a run, the number of a message (`Native.errors`, from 1), what it says. Out: the
status. Invariant: whoever calls it returns at once, or looks at the status.
"""

from __future__ import annotations

from typing import Any


def fail(status: Any, error: int, a: int, b: int, c: int) -> None:
    """A part of kernels."""
    status[0] = error
    status[1] = a
    status[2] = b
    status[3] = c
