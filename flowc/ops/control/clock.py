"""timestamp: the time of the run.

In: nothing. Out: seconds since 1970. Invariant: every run asks anew.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.dtypes import DType
from flowc.ir.extraction import Bound, Extractor
from flowc.ir.lowering import Extracted
from flowc.ir.op import Attrs, define, op_named
from flowc.ops.host_ops import host_op
from flowc.ops.state.variables import STATE


def _now(inputs: Sequence[Any], _: Sequence[DType]) -> list[Any]:
    return [np.array(time.time_ns() // 1000 / 1e6)]


host_op(
    "clock",
    "_Clock() -> ts: f64",
    _now,
    infer=lambda c: (),
    shown="Timestamp",
    only_reads=False,
    traits=STATE,
)


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs) -> Sequence[Bound]:
    node = x.b.emit(op_named("clock"), (), {})
    x.effect(node)
    return node.outputs


define(
    "timestamp",
    "Timestamp() -> ts: f64",
    infer=lambda c: (),
    lowering=Extracted(_emit),
    traits=STATE,
)
