"""Compiled code whose allocations fail: the run is refused as one that lacks memory, or does
without; nothing is lost, variables are as they were, and the next run is right.

`FLOWC_FUZZ` tries more programs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import allocation_child
import pytest

SOURCE = Path(allocation_child.__file__).with_name("failing_malloc.c")
FEW = ["size_of_the_run", "growing", "variable", "library"]
NAMES = [*allocation_child.BUILT, "variable", "library"] if "FLOWC_FUZZ" in os.environ else FEW

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def test_fuzz_every_allocation_may_fail(tmp_path: Path) -> None:
    shim = tmp_path / "failing_malloc.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(shim), str(SOURCE), "-ldl", "-lpthread"]
    subprocess.run(command, check=True)
    environment = os.environ | {
        "LD_PRELOAD": str(shim),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [sys.executable, allocation_child.__file__, str(tmp_path), *NAMES]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row[0] for row in found] == NAMES
    for name, refused, right, allocations, wrong in found:
        assert not wrong, name
        # Where only one fails, what the arena keeps is freed and the allocation is tried again.
        assert refused >= allocations > 0 < right, name
