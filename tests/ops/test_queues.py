"""Queues against a model: who waits, who gets what, what ends whom."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from queue_model import LONG, Program

from flowc.ir.host_run import HostRun
from flowc.ops.queues.handles import Handle
from flowc.ops.queues.queue_states import KINDS

# `make fuzz` asks for 1,000: 5,000 programs of each kind of queue.
PROGRAMS = int(os.environ.get("FLOWC_FUZZ", "10")) * 5


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fuzz_queue_programs(kind: str) -> None:
    with ThreadPoolExecutor(20) as threads:
        for seed in range(PROGRAMS):
            found = Program(kind, seed, threads).run()
            assert found is None, f"seed {seed}: {found}"


def test_a_shuffled_queue_gives_each_element_once() -> None:
    attrs = {
        "component_types": ["int64"],
        "shapes": [[]],
        "capacity": 50,
        "min_after_dequeue": 10,
        "seed": 0,
        "seed2": 0,
        "container": "",
        "shared_name": "",
    }
    queue, run = KINDS["RandomShuffleQueue"](Handle("RandomShuffleQueue", "q", attrs)), HostRun()
    with ThreadPoolExecutor(8) as threads:
        putting = [
            threads.submit(queue.enqueue_many, run, [np.arange(k * 500, k * 500 + 500)])
            for k in range(4)
        ]
        taking = [threads.submit(queue.dequeue_many, run, 7) for _ in range(280)]
        found = [job.result(LONG)[0] for job in taking]
        for job in putting:
            job.result(LONG)
    queue.close_queue(run, False)
    found.append(queue.dequeue_many(run, 100, up_to=True)[0])
    assert sorted(np.concatenate(found).tolist()) == list(range(2000))
