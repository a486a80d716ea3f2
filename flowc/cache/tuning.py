"""Autotuning: algorithms of convolutions chosen by measuring them, once for each kind of
convolution and machine.

In: a Computation after all passes, and the CPU that it is compiled for. Out: the same target with
the algorithms to use. Invariant: what was chosen is kept with the kernels; whoever asks again with
the same cache gets the same, and nothing is measured.

A convolution is compiled alone, with what follows it in its cluster, by each algorithm.
These run in turns, on one thread, in the time of that thread: what else the machine does counts
little. Before each run the caches are filled with something else and then with the input, since in
a network the weights come from memory. That of the cost model stays unless another is clearly
faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from flowc.cache.recorded_clusters import lone_cluster
from flowc.dataclass import dataclass
from flowc.ir.bodies import nodes_within
from flowc.ir.computation import Computation, Node
from flowc.ir.lowering import Convolution
from flowc.ir.program_spec import spec_of

if TYPE_CHECKING:
    from flowc.cache.store import KernelCache
    from flowc.codegen.target import Target

ROUNDS = 7
CACHES = 64 << 20  # bytes, more than most have
GAIN = 0.95  # of the time of the cost model's algorithm, at most


@dataclass(frozen=True, slots=True)
class Trial:
    """A convolution, compiled by one algorithm, and what it is fed."""

    run: Callable[[list[np.ndarray]], object]
    feeds: list[np.ndarray]


def tuned(target: Target, c: Computation, store: KernelCache) -> Target:
    """The target with the algorithms of the convolutions of `c`. Raises `UsageError` where this
    machine cannot run what is compiled for it, and for GPUs."""
    target.check_runs_here()
    chosen: dict[Node, str] = {}
    for node in (inner for top in c.nodes for inner in nodes_within(top)):
        names = target.algorithms_of(node) if node.op.name == "cluster" else ()
        if len(names) > 1 and _is_static(node):
            kind = f"{_kind(node)} of {names}\n{target.key}"
            chosen[node] = store.choice(
                kind, lambda node=node, names=names: _fastest(node, names, target, store)
            )
    return target.with_algorithms(chosen)


def _is_static(node: Node) -> bool:
    values = (*node.inputs, *node.outputs)
    return all(isinstance(d, int) and d > 0 for v in values for d in v.dims)


def _kind(node: Node) -> str:
    """What the time of a cluster depends on: the types, the convolution, and what follows it."""
    inner = [n for n in node.attrs["body"].nodes if n.op.name not in ("parameter", "const")]
    does = [n.lowering if isinstance(n.lowering, Convolution) else n.label for n in inner]
    return f"{does} {[str(v.type) for v in (*node.inputs, *node.outputs)]}"


def _fastest(node: Node, names: Sequence[str], target: Target, store: KernelCache) -> str:
    """The algorithm that takes the least time, the cost model's first."""
    alone = lone_cluster(node, lambda value: value.node)
    (cluster,) = (n for n in alone.nodes if n.op.name == "cluster")
    trials = [_trial(alone, target.with_algorithms({cluster: name}), store) for name in names]
    seconds = measured(trials)
    best = min(range(len(names)), key=lambda i: seconds[i])
    return names[best if seconds[best] < GAIN * seconds[0] else 0]


def measured(trials: Sequence[Trial]) -> list[float]:
    """The least seconds of each, in turns."""
    others = np.ones(CACHES // 8)
    for trial in trials:
        trial.run(trial.feeds)
    times: list[list[float]] = [[] for _ in trials]
    for _ in range(ROUNDS):
        for trial, found in zip(trials, times):
            for array in (others, *trial.feeds):
                array.sum()
            start = time.thread_time()
            trial.run(trial.feeds)
            found.append(time.thread_time() - start)
    return [min(found) for found in times]


def _trial(c: Computation, target: Target, store: KernelCache) -> Trial:
    """A Computation, compiled and fed."""
    from flowc.codegen.program import compile_program, native_object
    from flowc.run.executable import open_program

    names = [p.attrs["name"] for p in c.parameters], [f"y{i}" for i in range(len(c.results))]
    program = compile_program(
        c,
        target,
        lambda kernel: store.objects_of(kernel, target),
        spec_of(c, *names),
        runtime=lambda: native_object(target.processor, store.parts_for(target)),
    )
    random = np.random.default_rng(0)
    types = [p.output.type for p in c.parameters]
    feeds = [(random.random(t.static_dims) - 0.5).astype(t.dtype.numpy) for t in types]
    return Trial(open_program(program, 1).run, feeds)
