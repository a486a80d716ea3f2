"""Filling a queue with several elements a run, where an operation puts in one.

In: an operation that reads a record, computes components from it, and puts them into a queue. Out:
the same elements in the same order, several at a time. Invariants: no more records are read than
the queue has room for, or one; what reading or computing an element raises comes after the elements
before it were put in, and the records behind it go back to the reader.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.errors import FlowcError, OpError
from flowc.extract.batched_functions import BatchedBody, batched_body
from flowc.graph import Graph, Operation, Tensor
from flowc.ir.host_run import HostRun
from flowc.ops.queues.queue_states import Element, Queue, rows_of
from flowc.ops.queues.queues import queue_of
from flowc.ops.queues.reader_states import Record
from flowc.ops.queues.readers import names_of, reader_of
from flowc.ops.strings.string_values import strings_of
from flowc.run.python_segments import step_of
from flowc.run.segments import needed

Array = np.ndarray[Any, Any]
Run = Callable[[Any, Any], Any]  # fetches, feeds: their values
Elements = tuple[list[Element], Exception | None]  # up to one that fails, and what it raises
MOST = 64  # elements at once
LARGE = 1 << 20  # bytes of records, of which fewer are enough
_ENQUEUES = ("QueueEnqueue", "QueueEnqueueV2")
_READS = ("ReaderRead", "ReaderReadV2")


@dataclass(frozen=True, slots=True, eq=False)
class RunsOfSession:
    """`run` of a Session, `host_run` of a run of it that begins now, and `run_of` another graph
    with its state."""

    run: Run
    host_run: Callable[[], HostRun]
    run_of: Callable[[Graph], Run]


class RepeatedRun:
    """Runs an operation once, or several times, whenever it is called. Raises what the operation
    raises. The first call does it as it stands, so that all is checked and said which it says."""

    def __init__(self, operation: Operation, session: RunsOfSession) -> None:
        self._operation, self._session = operation, session
        self._blocks: _QueueBlocks | None = None
        self._ran = False

    def __call__(self) -> None:
        if self._blocks is not None:
            self._blocks.fill()
            return
        self._session.run(self._operation, None)
        if not self._ran:
            self._ran = True
            self._blocks = _blocks_of(self._operation, self._session)


def _blocks_of(put: Operation, session: RunsOfSession) -> _QueueBlocks | None:
    """None for an operation that is to be run as it is."""
    if put.type not in _ENQUEUES or put.control_inputs:
        return None
    order = needed([put], ())
    reads = [op for op in order if op.type in _READS]
    if len(reads) != 1 or reads[0].control_inputs:
        return None
    handles = [t.op for t in (put.inputs[0], *reads[0].inputs)]
    if any(op.inputs or op.control_inputs for op in handles):
        return None
    used = {t for op in order for t in op.inputs}
    records = [t for t in reads[0].outputs if t in used]
    components = put.inputs[1:]
    body = run_many = None
    if not {*components} <= {*records}:
        body = batched_body(records, components, [0] * len(records))
        if body is None:
            return None
        run_many = session.run_of(body.graph)
    texts = [_text_of(op) for op in handles]
    return None if None in texts else _QueueBlocks(session, put, reads[0], body, run_many, texts)


def _text_of(handle: Operation) -> Any:
    step = step_of(handle)
    return None if step is None else step((), HostRun())[0].item()


@dataclass(frozen=True, slots=True, eq=False)
class _QueueBlocks:
    """`put`: the operation. `read`: the one that reads for it. `body`: what is computed of several
    records at once, by `run_many`; None where the records themselves are put in. `handles`: of the
    queue, of the reader, and of the queue of its names."""

    session: RunsOfSession
    put: Operation
    read: Operation
    body: BatchedBody | None
    run_many: Run | None
    handles: Sequence[bytes]

    def fill(self) -> None:
        """Puts in one or more elements."""
        run = self.session.host_run()
        text, reader_text, names_text = self.handles
        with _of_node(self.put):
            queue = queue_of(run, text)
        with _of_node(self.read):
            reader = reader_of(run, reader_text)
            count = max(1, min(queue.room(), MOST))
            records, fault = reader.read_block(run, count, LARGE, names_of(run, names_text))
        to_do = deque(records)
        try:
            self._put(run, queue, to_do)
        finally:
            if to_do:
                reader.give_back(to_do)
        if fault is not None:
            with _of_node(self.read):
                raise fault

    def _put(self, run: HostRun, queue: Queue, to_do: deque[Record]) -> None:
        """Puts in the elements of records, and takes away those that need not be read again."""
        elements = self._elements(queue, to_do)
        if elements is None:
            while to_do:
                record = to_do.popleft()
                fed = {t: strings_of([x], ()) for t, x in zip(self.read.outputs, record)}
                self.session.run(self.put, fed)
            return
        found, fault = elements
        waiting = deque(found)
        try:
            with _of_node(self.put):
                queue.enqueue_elements(run, waiting)
        finally:
            for _ in range(len(found) - max(0, len(waiting) - 1)):  # one that waits is lost
                to_do.popleft()
        if fault is not None:
            to_do.popleft()
            raise fault

    def _elements(self, queue: Queue, records: Collection[Record]) -> Elements | None:
        """None where the operation itself is to say what is wrong."""
        columns = [strings_of(column, (len(records),)) for column in zip(*records)]
        given: dict[Tensor, Array] = dict(zip(self.read.outputs, columns))
        components = self.put.inputs[1:]
        try:
            if self.body is not None and self.run_many is not None:
                used = [given[t] for t in self.read.outputs if t in self.body.given]
                wanted = self.body.found
                found = self.run_many([*wanted.values()], dict(zip(self.body.args, used)))
                given = dict(zip(wanted, found))
            if all(t in given for t in components):
                arrays = [given[t] for t in components]
                queue.check(arrays, 1)
                return [*zip(*map(rows_of, arrays), strict=True)], None
        except FlowcError:
            return None
        return self._one_by_one(queue, given, len(records))

    def _one_by_one(self, queue: Queue, given: dict[Tensor, Array], count: int) -> Elements:
        """What is left to compute of each element."""
        components = self.put.inputs[1:]
        left = [t for t in components if t not in given]
        found: list[Element] = []
        try:
            for k in range(count):
                fed = {t: array[k, ...] for t, array in given.items()}
                values = {t: x if x.ndim else x[()] for t, x in fed.items()}
                values |= dict(zip(left, self.session.run(left, fed)))
                element = tuple([values[t] for t in components])
                with _of_node(self.put):
                    queue.check(element, 0)
                found.append(element)
        except Exception as error:
            return found, error
        return found, None


@contextmanager
def _of_node(op: Operation) -> Iterator[None]:
    """What is raised within it names the operation."""
    try:
        yield
    except OpError as error:
        error.node = error.node or op.name
        error.op = error.op or op
        raise
