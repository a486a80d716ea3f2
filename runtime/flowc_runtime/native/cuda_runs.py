"""What one run asks of a GPU: a queue of kernels, and copies through pinned memory.

In: the words of a run (`RUN_WORDS`, zeros before `begin`). Out: the hidden functions

    i32 flowc_cuda_take(run)                      buffers for the run
    i32 flowc_cuda_acquire(run, place, bytes)     stores an address, or NULL
    i32 flowc_cuda_release(address)               after `flush`, where the queue might touch it
    i32 flowc_cuda_zero(run, address, bytes), flowc_cuda_copy(run, to, from, bytes)
    i32 flowc_cuda_set(run, to, from), flowc_cuda_set_word(..)    one byte or 4 as they are now
    i32 flowc_cuda_enqueue(run, kernel, grid.., parameters, bytes)
    i32 flowc_cuda_flush(run)                     has the GPU begin with what is in the queue
    i32 flowc_cuda_upload(run, to, from, bytes), flowc_cuda_download(..)
    i32 flowc_cuda_bring(run, to, from, bytes)    an upload that need not be behind the queue
    i32 flowc_cuda_wait(run), flowc_cuda_finish(run)

Kernels, copies within the device and fills wait in a queue, which is given to the GPU before all
that must come behind it: copies from and to the host, memory that is freed, waits (`cuda_graphs.py`
says how). Small copies go through pinned memory: `upload` has read its source when it returns, and
what was downloaded is at its place after `wait`. Where there is no pinned memory, or too little,
they are the driver's own. What a copy brings from the caller, or to it, is on the device already
where its address has `ON_DEVICE`. Invariants: what a run took is the program's again after
`finish`; the work of a thread is in the order of its calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc_runtime.addresses import ON_DEVICE
from flowc_runtime.native.cuda_calls import (
    OUT_OF_MEMORY,
    READY,
    SPARE_BUFFERS,
    STREAM,
    CudaModule,
)
from flowc_runtime.native.cuda_graphs import COPY, FILL, FILL_WORDS, LAUNCH, LAUNCH_WORDS
from flowc_runtime.native.writer import I8, I32, I64, NULL, PTR, FunctionWriter, i32, i64

# Words of a run.
_BUFFERS, _COUNT, _USED, _STAGED, _PENDING = range(5)
RUN_WORDS = 5

QUEUE_BYTES = 1 << 18
MOST_QUEUED = 512  # records of a queue
LEAST_REPLAYED = 4  # fewer are issued as fast
PINNED_BYTES = 1 << 20
MOST_PENDING = 64  # downloads that have not reached their places
_ALIGNMENT = 64
_INVALID = 1  # CUDA_ERROR_INVALID_VALUE

# Words of the buffers of a run; the queue follows.
_NEXT, _PINNED, _TABLE = range(3)
_QUEUE = _TABLE + 3 * MOST_PENDING
_BUFFERS_BYTES = 8 * _QUEUE + QUEUE_BYTES
_NOT_THERE = -1  # pinned memory that could not be had


class RunEmitter:
    """Needs `flowc_cuda_issue` and `flowc_cuda_replay`."""

    def __init__(self, cuda: CudaModule) -> None:
        self.cuda = cuda

    def emit(self) -> None:
        self._take()
        self._flush()
        self._queue()
        self._memory()
        self._stage()
        self._copies()
        self._wait()
        self._finish()

    def close(self, w: FunctionWriter) -> None:
        """Emits what frees the buffers."""
        with w.loop() as loop:
            buffers = w.b.inttoptr(self.cuda.word(w, SPARE_BUFFERS), PTR)
            loop.leave_if(w.compare("==", buffers, NULL))
            self.cuda.keep(w, w.load(buffers, i64(_NEXT)), SPARE_BUFFERS)
            with w.when(w.compare(">", w.load(buffers, i64(_PINNED)), i64(0))):
                self.cuda.call(w, "unpin", w.load(buffers, i64(_PINNED)))
            w.call("free", buffers)

    def _function(self, name: str, **more: Any) -> tuple[FunctionWriter, Sequence[Any]]:
        w = self.cuda.function(name, I32, {"run": PTR, **more})
        return w, w.args

    def _buffers(self, w: FunctionWriter, run: Any) -> Any:
        return w.b.inttoptr(w.load(run, i64(_BUFFERS)), PTR)

    # -- begin and end

    def _take(self) -> None:
        cuda = self.cuda
        w, (run,) = self._function("take")
        w.call("pthread_mutex_lock", cuda.lock)
        spare = w.b.inttoptr(cuda.word(w, SPARE_BUFFERS), PTR)
        with w.when(w.compare("!=", spare, NULL)):
            cuda.keep(w, w.load(spare, i64(_NEXT)), SPARE_BUFFERS)
        w.call("pthread_mutex_unlock", cuda.lock)
        found = w.variable(spare)
        with w.when(w.compare("==", spare, NULL)):
            made = w.call("malloc", i64(_BUFFERS_BYTES))
            with w.when(w.compare("==", made, NULL)):
                w.give(i32(OUT_OF_MEMORY))
            w.store(i64(0), made, i64(_PINNED))
            found.set(made)
        w.store(w.b.ptrtoint(found.get(), I64), run, i64(_BUFFERS))
        w.give(i32(0))

    def _finish(self) -> None:
        """Waits for what the GPU was given; what is still in the queue is dropped."""
        cuda = self.cuda
        w, (run,) = self._function("finish")
        with w.when(w.compare("==", cuda.word(w, READY), i64(0))):
            w.give(i32(0))
        waited = cuda.call(w, "wait", i64(STREAM))
        buffers = self._buffers(w, run)
        with w.when(w.compare("!=", buffers, NULL)):
            w.call("pthread_mutex_lock", cuda.lock)
            w.store(cuda.word(w, SPARE_BUFFERS), buffers, i64(_NEXT))
            cuda.keep(w, buffers, SPARE_BUFFERS)
            w.call("pthread_mutex_unlock", cuda.lock)
            w.store(i64(0), run, i64(_BUFFERS))
        w.give(waited)

    # -- the queue

    def _flush(self) -> None:
        w, (run,) = self._function("flush")
        count, used = w.load(run, i64(_COUNT)), w.load(run, i64(_USED))
        with w.when(w.compare("==", count, i64(0))):
            w.give(i32(0))
        w.store(i64(0), run, i64(_COUNT))
        w.store(i64(0), run, i64(_USED))
        queue = w.element(self._buffers(w, run), i64(_QUEUE))
        with w.when(w.compare("<", count, i64(LEAST_REPLAYED))):
            w.give(w.call("flowc_cuda_issue", queue, used, i64(STREAM)))
        w.give(w.call("flowc_cuda_replay", queue, used))

    def _append(
        self, w: FunctionWriter, run: Any, kind: int, words: Sequence[Any], extra: Any | None = None
    ) -> None:
        """Emits a record of some words, and of the `extra` bytes whose number is the last one."""
        size: Any = i64(8 * (2 + len(words)))
        if extra is not None:
            size = w.b.add(size, words[-1])
        full = w.compare("==", w.load(run, i64(_COUNT)), i64(MOST_QUEUED))
        end = w.b.add(w.load(run, i64(_USED)), size)
        with w.when(w.b.or_(full, w.compare(">", end, i64(QUEUE_BYTES)))):
            self.cuda.must(w, w.call("flowc_cuda_flush", run))
        used = w.load(run, i64(_USED))
        queue = w.element(self._buffers(w, run), i64(_QUEUE))
        record = w.element(queue, used, I8)
        for i, word in enumerate((size, i64(kind), *words)):
            w.store(w.b.ptrtoint(word, I64) if word.type == PTR else word, record, i64(i))
        if extra is not None:
            w.call("memcpy", w.element(record, i64(2 + len(words))), extra, words[-1])
        w.store(w.b.add(used, size), run, i64(_USED))
        w.store(w.b.add(w.load(run, i64(_COUNT)), i64(1)), run, i64(_COUNT))
        w.give(i32(0))

    def _queue(self) -> None:
        w, (run, address, size) = self._function("zero", address=PTR, bytes=I64)
        self._nothing_if_empty(w, size)
        self._append(w, run, FILL, [address, i64(0), size])
        for name, kind, element in (("set", FILL, I8), ("set_word", FILL_WORDS, I32)):
            w, (run, address, source) = self._function(name, target=PTR, source=PTR)
            value = w.b.zext(w.load(source, i64(0), element), I64)
            self._append(w, run, kind, [address, value, i64(1)])
        w, (run, *words) = self._function("copy", target=PTR, source=PTR, bytes=I64)
        self._nothing_if_empty(w, words[-1])
        self._append(w, run, COPY, words)
        numbers = dict.fromkeys(("kernel", "x", "y", "z", "threads", "shared"), I64)
        w, (run, *words, parameters, size) = self._function(
            "enqueue", **numbers, parameters=PTR, bytes=I64
        )
        assert len(words) + 1 == LAUNCH_WORDS - 2
        with w.when(w.compare(">", size, i64(QUEUE_BYTES // 2))):
            w.give(i32(_INVALID))
        self._append(w, run, LAUNCH, [*words, size], parameters)

    def _nothing_if_empty(self, w: FunctionWriter, size: Any) -> None:
        with w.when(w.compare("<=", size, i64(0))):
            w.give(i32(0))

    # -- memory

    def _memory(self) -> None:
        cuda = self.cuda
        w, (_, *words) = self._function("acquire", place=PTR, bytes=I64)
        w.give(cuda.call(w, "allocate", *words, i64(STREAM)))
        w = cuda.function("release", I32, {"address": PTR})
        with w.when(w.compare("==", w.args[0], NULL)):
            w.give(i32(0))
        w.give(cuda.call(w, "free", w.args[0], i64(STREAM)))

    # -- copies

    def _stage(self) -> None:
        """Pinned memory of the run that nothing uses until `wait`; NULL where there is none."""
        w = self.cuda.function("stage", PTR, {"run": PTR, "bytes": I64})
        run, size = w.args
        end = w.b.add(w.load(run, i64(_STAGED)), size)
        with w.when(w.compare(">", end, i64(PINNED_BYTES))):
            w.give(NULL)
        buffers = self._buffers(w, run)
        with w.when(w.compare("==", w.load(buffers, i64(_PINNED)), i64(0))):
            place = w.element(buffers, i64(_PINNED))
            pinned = self.cuda.call(w, "pin", place, i64(PINNED_BYTES), i32(0))
            with w.when(w.compare("!=", pinned, i32(0))):
                w.store(i64(_NOT_THERE), buffers, i64(_PINNED))
        pinned = w.load(buffers, i64(_PINNED))
        with w.when(w.compare("==", pinned, i64(_NOT_THERE))):
            w.give(NULL)
        begin = w.load(run, i64(_STAGED))
        rounded = w.b.and_(w.b.add(end, i64(_ALIGNMENT - 1)), i64(-_ALIGNMENT))
        w.store(rounded, run, i64(_STAGED))
        w.give(w.b.inttoptr(w.b.add(pinned, begin), PTR))

    def _copies(self) -> None:
        cuda = self.cuda
        places = {"target": PTR, "source": PTR, "bytes": I64}
        w, (run, target, source, size) = self._function("bring", **places)
        self._nothing_if_empty(w, size)
        with w.when(self._is_there(w, source)):
            there = w.b.and_(w.b.ptrtoint(source, I64), i64(~ON_DEVICE))
            w.give(cuda.call(w, "copy", target, there, size, i64(STREAM)))
        staged = w.call("flowc_cuda_stage", run, size)
        with w.when(w.compare("==", staged, NULL)):
            w.give(cuda.call(w, "upload", target, source, size, i64(STREAM)))
        w.call("memcpy", staged, source, size)
        w.give(cuda.call(w, "upload", target, staged, size, i64(STREAM)))
        w, arguments = self._function("upload", **places)
        cuda.must(w, w.call("flowc_cuda_flush", arguments[0]))
        w.give(w.call("flowc_cuda_bring", *arguments))
        self._download(places)

    def _download(self, places: dict[str, Any]) -> None:
        cuda = self.cuda
        w, (run, target, source, size) = self._function("download", **places)
        self._nothing_if_empty(w, size)
        cuda.must(w, w.call("flowc_cuda_flush", run))
        with w.when(self._is_there(w, target)):
            there = w.b.and_(w.b.ptrtoint(target, I64), i64(~ON_DEVICE))
            w.give(cuda.call(w, "copy", there, source, size, i64(STREAM)))
        pending = w.load(run, i64(_PENDING))
        staged = w.variable(NULL)
        with w.when(w.compare("<", pending, i64(MOST_PENDING))):
            staged.set(w.call("flowc_cuda_stage", run, size))
        with w.when(w.compare("==", staged.get(), NULL)):
            w.give(cuda.call(w, "download", target, source, size, i64(STREAM)))
        cuda.must(w, cuda.call(w, "download", staged.get(), source, size, i64(STREAM)))
        row = self._row(w, run, pending)
        for i, word in enumerate((target, staged.get(), size)):
            w.store(w.b.ptrtoint(word, I64) if word.type == PTR else word, row, i64(i))
        w.store(w.b.add(pending, i64(1)), run, i64(_PENDING))
        w.give(i32(0))

    def _is_there(self, w: FunctionWriter, address: Any) -> Any:
        """Whether what the caller gave is on the device."""
        return w.compare("<", w.b.ptrtoint(address, I64), i64(0))

    def _row(self, w: FunctionWriter, run: Any, number: Any) -> Any:
        """A download that has not reached its place: the place, pinned memory, bytes."""
        at = w.b.add(w.b.mul(number, i64(3)), i64(_TABLE))
        return w.element(self._buffers(w, run), at)

    def _wait(self) -> None:
        cuda = self.cuda
        w, (run,) = self._function("wait")
        cuda.must(w, w.call("flowc_cuda_flush", run))
        cuda.must(w, cuda.call(w, "wait", i64(STREAM)))
        with w.count(w.load(run, i64(_PENDING))) as i:
            row = self._row(w, run, i)
            target, staged = (w.b.inttoptr(w.load(row, i64(k)), PTR) for k in (0, 1))
            w.call("memcpy", target, staged, w.load(row, i64(2)))
        w.store(i64(0), run, i64(_PENDING))
        w.store(i64(0), run, i64(_STAGED))
        w.give(i32(0))
