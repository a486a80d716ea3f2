"""Children of a process that compiled, compiles and runs: they do all that it does.

`FLOWC_FORKS=500` takes so many children in place of twenty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import fork_child
import pytest

SHARES = {
    "after_a_run": 6,
    "while_compiling": 6,
    "with_the_session_of_the_parent": 5,
    "forkserver": 2,
    "spawn": 1,
}
CHILDREN = int(os.environ.get("FLOWC_FORKS", "20"))


@pytest.mark.parametrize("kind", SHARES)
def test_children(kind: str) -> None:
    count = SHARES[kind] * CHILDREN // 20
    # Nothing comes from disk, so that children compile.
    environment = os.environ | {"FLOWC_CACHE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, fork_child.__file__, kind, str(count)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert found.stdout, found.stderr[-2000:]
    assert json.loads(found.stdout) == [0] * count, found.stderr[-2000:]
