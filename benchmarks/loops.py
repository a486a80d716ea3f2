"""Whole loops on one thread: scalar, recurrent, nested, with gathers; beside TensorFlow and XLA."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from contractions import seconds_at_peak
from loop_programs import PRODUCTS, TRIPS, cases
from rounds import Row, Timer, compare, timer
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
    """Beside programs that are bound by their products stands what these take at the `peak` of
    multiply-adds in registers: nothing can be faster, and its ratio is our share of the peak."""
    rows = []
    for name in cases():
        peers: dict[str, Timer] = {}
        if name in PRODUCTS:
            peers["peak"] = partial(seconds_at_peak, PRODUCTS[name])
        if peer is not None:
            peers |= {"XLA": peer.timer(name, "xla"), "executor": peer.timer(name, "executor")}
        goal = f"{GOAL}, {TRIPS // 100_000} ms" if name == "scalar while" else GOAL
        rows.append(
            compare(name, timer(open_program(name)), peers, rounds=min(rounds, 9), goal=goal)
        )
    return rows
