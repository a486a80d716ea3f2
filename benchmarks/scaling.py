"""What more threads can give on this machine, and what they give.

Run: python benchmarks/scaling.py THREADS LIBRARY.so ... (of `flowc compile`). Three times of each,
in turns, in milliseconds: one process with one thread, the others idle; THREADS such processes at
once, each on a core of its own; one process with THREADS threads. Processes at once share nothing
but the machine: its memory, its last cache, its clock. What they do in a second, beside what one
does, is the machine's own bound for any division of the work.
"""

from __future__ import annotations

import multiprocessing as mp
import os
import statistics
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

import flowc_runtime

ROUNDS, SECONDS = 9, 0.3


def serve(pipe: Connection, path: str, cores: list[int]) -> None:
    """Runs the model for `SECONDS` with as many threads as it is asked for, and tells the median
    milliseconds of a run; 0 threads end it."""
    os.sched_setaffinity(0, cores)
    model = flowc_runtime.load(path)
    rng = np.random.default_rng(0)
    inputs = []
    for port in model.inputs:
        shape = [d if isinstance(d, int) else 1 for d in port.dims]
        values = rng.random(shape) if port.dtype.kind == "f" else rng.integers(0, 2, shape)
        inputs.append(values.astype(port.dtype))
    while threads := pipe.recv():
        model.threads = threads
        taken = []
        model(*inputs)
        end = time.perf_counter() + SECONDS
        while (start := time.perf_counter()) < end or len(taken) < 3:
            model(*inputs)
            taken.append(time.perf_counter() - start)
        pipe.send(statistics.median(taken) * 1e3)


def measured(path: str, threads: int) -> tuple[float, float, float]:
    """Milliseconds of one thread alone, of one of several processes at once, of several threads."""
    cores = sorted(os.sched_getaffinity(0))[:threads]
    context = mp.get_context("spawn")
    pipes, workers = [], []
    for own in [*([core] for core in cores), cores]:
        ours, theirs = context.Pipe()
        worker = context.Process(target=serve, args=(theirs, path, own), daemon=True)
        worker.start()
        pipes.append(ours)
        workers.append(worker)
    *single, together = pipes

    def turn(asked: list[Connection], count: int) -> float:
        for pipe in asked:
            pipe.send(count)
        return statistics.mean(pipe.recv() for pipe in asked)

    rounds = [
        (turn(single[-1:], 1), turn(single, 1), turn([together], threads)) for _ in range(ROUNDS)
    ]
    for pipe, worker in zip(pipes, workers):
        pipe.send(0)
        worker.join()
    alone, beside, divided = (statistics.median(times) for times in zip(*rounds))
    return alone, beside, divided


def main(threads: int, paths: list[str]) -> None:
    print(f"{'model':24}    alone  at once  threads    bound  reached")
    for path in paths:
        alone, beside, divided = measured(path, threads)
        bound, reached = threads * alone / beside, alone / divided
        times = f"{alone:8.2f} {beside:8.2f} {divided:8.2f}"
        print(f"{Path(path).stem:24} {times} {bound:7.2f}x {reached:7.2f}x", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
