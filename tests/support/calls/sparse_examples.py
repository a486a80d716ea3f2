"""The recorded calls of ops on sparse tensors and on sets, as examples that a Session runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from calls.sparse_op_calls import CALLS, listed

import flowc as tf

RECORDED = Path(__file__).parents[2] / "recorded" / "sparse_ops.npz"


def _example(name: str) -> Callable[[], list[tuple[Any, Any]]]:
    def build() -> list[tuple[Any, Any]]:
        with np.load(RECORDED) as recorded:
            return [
                (tensor, recorded[f"{name}/{k}/{i}"])
                for k, call in enumerate(CALLS[name])
                for i, tensor in enumerate(listed(call(tf.raw_ops)))
            ]

    return build


SPARSE_EXAMPLES = {name: _example(name) for name in CALLS}
