"""Graphs with something wrong in them end in an error of flowc's, or in a result: no signal, no
hang, no other exception.

`FLOWC_FUZZ=1000` tries 2^17 of them and `FLOWC_FUZZ_SEED` is the first one's seed.
"""

from __future__ import annotations

import os
import warnings

import pytest
from campaigns.mutant_trials import faults

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "10")) * 2**17 // 1000
AT_ONCE = 256


@pytest.mark.parametrize("first", range(FIRST, FIRST + COUNT, AT_ONCE))
def test_fuzzed_graphs(first: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = faults(range(first, min(first + AT_ONCE, FIRST + COUNT)))
    assert not found, "\n".join(found)
