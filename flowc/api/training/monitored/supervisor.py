"""`Supervisor`: restores or initialises a session, and writes checkpoints and summaries from
threads of its own while the program trains. (`MonitoredTrainingSession` does so between steps.)

In: a graph, a folder. Out: sessions; services that run until `stop`. Invariant: the graph is
finalized once there is a Supervisor.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from threading import Thread
from typing import Any

from flowc.api.framework import logging
from flowc.api.framework.models import write_graph
from flowc.api.inputs.queue_runner import runners_of
from flowc.api.saving.exported_meta_graph import export_meta_graph
from flowc.api.saving.saver import Saver
from flowc.api.summaries.file_writer import FileWriter
from flowc.api.summaries.merging import merge_all
from flowc.api.training.coordinator import Coordinator, LooperThread
from flowc.api.training.global_step import global_step as value_of_step
from flowc.api.training.monitored.scaffold import Scaffold
from flowc.api.training.monitored.session_preparation import SessionManager
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variable_ops import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)
from flowc.encoding.summary_messages import SessionLog, number_summary
from flowc.graph import Graph, get_default_graph

_REFERENCES = ("Variable", "VariableV2")


class Supervisor:
    """Keeps a training going. What is `USE_DEFAULT` comes from the graph's collections, or is made.

    `is_chief`: whether this one initialises, and writes to `logdir`; others wait. A service of 0
    seconds is off. Raises `ValueError` for variables without a device in one that is not the
    chief."""

    USE_DEFAULT = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Any = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Any], Any] | None = None,
        local_init_run_options: Any = None,
    ) -> None:
        self._graph = get_default_graph() if graph is None else graph
        keys = GraphKeys
        with self._graph.as_default():
            self.ready_op = _chosen(ready_op, keys.READY_OP, report_uninitialized_variables)
            self.ready_for_local_init_op = _chosen(
                ready_for_local_init_op, keys.READY_FOR_LOCAL_INIT_OP, lambda: None
            )
            self.init_op = _chosen(init_op, keys.INIT_OP, global_variables_initializer)
            self.local_init_op = _chosen(
                local_init_op, keys.LOCAL_INIT_OP, Scaffold.default_local_init_op
            )
            self.saver = _chosen(
                saver, keys.SAVERS, lambda: Saver() if global_variables() else None
            )
            self.summary_op = _chosen(summary_op, keys.SUMMARY_OP, merge_all)
            self.global_step = _chosen(global_step, keys.GLOBAL_STEP, self._step_by_name)
        self.init_feed_dict = init_feed_dict
        self.is_chief = is_chief
        self.coord = Coordinator()
        self.save_summaries_secs = save_summaries_secs if is_chief else None
        self.save_model_secs = save_model_secs if is_chief else None
        self.summary_writer: Any = None
        self._folder = logdir if is_chief else None
        self.save_path = os.path.join(self._folder, checkpoint_basename) if self._folder else None
        if is_chief and not _is_default(summary_writer):
            self.summary_writer = summary_writer
        elif self._folder:
            self.summary_writer = FileWriter(self._folder)
        self._graph_is_written = False
        self._grace_secs = stop_grace_secs
        self._init_fn = init_fn
        self.session_manager = session_manager or SessionManager(
            self.local_init_op,
            self.ready_op,
            self.ready_for_local_init_op,
            self._graph,
            recovery_wait_secs,
            local_init_run_options,
        )
        if not is_chief:
            self._check_devices()
        self._graph.finalize()

    def _step_by_name(self) -> Any:
        if GraphKeys.GLOBAL_STEP not in self._graph:
            return None
        found = self._graph.get_tensor_by_name(f"{GraphKeys.GLOBAL_STEP}:0")
        return found if found.dtype is not None and found.dtype.is_integer else None

    def _check_devices(self) -> None:
        for op in self._graph.get_operations():
            if op.type in _REFERENCES and not op.device:
                raise ValueError(
                    f"When using replicas, all Variables must have their device set: {op.node_def}"
                )

    # Sessions

    def prepare_or_wait_for_session(
        self,
        master: str = "",
        config: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Any:
        """A session that is ready: the chief restores or initialises it and starts the services,
        others wait for it."""
        self.coord.clear_stop()
        if self.summary_writer is not None:
            self.summary_writer.reopen()
        if not self.is_chief:
            session = self.session_manager.wait_for_session(master, config, max_wait_secs)
        else:
            session = self.session_manager.prepare_session(
                master,
                init_op=self.init_op,
                saver=self.saver,
                checkpoint_dir=self._folder,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self.init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(session)
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    @contextmanager
    def managed_session(
        self,
        master: str = "",
        config: Any = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Any]:
        """A session for a `with` block. What the block or a service raises comes out when all
        threads have ended; the end of the input does not."""
        session: Any = None
        try:
            session = self.prepare_or_wait_for_session(
                master, config, start_standard_services=start_standard_services
            )
            yield session
        except Exception as error:
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                with suppress(Exception):
                    session.close()

    def _write_graph(self) -> None:
        if self._folder:
            definition = self._graph.as_graph_def(add_shapes=True)
            write_graph(definition, self._folder, "graph.pbtxt")
        if self.summary_writer is not None and not self._graph_is_written:
            self.summary_writer.add_graph(self._graph)
            self.summary_writer.add_meta_graph(export_meta_graph(graph=self._graph))
            self._graph_is_written = True

    # Services

    def start_standard_services(self, sess: Any) -> list[Thread] | None:
        """Starts the threads that write summaries, steps per second and checkpoints. Raises
        `RuntimeError` in one that is not the chief."""
        if not self.is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief supervisors "
                "can write events."
            )
        if not self._folder:
            logging.warning("Standard services need a 'logdir' passed to the SessionManager")
            return None
        if self.global_step is not None and self.summary_writer is not None:
            now = value_of_step(sess, self.global_step)
            self.summary_writer.add_session_log(SessionLog(status=SessionLog.START), now)
        threads: list[Thread] = []
        if self.save_summaries_secs and self.summary_writer is not None:
            if self.summary_op is not None:
                threads.append(self.loop(self.save_summaries_secs, self._summarize, (sess,)))
            if self.global_step is not None:
                threads.append(_StepCounter(self, sess))
                threads[-1].start()
        if self.saver is not None and self.save_model_secs:
            threads.append(self.loop(self.save_model_secs, self._save, (sess,)))
        return threads

    def _summarize(self, sess: Any) -> None:
        if self.global_step is None:
            self.summary_writer.add_summary(sess.run(self.summary_op))
            return
        self.summary_writer.add_summary(*sess.run([self.summary_op, self.global_step]))

    def _save(self, sess: Any) -> None:
        logging.info("Saving checkpoint to path %s", self.save_path)
        self.saver.save(sess, self.save_path, global_step=self.global_step)
        if self.summary_writer is not None and self.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self.save_path or "")
            self.summary_writer.add_session_log(log, value_of_step(sess, self.global_step))

    def start_queue_runners(
        self, sess: Any, queue_runners: Sequence[Any] | None = None
    ) -> list[Thread]:
        """Starts the threads that fill queues (default: of those in the graph's collection)."""
        if queue_runners is None:
            queue_runners = runners_of(self._graph)
        return [
            thread
            for runner in queue_runners
            for thread in runner.create_threads(sess, coord=self.coord, daemon=True, start=True)
        ]

    def loop(
        self, timer_interval_secs: float | None, target: Any, args: Any = None, kwargs: Any = None
    ) -> LooperThread:
        """Starts a thread that calls `target` until the Supervisor stops."""
        return LooperThread.loop(self.coord, timer_interval_secs, target, args, kwargs)

    def summary_computed(self, sess: Any, summary: Any, global_step: int | None = None) -> None:
        """Writes a summary that the program computed. Raises `RuntimeError` without a writer."""
        if self.summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self.global_step is not None:
            global_step = value_of_step(sess, self.global_step)
        self.summary_writer.add_summary(summary, global_step)

    # The end

    def stop(
        self,
        threads: Sequence[Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Ends all threads; raises what one of them reported."""
        self.coord.request_stop()
        try:
            self.coord.join(threads, self._grace_secs, ignore_live_threads)
        finally:
            if close_summary_writer and self.summary_writer is not None:
                self.summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self.summary_writer.close()
                self._graph_is_written = False

    def request_stop(self, ex: Any = None) -> None:
        self.coord.request_stop(ex)

    def should_stop(self) -> bool:
        return self.coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        return self.coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        self.coord.wait_for_stop()

    # The names of 2016
    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


class _StepCounter(LooperThread):
    """Writes steps per second."""

    def __init__(self, supervisor: Supervisor, session: Any) -> None:
        super().__init__(supervisor.coord, supervisor.save_summaries_secs)
        self._supervisor = supervisor
        self._session = session

    def _now(self) -> tuple[int, float]:
        return value_of_step(self._session, self._supervisor.global_step), time.time()

    def start_loop(self) -> None:
        self._last = self._now()

    def run_loop(self) -> None:
        (step, now), (last_step, last) = self._now(), self._last
        self._last = (step, now)
        rate = (step - last_step) / (now - last) if now > last else float("inf")
        tag = f"{self._supervisor.global_step.op.name}/sec"
        self._supervisor.summary_writer.add_summary(number_summary(tag, rate), step)


def _is_default(given: Any) -> bool:
    return isinstance(given, int) and given == Supervisor.USE_DEFAULT


def _chosen(given: Any, collection: str, make: Callable[[], Any]) -> Any:
    """What is given, else the first of a collection, else a new one, which is added to it."""
    if not _is_default(given):
        return given
    graph = get_default_graph()
    found = graph.get_collection(collection)
    if found:
        return found[0]
    made = make()
    if made is not None:
        graph.add_to_collection(collection, made)
    return made
