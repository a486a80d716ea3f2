"""`tf.train.QueueRunner`: the threads that fill a queue.

In: operations that enqueue. Out: threads, each of which runs one of them again and again.
Invariant: the end of the input ends one thread, and the last one closes the queue; any other error
stops all through the coordinator; every thread ends once the coordinator stops or the Session is
closed.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from flowc import errors
from flowc.api.framework import logging
from flowc.api.inputs.queues import QueueBase
from flowc.api.training.coordinator import Coordinator
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Graph, Operation, get_default_graph
from flowc.graph.default import get_default_session
from flowc.run.session import Session

_MONITORED = ("MonitoredSession", "SingularMonitoredSession")


class QueueRunner:
    """Threads that run `enqueue_ops`, one each. `close_op` (default: of the queue) is run when all
    of them have ended with one of `queue_closed_exception_types` (default: `OutOfRangeError`),
    `cancel_op` when a coordinator stops. Raises `ValueError` without queue and operations, and
    `TypeError` for types that are no errors."""

    def __init__(
        self,
        queue: Any = None,
        enqueue_ops: Sequence[Any] | None = None,
        close_op: Any = None,
        cancel_op: Any = None,
        queue_closed_exception_types: tuple[type[errors.OpError], ...] | None = None,
        queue_runner_def: Any = None,
        import_scope: str | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._runs: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._exceptions: list[Exception] = []
        if queue_runner_def is not None:
            if queue or enqueue_ops:
                raise ValueError("queue_runner_def and queue are mutually exclusive.")
            self._read(queue_runner_def, import_scope)
            return
        if not queue or not enqueue_ops:
            raise ValueError("Must provide queue and enqueue_ops.")
        types = queue_closed_exception_types
        if types is None:
            types = (errors.OutOfRangeError,)
        if not _are_errors(types):
            raise TypeError(
                "queue_closed_exception_types, when provided, must be a tuple of tf.error types, "
                f"but saw: {types}"
            )
        self._queue = queue
        self._enqueue_ops = list(enqueue_ops)
        self._close_op = queue.close() if close_op is None else close_op
        self._cancel_op = cancel_op
        if cancel_op is None:
            self._cancel_op = queue.close(cancel_pending_enqueues=True)
        self._closed_types = types

    def _read(self, message: Any, scope: str | None) -> None:
        graph = get_default_graph()

        def named(name: str) -> Any:
            return graph.as_graph_element(f"{scope}/{name}" if scope else name)

        found = named(message.queue_name)
        handle = found.outputs[0] if isinstance(found, Operation) else found
        self._queue = QueueBase([], [], None, handle)
        self._enqueue_ops = [named(n) for n in message.enqueue_op_name]
        self._close_op = named(message.close_op_name)
        self._cancel_op = named(message.cancel_op_name)
        codes = {c.error_code: c for c in errors.OpError.__subclasses__()}
        types = [codes[code] for code in message.queue_closed_exception_types]
        self._closed_types = tuple(types) or (errors.OutOfRangeError,)

    @property
    def queue(self) -> Any:
        return self._queue

    @property
    def enqueue_ops(self) -> list[Any]:
        return self._enqueue_ops

    @property
    def close_op(self) -> Any:
        return self._close_op

    @property
    def cancel_op(self) -> Any:
        return self._cancel_op

    @property
    def queue_closed_exception_types(self) -> tuple[type[errors.OpError], ...]:
        return self._closed_types

    @property
    def exceptions_raised(self) -> list[Exception]:
        """What threads without a coordinator raised."""
        return self._exceptions

    @property
    def name(self) -> str:
        """The name of the queue."""
        return self._queue.name

    # -- threads

    def create_threads(
        self,
        sess: Any,
        coord: Coordinator | None = None,
        daemon: bool = False,
        start: bool = False,
    ) -> list[threading.Thread]:
        """One thread for each operation, and one that cancels when the coordinator stops; none
        where the threads of this session still run."""
        with self._lock:
            if self._runs.get(sess, 0) > 0:
                return []
            self._runs[sess] = len(self._enqueue_ops)
            self._exceptions = []
        label = f"QueueRunnerThread-{self.name}-"
        found = [
            threading.Thread(target=self._run, args=(sess, op, coord), name=label + op.name)
            for op in self._enqueue_ops
        ]
        if coord is not None:
            ends = (sess, coord)
            name = f"{label}close_on_stop"
            found.append(threading.Thread(target=self._close_on_stop, args=ends, name=name))
        for thread in found:
            if coord is not None:
                coord.register_thread(thread)
            if daemon:
                thread.daemon = True
            if start:
                thread.start()
        return found

    def _run(self, sess: Any, enqueue_op: Any, coord: Coordinator | None) -> None:
        is_counted = True
        enqueue = partial(sess.run, enqueue_op)
        if isinstance(sess, Session) and isinstance(enqueue_op, Operation):
            enqueue = sess.repeating(enqueue_op)
        try:
            while coord is None or not coord.should_stop():
                try:
                    enqueue()
                except self._closed_types:
                    is_counted = False
                    if self._count_down(sess) == 0:
                        self._end(sess, self._close_op)
                    return
        except Exception as error:
            if coord is not None:
                coord.request_stop(error)
                return
            logging.error("Exception in QueueRunner: %s", error)
            with self._lock:
                self._exceptions.append(error)
            raise
        finally:
            if is_counted:
                self._count_down(sess)

    def _count_down(self, sess: Any) -> int:
        with self._lock:
            self._runs[sess] -= 1
            return self._runs[sess]

    def _close_on_stop(self, sess: Any, coord: Coordinator) -> None:
        coord.wait_for_stop()
        self._end(sess, self._cancel_op)

    def _end(self, sess: Any, op: Any) -> None:
        try:
            sess.run(op)
        except Exception as error:  # the queue, or the session, may be closed already
            logging.vlog(1, "Ignored exception: %s", error)

    # -- messages

    def to_proto(self, export_scope: str | None = None) -> Any:
        """A QueueRunnerDef message; None for a queue outside of `export_scope`."""
        from flowc.graph.encode import queue_runner_def

        prefix = f"{export_scope.rstrip('/')}/" if export_scope else ""
        if not self.name.startswith(prefix):
            return None
        return queue_runner_def(
            queue_name=self.name.removeprefix(prefix),
            enqueue_op_name=[op.name.removeprefix(prefix) for op in self._enqueue_ops],
            close_op_name=self._close_op.name.removeprefix(prefix),
            cancel_op_name=self._cancel_op.name.removeprefix(prefix),
            queue_closed_exception_types=[t.error_code for t in self._closed_types],
        )

    @staticmethod
    def from_proto(queue_runner_def: Any, import_scope: str | None = None) -> QueueRunner:
        """The runner of a message, whose operations the default graph has (under `import_scope`).
        Raises `KeyError` where it does not have them."""
        return QueueRunner(queue_runner_def=queue_runner_def, import_scope=import_scope)


def _are_errors(types: Any) -> bool:
    if not isinstance(types, tuple) or not types:
        return False
    return all(isinstance(t, type) and issubclass(t, errors.OpError) for t in types)


def add_queue_runner(qr: QueueRunner, collection: str = GraphKeys.QUEUE_RUNNERS) -> None:
    """Adds a QueueRunner to a collection, whose threads `start_queue_runners` starts. Raises
    nothing."""
    get_default_graph().add_to_collection(collection, qr)


def start_queue_runners(
    sess: Any = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[threading.Thread]:
    """Starts the threads of all QueueRunners in a collection of the session's graph, and returns
    them. `sess`: the default session, if none is given. Raises `ValueError` without one,
    `TypeError` for what is no session."""
    if sess is None:
        sess = get_default_session()
        if sess is None:
            raise ValueError(
                "Cannot start queue runners: No default session is registered. Use `with "
                "sess.as_default()` or pass an explicit session to "
                "tf.start_queue_runners(sess=sess)"
            )
    if not isinstance(sess, Session):
        if type(sess).__name__ in _MONITORED:
            return []  # it has started them itself
        raise TypeError(f"sess must be a `tf.Session` object. Given class: {type(sess)}")
    runners = runners_of(sess.graph, collection)
    if not runners:
        logging.warning(
            "`tf.train.start_queue_runners()` was called when no queue runners were defined. You "
            "can safely remove the call to this deprecated function."
        )
    return [
        thread
        for runner in runners
        for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    ]


def runners_of(graph: Graph, collection: str = GraphKeys.QUEUE_RUNNERS) -> list[Any]:
    """The QueueRunners of a collection; those that a file has become such first."""
    if any(isinstance(item, bytes) for item in graph.get_collection(collection)):
        items = graph.get_collection_ref(collection)
        items[:] = [runner_of(i, graph) if isinstance(i, bytes) else i for i in items]
    return graph.get_collection(collection)


def runner_of(data: bytes, graph: Graph, scope: str | None = None) -> QueueRunner:
    """The QueueRunner of a serialized message."""
    from flowc.graph.encode import queue_runner_def

    with graph.as_default():
        return QueueRunner.from_proto(queue_runner_def().FromString(data), scope)
