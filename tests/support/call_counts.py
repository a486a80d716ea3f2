"""How much work a step is, the same in every run: tests assert counts, never times."""

from __future__ import annotations

import sys
from collections.abc import Callable


def calls(step: Callable[[], object]) -> int:
    """How many function calls a step makes."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        step()
    finally:
        sys.setprofile(None)
    return count
