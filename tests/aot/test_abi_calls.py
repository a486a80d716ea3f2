"""C functions of a library with wrong arguments: an error code and a message, never a signal.

`FLOWC_FUZZ` makes 10^5 calls.
"""

from __future__ import annotations

import os
import shutil

import pytest
from calls.abi_calls import CASES
from case_child import outcomes

SEEDS = list(CASES) if "FLOWC_FUZZ" in os.environ else list(CASES)[:4]


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.timeout(1800)
def test_fuzz_wrong_arguments_are_refused() -> None:
    assert outcomes("calls.abi_calls", SEEDS) == dict.fromkeys(SEEDS, "right")
