"""Programs that ask a device in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def run_python(source: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with flowc, what it compiles kept in `folder`, `more` in its environment."""
    found = os.environ.get("PYTHONPATH")
    path = os.pathsep.join([str(ROOT), str(ROOT / "runtime"), *([found] if found else [])])
    env = {**os.environ, "PYTHONPATH": path, "FLOWC_CACHE_DIR": str(folder), **more}
    command = [sys.executable, "-c", source]
    return subprocess.run(command, env=env, text=True, capture_output=True, timeout=300)
