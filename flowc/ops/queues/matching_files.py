"""MatchingFiles: the names of the files that match patterns.

In: patterns, as strings. Out: a host step. Invariant: names are sorted, each once.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.capability import FILES
from flowc.ir.lowering import Host
from flowc.ir.op import Inference, define
from flowc.ir.types import Dims

Array = np.ndarray[Any, Any]


def _matching(inputs: Sequence[Any], _: Sequence[DType]) -> list[Array]:
    patterns = np.asarray(inputs[0], object).reshape(-1).tolist()
    names = {os.fsencode(name) for pattern in patterns for name in glob.glob(os.fsencode(pattern))}
    found = np.empty(len(names), object)
    found[:] = sorted(names)
    return [found]


def _infer(c: Inference) -> Dims:
    return (c.fresh("files"),)


matching_files = define(
    "matching_files",
    "MatchingFiles(pattern: string) -> filenames: string",
    infer=_infer,
    lowering=Host(_matching, "MatchingFiles"),
    traits=frozenset({"stateful"}),
    capability=FILES,
)
