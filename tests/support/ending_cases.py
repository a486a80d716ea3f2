"""Cases that end their child in each way that there is, for the test of those who tell it."""

from __future__ import annotations

import os
import signal
import time

from flowc.errors import ResourceExhaustedError


def _refused() -> None:
    raise ResourceExhaustedError("no room", node="x")


CASES = {
    "answers": lambda: "an answer",
    "refuses": _refused,
    "breaks": lambda: [][0],
    "crashes": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "leaves": lambda: os._exit(3),
    "asks for too much": lambda: bytearray(1 << 40),
    "hangs": lambda: time.sleep(600),
    "answers again": lambda: "another",
}
