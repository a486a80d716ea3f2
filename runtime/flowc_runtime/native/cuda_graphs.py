"""CUDA graphs: what a run asks of the GPU between two waits is one call where it was asked before.

In: the bytes of a queue (`cuda_runs.py`): kernels, copies and fills with all that they are given.
Out: the hidden functions

    i32 flowc_cuda_issue(queue, bytes, stream)    one call of the driver each
    i32 flowc_cuda_replay(queue, bytes)           the same on the thread's stream, by one call where
                                                  equal bytes were asked for twice before

Invariants: a graph is launched only for the very bytes that it was recorded from, so that it is
right whatever addresses, sizes and control flow led to them; what cannot be recorded is issued, and
nothing is recorded any more. There are at most `MOST_GRAPHS`; one makes room only where it has not
been asked for in a long time.

Recording is relaxed and on a stream of its own, so that no other thread is kept from anything.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from flowc_runtime.native.cuda_calls import (
    GRAPHS,
    LOOKS,
    PLAIN_ONLY,
    RECORDING,
    STREAM,
    CudaModule,
)
from flowc_runtime.native.writer import I8, I32, I64, NULL, PTR, FunctionWriter, i32, i64

MOST_GRAPHS = 64
_SEEN = 256  # hashes of queues that were issued
_PATIENCE = 1024  # queues after which a graph that none of them was makes room for another
_RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED
_NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
_FACTOR = 0x9E3779B97F4A7C15 - (1 << 64)  # odd, of no pattern

# Words of a record of a queue.
SIZE, KIND, FIRST = range(3)
LAUNCH, COPY, FILL, FILL_WORDS = range(4)  # kinds
LAUNCH_WORDS = FIRST + 7  # kernel, blocks x, y, z, threads, shared, bytes; the parameters follow

_HASH, _BYTES, _QUEUE, _INSTANCE, _LOOKED = range(5)  # words of a graph
_GRAPH_WORDS = 5
_TABLE_BYTES = 8 * (MOST_GRAPHS * _GRAPH_WORDS + _SEEN)

_BUFFER, _BUFFER_SIZE, _END = 1, 2, 0  # CU_LAUNCH_PARAM_*


class GraphEmitter:
    def __init__(self, cuda: CudaModule) -> None:
        self.cuda = cuda

    def emit(self) -> None:
        self._issue()
        self._make()
        self._find()
        self._replay()

    def close(self, w: FunctionWriter) -> None:
        """Emits what frees the graphs."""
        table = w.b.inttoptr(self.cuda.word(w, GRAPHS), PTR)
        with w.when(w.compare("!=", table, NULL)):
            with w.count(i64(MOST_GRAPHS)) as i:
                self._end(w, self._graph(w, table, i))
            w.call("free", table)
        with w.when(w.compare("!=", self.cuda.word(w, RECORDING), i64(0))):
            self.cuda.call(w, "end_stream", self.cuda.word(w, RECORDING))
        for word in (GRAPHS, RECORDING):
            self.cuda.keep(w, i64(0), word)

    def _issue(self) -> None:
        cuda = self.cuda
        w = cuda.function("issue", I32, {"queue": PTR, "bytes": I64, "stream": I64})
        queue, size, stream = w.args
        at = w.variable(i64(0))
        bytes_at, extra = w.block(8), w.block(40)
        with w.loop() as loop:
            loop.leave_if(w.compare(">=", at.get(), size))
            record = w.element(queue, at.get(), I8)
            word = [w.load(record, i64(i)) for i in range(FIRST + 3)]
            result = w.variable(i32(0))
            with w.when(w.compare("==", word[KIND], i64(LAUNCH))):
                w.store(w.load(record, i64(LAUNCH_WORDS - 1)), bytes_at, i64(0))
                given = w.element(record, i64(LAUNCH_WORDS))
                words = [i64(_BUFFER), given, i64(_BUFFER_SIZE), bytes_at, i64(_END)]
                for i, value in enumerate(words):
                    w.store(value, extra, i64(i))
                grid = (w.load(record, i64(FIRST + i)) for i in range(1, 6))
                *sizes, shared = (w.b.trunc(value, I32) for value in grid)
                one = i32(1)
                launched = cuda.call(
                    w, "launch", word[FIRST], *sizes, one, one, shared, stream, NULL, extra
                )
                result.set(launched)
            with w.when(w.compare("==", word[KIND], i64(COPY))):
                result.set(cuda.call(w, "copy", *word[FIRST:], stream))
            for kind, name in ((FILL, "fill"), (FILL_WORDS, "fill_words")):
                with w.when(w.compare("==", word[KIND], i64(kind))):
                    value = w.b.trunc(word[FIRST + 1], I32)
                    result.set(cuda.call(w, name, word[FIRST], value, word[FIRST + 2], stream))
            cuda.must(w, result.get())
            at.set(w.b.add(at.get(), word[SIZE]))
        w.give(i32(0))

    def _make(self) -> None:
        """A graph that can be launched, 0 where there is none. Within the lock."""
        cuda = self.cuda
        w = cuda.function("make_graph", I64, {"queue": PTR, "bytes": I64})
        queue, size = w.args
        with w.when(w.compare("==", cuda.word(w, RECORDING), i64(0))):
            made = cuda.call(w, "new_stream", cuda.place_of(w, RECORDING), i32(_NON_BLOCKING))
            self._none_if_failed(w, made)
        stream = cuda.word(w, RECORDING)
        self._none_if_failed(w, cuda.call(w, "record", stream, i32(_RELAXED)))
        issued = w.call("flowc_cuda_issue", queue, size, stream)
        graph, instance = w.block(8), w.block(8)
        w.store(i64(0), graph, i64(0))
        w.store(i64(0), instance, i64(0))
        recorded = cuda.call(w, "recorded", stream, graph)
        whole = w.b.or_(issued, recorded)
        there = w.compare("!=", w.load(graph, i64(0)), i64(0))
        with w.when(w.b.and_(there, w.compare("==", whole, i32(0)))):
            made = cuda.call(w, "instantiate", instance, w.load(graph, i64(0)), i64(0))
            with w.when(w.compare("!=", made, i32(0))):
                w.store(i64(0), instance, i64(0))
        with w.when(there):
            cuda.call(w, "end_graph", w.load(graph, i64(0)))
        w.give(w.load(instance, i64(0)))

    def _none_if_failed(self, w: FunctionWriter, code: Any) -> None:
        with w.when(w.compare("!=", code, i32(0))):
            w.give(i64(0))

    def _graph(self, w: FunctionWriter, table: Any, number: Any) -> Any:
        return w.element(table, w.b.mul(number, i64(_GRAPH_WORDS)))

    def _end(self, w: FunctionWriter, graph: Any) -> None:
        """Frees what a place of the table holds."""
        instance = w.load(graph, i64(_INSTANCE))
        with w.when(w.compare("!=", instance, i64(0))):
            self.cuda.call(w, "end_instance", instance)
            w.call("free", w.b.inttoptr(w.load(graph, i64(_QUEUE)), PTR))
            w.store(i64(0), graph, i64(_INSTANCE))

    def _find(self) -> None:
        """The graph of a queue, 0 where there is none. Within the lock."""
        cuda = self.cuda
        w = cuda.function("find_graph", I64, {"queue": PTR, "bytes": I64, "hash": I64})
        queue, size, hashed = w.args
        with w.when(w.compare("!=", cuda.word(w, PLAIN_ONLY), i64(0))):
            w.give(i64(0))
        with w.when(w.compare("==", cuda.word(w, GRAPHS), i64(0))):
            made = w.call("malloc", i64(_TABLE_BYTES))
            with w.when(w.compare("==", made, NULL)):
                w.give(i64(0))
            w.call("memset", made, i32(0), i64(_TABLE_BYTES))
            cuda.keep(w, made, GRAPHS)
        table = w.b.inttoptr(cuda.word(w, GRAPHS), PTR)
        now = w.b.add(cuda.word(w, LOOKS), i64(1))
        cuda.keep(w, now, LOOKS)
        oldest, place = w.variable(now), w.variable(table)
        with w.count(i64(MOST_GRAPHS)) as i:
            graph = self._graph(w, table, i)
            instance = w.load(graph, i64(_INSTANCE))
            alike = w.b.and_(
                w.compare("==", w.load(graph, i64(_HASH)), hashed),
                w.compare("==", w.load(graph, i64(_BYTES)), size),
            )
            with w.when(w.b.and_(alike, w.compare("!=", instance, i64(0)))):
                held = w.b.inttoptr(w.load(graph, i64(_QUEUE)), PTR)
                differs = w.call("memcmp", held, queue, size)
                with w.when(w.compare("==", differs, i32(0))):
                    w.store(now, graph, i64(_LOOKED))
                    w.give(instance)
            looked = w.load(graph, i64(_LOOKED))
            with w.when(w.compare("<", looked, oldest.get())):
                oldest.set(looked)
                place.set(graph)
        self._note_first(w, table, now, hashed)
        graph = place.get()
        with w.when(w.compare("!=", w.load(graph, i64(_INSTANCE)), i64(0))):
            unused = w.b.sub(now, oldest.get())
            with w.when(w.compare("<", unused, i64(_PATIENCE))):
                w.give(i64(0))
            cuda.call(w, "wait_all")  # another thread's run may be in it
            self._end(w, graph)
        copy = w.call("malloc", size)
        with w.when(w.compare("==", copy, NULL)):
            w.give(i64(0))
        made = w.call("flowc_cuda_make_graph", queue, size)
        with w.when(w.compare("==", made, i64(0))):
            w.call("free", copy)
            cuda.keep(w, i64(1), PLAIN_ONLY)
            w.give(i64(0))
        w.call("memcpy", copy, queue, size)
        words = (hashed, size, w.b.ptrtoint(copy, I64), made, now)
        for i, value in enumerate(words):
            w.store(value, graph, i64(i))
        w.give(made)

    def _note_first(self, w: FunctionWriter, table: Any, now: Any, hashed: Any) -> None:
        """No graph for what is asked the first time; it is noted for the second."""
        seen = w.element(table, i64(MOST_GRAPHS * _GRAPH_WORDS))
        is_new = w.variable(ir.Constant(ir.IntType(1), 1))
        with w.count(i64(_SEEN)) as i:
            differs = w.compare("!=", w.load(seen, i), hashed)
            is_new.set(w.b.and_(is_new.get(), differs))
        with w.when(is_new.get()):
            w.store(hashed, seen, w.b.urem(now, i64(_SEEN)))
            w.give(i64(0))

    def _replay(self) -> None:
        cuda = self.cuda
        w = cuda.function("replay", I32, {"queue": PTR, "bytes": I64})
        queue, size = w.args
        hashed = w.variable(size)
        with w.count(w.b.sdiv(size, i64(8))) as i:
            mixed = w.b.mul(w.b.xor(hashed.get(), w.load(queue, i)), i64(_FACTOR))
            hashed.set(w.b.xor(mixed, w.b.lshr(mixed, i64(29))))
        result = w.variable(i32(0))
        w.call("pthread_mutex_lock", cuda.lock)
        found = w.call("flowc_cuda_find_graph", queue, size, hashed.get())
        with w.when(w.compare("!=", found, i64(0))):
            # Within the lock: two threads may not launch one graph at once.
            result.set(cuda.call(w, "replay", found, i64(STREAM)))
        w.call("pthread_mutex_unlock", cuda.lock)
        with w.when(w.compare("==", found, i64(0))):
            result.set(w.call("flowc_cuda_issue", queue, size, i64(STREAM)))
        w.give(result.get())
