"""Calls of functions: expanded by extraction, so that they lower to nothing of their own."""

from __future__ import annotations

from flowc.ir.lowering import Structural
from flowc.ir.op import Inference, Op, define
from flowc.ir.types import Dims


def _infer_call(c: Inference) -> list[Dims]:
    raise c.fail("calls have no types of their own: they are expanded when a graph is extracted")


_ATTRS = (
    'Tin: list(type), Tout: list(type), f: func, config: string = "", config_proto: string = "",'
)

for _name, _tf in (
    ("partitioned_call", "PartitionedCall"),
    ("stateful_partitioned_call", "StatefulPartitionedCall"),
):
    define(
        Op(
            _name,
            f'{_tf}(args: Tin; {_ATTRS} executor_type: string = "") -> output: Tout',
            infer=_infer_call,
            lowering=Structural(),
            traits=frozenset({"stateful"}),
        )
    )
