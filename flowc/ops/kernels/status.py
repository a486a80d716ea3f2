"""How native kernels report errors: a part that they call.

In: the status of a run, the number of a message (`Native.errors`, from 1), the numbers in it. Out:
the status. Invariant: the caller returns at once, or checks the status.
"""

from __future__ import annotations

from typing import Any


def fail(status: Any, error: int, a: int, b: int, c: int) -> None:
    """Inlined: ends the kernel's run with error number `error`, whose message shows a, b and c."""
    status[0] = error
    status[1] = a
    status[2] = b
    status[3] = c
