"""Compiled code reads and writes nothing beside its memory, uses nothing that nobody has written,
and does nothing with numbers that is undefined: kernels, driver and runtime with checks in them, in
a child with the C compiler's address sanitizer.

`FLOWC_SANITIZE=1` (`make sanitize`) tries the cases of every op, and random graphs and loops; else
some of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import sanitizer_child
from op_cases import TESTED
from sanitized import environment, runtime_of_the_compiler

pytestmark = pytest.mark.skipif(runtime_of_the_compiler() is None, reason="no address sanitizer")

EVERYTHING = "FLOWC_SANITIZE" in os.environ
OPS = [op.name for op in TESTED]
AT_ONCE = 24  # names that one child tries
TRIED = ["memory:gather_nd", "values:in_top_k", "sizes:resize_bilinear_grad", "loops:0"]
TRIED += ["convolution:9", "convolution:26"]  # by tiles of 2 x 2 outputs, of 4 x 4
TRIED += ["contractions:76", "contraction-values:4", "moves:0"]
if EVERYTHING:
    TRIED = [f"{kind}:{name}" for kind in ("memory", "values", "sizes") for name in OPS]
    TRIED += [f"{kind}:{seed}" for kind in ("graphs", "loops") for seed in range(200)]
    TRIED += [f"large:{seed}" for seed in range(200)]
    TRIED += [f"contractions:{seed}" for seed in range(300)]
    TRIED += [f"moves:{seed}" for seed in range(300)]
    TRIED += [f"contraction-values:{seed}" for seed in range(300, 400)]
    TRIED += [f"convolution:{pixels}" for pixels in range(3, 30)]
    TRIED += [f"convolution:{n}.{w}" for n in (8, 17) for w in ("5.5", "1.7", "7.1", "1.3", "5.1")]


def rows(*arguments: str) -> dict[str, list[str]]:
    command = [sys.executable, sanitizer_child.__file__, *arguments]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return dict(json.loads(line) for line in done.stdout.splitlines())


def test_what_is_planted_is_found() -> None:
    found = rows("plants")
    right = [name for name, reports in found.items() if name == "nothing" or "right" in name]
    assert {name for name, reports in found.items() if not reports} == set(right)
    kinds = {name: reports[0].partition(":")[0] for name, reports in found.items() if reports}
    assert kinds["a read beside an input"] == kinds["a write beside an output"] == "memory"
    assert kinds["a byte beside a value"] == kinds["a read beside a constant"] == "memory"
    assert kinds["an output that is not all written"].startswith("output 0 is of memory")
    planted = {*sanitizer_child.VALUES, *sanitizer_child.ACCESSES}
    assert {f"{name}, wrong" for name in planted} < set(kinds)


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("first", range(0, len(TRIED), AT_ONCE))
def test_nothing_is_reported(first: int) -> None:
    names = TRIED[first : first + AT_ONCE]
    found = rows(*names)
    assert list(found) == names
    assert {name: reports for name, reports in found.items() if reports} == {}
