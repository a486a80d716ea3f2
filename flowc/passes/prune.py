"""Drops what no result, effect or size needs."""

from __future__ import annotations

from flowc.ir.computation import Computation
from flowc.ir.options import Options
from flowc.ir.rewrite import prune_nodes


def prune(c: Computation, options: Options) -> Computation:
    return prune_nodes(c)
