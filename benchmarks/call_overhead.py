"""What one `Session.run` of a two-op graph costs beside an empty call through ctypes, in one round.

Times are of 1000 calls, so that a row's milliseconds are microseconds a call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from rounds import Row, compare, timer

from flowc import dtypes
from flowc.graph import Graph
from flowc.run.session import Session

CALLS = 1000


def _many(call: Callable[[], Any]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            call()

    return run


def _two_ops() -> tuple[Session, Any, Any]:
    """y = relu(x + x) for four numbers."""
    graph = Graph()
    with graph.as_default():
        attrs = {"dtype": dtypes.f32, "shape": (4,)}
        x = graph.add_operation("Placeholder", (), attrs, "x", output_types=[(dtypes.f32, (4,))])
        double = graph.add_operation("AddV2", (x.outputs[0],) * 2, {"T": dtypes.f32}, "double")
        y = graph.add_operation("Relu", (double.outputs[0],), {"T": dtypes.f32}, "y")
    return Session(graph=graph, threads=1), x.outputs[0], y.outputs[0]


def measure() -> list[Row]:
    session, x, y = _two_ops()
    feed = np.arange(4, dtype=np.float32)
    empty = ctypes.CFUNCTYPE(ctypes.c_int)(("abs", ctypes.CDLL(None)))
    peers = {"empty ctypes call": timer(_many(empty))}
    run = timer(_many(lambda: session.run(y, {x: feed})))
    return [compare("Session.run, us a call", run, peers, goal="15 us")]
