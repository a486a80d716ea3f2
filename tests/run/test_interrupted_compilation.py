"""Ctrl-C while a program is compiled: it comes out at once, and the Session compiles again.

`FLOWC_INTERRUPTS=500` takes so many in place of ten.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import interrupted_compiler

COUNT = int(os.environ.get("FLOWC_INTERRUPTS", "10"))
LONGEST = 4  # seconds; 0.1 is usual, and a machine may be busy


def test_interrupts(tmp_path: Path) -> None:
    paths = os.pathsep.join(sys.path)
    environment = os.environ | {"FLOWC_CACHE": "0", "PYTHONPATH": paths, "TMPDIR": str(tmp_path)}
    command = [sys.executable, interrupted_compiler.__file__, "1", str(COUNT)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert not found.returncode, found.stderr[-2000:]
    seconds, left = map(json.loads, found.stdout.splitlines())
    assert len(seconds) == COUNT
    assert 0 < max(seconds) < LONGEST
    assert left == [[], []]  # neither threads nor files
