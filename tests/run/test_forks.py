"""Children of a process that compiled, compiles and runs: they do all that it does.

`FLOWC_FORKS=500` takes so many children in place of twenty.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading

import fork_child
import pytest

from flowc.ir.cached_property import cached_property

SHARES = {
    "after_a_run": 6,
    "while_compiling": 6,
    "with_the_session_of_the_parent": 5,
    "forkserver": 2,
    "spawn": 1,
}
CHILDREN = int(os.environ.get("FLOWC_FORKS", "20"))


class Waits:
    """The attribute of the first object is not there before that of the second."""

    def __init__(self, other: Waits | None) -> None:
        self.other = other
        self.asked = threading.Event()

    @cached_property
    def number(self) -> int:
        self.asked.set()
        if self.other is None:
            return 1
        self.other.asked.wait()
        return 2


def test_no_attribute_waits_for_that_of_another_object() -> None:
    """Else it would for ever in a child, where the thread that computes the other one is not."""
    second = Waits(None)
    first = Waits(second)
    thread = threading.Thread(target=lambda: first.number, daemon=True)
    thread.start()
    first.asked.wait()
    assert second.number == 1
    thread.join()
    assert first.number == 2


@pytest.mark.timeout(max(300, 15 * CHILDREN))
@pytest.mark.parametrize("kind", SHARES)
def test_children(kind: str) -> None:
    count = SHARES[kind] * CHILDREN // 20
    # Nothing comes from disk, so that children compile.
    environment = os.environ | {"FLOWC_CACHE": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, fork_child.__file__, kind, str(count)]
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert found.stdout, found.stderr[-2000:]
    assert json.loads(found.stdout) == [0] * count, found.stderr[-2000:]
