"""A step that chooses between tensors of two ranks, where a Session fetches one of them.

In: which of them a run has, and both. Out: a variant with a copy of it, which `run/calls.py` puts
into its place among the results. Invariant: nothing else is made of the variant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.host_run import ChosenTensor, held
from flowc.ops.host_ops import host_op


def _chosen(inputs: Sequence[Any], _: Sequence[DType]) -> list[np.ndarray[Any, Any]]:
    is_first, first, second = map(held, inputs)
    return [held(ChosenTensor.of((first if is_first else second).copy()))]


chosen_tensor = host_op(
    "chosen_tensor",
    "_ChosenTensor(is_first: bool, first: T, second: T; T: type) -> chosen: string",
    _chosen,
    infer=lambda c: (),
    shown="Merge",
)
