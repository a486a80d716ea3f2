"""Code is loaded in one piece, also where the address space has holes far apart."""

from __future__ import annotations

import subprocess
import sys

import address_space_child
import pytest

from flowc.codegen.link.address_space import side_by_side


@pytest.mark.skipif(sys.platform != "linux", reason="says where Linux places what is mapped")
@pytest.mark.parametrize("pages", [1, 4, 12])
def test_a_hole_far_away(pages: int) -> None:
    command = [sys.executable, address_space_child.__file__, str(pages)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert (found.returncode, found.stdout) == (0, "3.0\n"), found.stderr[-2000:]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_nothing_stays_mapped() -> None:
    with open("/proc/self/statm") as file:
        before = int(file.read().split()[0])
    for _ in range(20):
        with side_by_side(1 << 26):
            pass
    with open("/proc/self/statm") as file:
        after = int(file.read().split()[0])
    assert after - before < (1 << 26) // 4096
