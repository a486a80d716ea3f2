"""The line of the program at work that called flowc.

In: the stack of calls. Out: the innermost code that is not flowc's, and its line.
"""

from __future__ import annotations

import os
import sys
from types import CodeType

PACKAGE = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")) + "/"


def calling_line() -> tuple[CodeType, int] | None:
    """The code that called flowc, and the number of its line."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return None if frame is None else (frame.f_code, frame.f_lineno)
