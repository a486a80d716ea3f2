"""Random products and convolutions of the sizes that register tiles are made for agree with NumPy's
references, and give the same bits on one thread, on two and in odd pieces.

`FLOWC_FUZZ=1000` runs that many, `FLOWC_FUZZ_SEED` is the first one's seed. Seeds take turns with
the targets that this machine runs.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from campaigns.random_contractions import random_contraction
from campaigns.runnable_targets import TARGETS
from ir_reference import reference_results
from partitions import PartitionedProgram

from flowc.options import Options

FIRST = int(os.environ.get("FLOWC_FUZZ_SEED", "0"))
COUNT = int(os.environ.get("FLOWC_FUZZ", "24"))
NEAR = 1e-5  # of the largest result


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_random_contractions(seed: int) -> None:
    c, arrays = random_contraction(seed)
    options = Options(target=TARGETS[seed % len(TARGETS)])
    found = PartitionedProgram(c, options).run(arrays)
    for x, wanted in zip(found, reference_results(c, arrays), strict=True):
        assert x.shape == wanted.shape and x.dtype == wanted.dtype
        largest = max(1.0, float(np.max(np.abs(wanted), initial=0)))
        assert np.max(np.abs(x - wanted), initial=0) <= NEAR * largest, f"seed {seed}: {c}"
