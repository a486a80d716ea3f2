"""Whole loops on one thread: scalar, recurrent, nested, with gathers; beside TensorFlow and XLA."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from loop_programs import TRIPS, cases
from rounds import Row, compare, timer
from tensorflow_peer import TensorFlowPeer

GOAL = "each 2x"


def open_program(name: str) -> Callable[[], Any]:
    """A call that runs a program once."""
    import flowc

    build, arrays = cases()[name]
    graph = flowc.Graph()
    with graph.as_default():
        inputs = [flowc.placeholder(a.dtype, a.shape) for a in arrays]
        found = build(flowc, *inputs)
    fetches = list(found) if isinstance(found, tuple) else [found]
    feeds = dict(zip(inputs, arrays))
    session = flowc.Session(graph=graph, threads=1)
    return lambda: session.run(fetches, feeds)


def measure(peer: TensorFlowPeer | None, rounds: int) -> list[Row]:
    rows = []
    for name in cases():
        peers = {}
        if peer is not None:
            peers = {"XLA": peer.timer(name, "xla"), "executor": peer.timer(name, "executor")}
        goal = f"{GOAL}, {TRIPS // 100_000} ms" if name == "scalar while" else GOAL
        rows.append(
            compare(name, timer(open_program(name)), peers, rounds=min(rounds, 9), goal=goal)
        )
    return rows
