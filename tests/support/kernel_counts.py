"""How many kernels fused programs launch, as recorded in `tests/data/kernel_counts.json`.

In: the name of a program, its fused Computation. Invariant: what fuses today fuses tomorrow. A pass
or a decomposition that makes more launches of a program fails; one that makes fewer is recorded, by
`pytest -n 0 tests/ir/test_fused_text.py --update-golden`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fused_text import uses

from flowc.ir.computation import Computation

TARGET = "x86-64-v3"  # counted for one kind of processor, whatever runs the tests
RECORDED = Path(__file__).parents[1] / "data" / "kernel_counts.json"


def check_kernel_count(name: str, fused: Sequence[Computation], update: bool) -> None:
    """Compares, or records."""
    counts: dict[str, int] = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    found = sum(len(uses(c, TARGET)) for c in fused)
    if update:
        counts[name] = found
        RECORDED.write_text(json.dumps(counts, indent=0, sort_keys=True) + "\n")
    assert name in counts, f"{name} is not recorded: see tests/support/kernel_counts.py"
    more, fewer = found > counts[name], found < counts[name]
    assert not more, f"{name} launches {found} kernels, which were {counts[name]}"
    assert not fewer, f"{name} launches {found} kernels, {counts[name]} before: record it"
