"""Queues against a model: who waits, who gets what, what ends whom."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from queue_model import LONG, Program

from flowc.errors import CancelledError, OutOfRangeError
from flowc.ir.host_run import HostRun
from flowc.ops.queues.handles import Handle
from flowc.ops.queues.queue_states import KINDS, Queue
from flowc.ops.queues.reader_states import Reader, Source

# `make fuzz` asks for 1,000: 5,000 programs of each kind of queue.
PROGRAMS = int(os.environ.get("FLOWC_FUZZ", "10")) * 5


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_fuzz_queue_programs(kind: str) -> None:
    with ThreadPoolExecutor(20) as threads:
        for seed in range(PROGRAMS):
            found = Program(kind, seed, threads).run()
            assert found is None, f"seed {seed}: {found}"


def test_a_batch_by_priority_leaves_as_a_whole() -> None:
    attrs = {"component_types": [], "shapes": [], "capacity": 9, "container": "", "shared_name": ""}
    queue, run = KINDS["PriorityQueue"](Handle("PriorityQueue", "q", attrs)), HostRun()
    with ThreadPoolExecutor(1) as threads:
        for more, taken, left in (([1], [1, 3, 5], []), ([4, 1, 0, 2], [0, 1, 2], [3, 4, 5])):
            queue.enqueue_many(run, [np.array([5, 3])])
            batch = threads.submit(queue.dequeue_many, run, 3)
            _wait_for_a_dequeue(queue, batch)
            assert queue.size() == 2
            queue.enqueue_many(run, [np.array(more)])
            assert batch.result(LONG)[0].tolist() == taken
            assert [queue.dequeue(run)[0] for _ in left] == left
        queue.enqueue_many(run, [np.array([5, 3])])
        batch = threads.submit(queue.dequeue_many, run, 3)
        _wait_for_a_dequeue(queue, batch)
        queue.close_queue(run, False)
        with pytest.raises(OutOfRangeError, match=r"\(requested 3, current size 2\)"):
            batch.result(LONG)
    assert queue.dequeue_many(run, 3, up_to=True)[0].tolist() == [3, 5]


def _wait_for_a_dequeue(queue: Queue, batch: Future[Any]) -> None:
    end = time.monotonic() + LONG
    while not queue.dequeuing and not batch.done():
        assert time.monotonic() < end
        time.sleep(0)


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


class _ClosedWhileItOpens(Reader):
    def _open(self, work: bytes) -> Source:
        self.close()  # as another thread that closes the Session does
        return lambda: (work, work)


def test_a_reader_that_is_closed_while_it_opens_a_file_keeps_none() -> None:
    reader = _ClosedWhileItOpens(Handle("TextLineReader", "r", {}))
    for _ in range(2):
        with pytest.raises(CancelledError):
            reader.read(HostRun(), lambda: b"name")
        assert reader._source is None
