"""Hooks that write: checkpoints, summaries, steps per second.

In: a monitored session's runs. Out: checkpoints and event files in a folder. Invariant: hooks of
one session write the events of one folder to one file.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from flowc.api.framework import logging
from flowc.api.framework.models import write_graph
from flowc.api.summaries.file_writer import FileWriter
from flowc.api.training.global_step import get_global_step
from flowc.api.training.monitored.hooks import step_read
from flowc.api.training.monitored.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from flowc.api.training.monitored.timers import SecondOrStepTimer
from flowc.api.variables.graph_keys import GraphKeys
from flowc.encoding.summary_messages import SessionLog, number_summary
from flowc.graph import get_default_graph

_WRITERS = ("flowc", "event writers by folder")  # a collection of the graph that no file holds


def writer_for(folder: str | os.PathLike[str]) -> FileWriter:
    """The writer of events of the default graph in a folder, one for all who ask."""
    held = get_default_graph().get_collection_ref(_WRITERS)
    if not held:
        held.append({})
    name = os.path.abspath(folder)
    if name not in held[0]:
        held[0][name] = FileWriter(folder)
    return held[0][name]


class CheckpointSaverListener:
    """What a `CheckpointSaverHook` calls round each checkpoint. Raises nothing."""

    def begin(self) -> None:
        """Called while the graph may still change."""

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Called before a checkpoint is written."""

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """Called behind it; True stops the training."""

    def end(self, session: Any, global_step_value: int) -> None:
        """Called at the end of the session."""


class CheckpointSaverHook(SessionRunHook):
    """Saves a checkpoint at the first step, every `save_secs` seconds or `save_steps` steps, and at
    the end. Raises `ValueError` for a saver beside a scaffold, and unless one of seconds and steps
    is given."""

    def __init__(
        self,
        checkpoint_dir: str | os.PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Sequence[CheckpointSaverListener] | None = None,
        save_graph_def: bool = True,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver = saver
        self._scaffold = scaffold
        self._folder = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._folder, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        self._writer = writer_for(self._folder)
        self._global_step_tensor = step_read("CheckpointSaverHook")
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        from flowc.api.saving.exported_meta_graph import export_meta_graph

        step = session.run(self._global_step_tensor)
        graph = get_default_graph()
        if self._save_graph_def:
            write_graph(graph.as_graph_def(add_shapes=True), self._folder, "graph.pbtxt")
        self._writer.add_graph(graph)
        self._writer.add_meta_graph(export_meta_graph(graph=graph))
        self._save_first(session, step)

    def save_first(self, session: Any) -> None:
        """Writes a checkpoint of the step that the session is at."""
        self._save_first(session, session.run(self._global_step_tensor))

    def _save_first(self, session: Any, step: int) -> None:
        # What runs first may change variables: there is a checkpoint to go back to.
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not self._timer.should_trigger_for_step(run_values.results + 1):
            return
        step = run_context.session.run(self._global_step_tensor)
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: Any) -> None:
        step = session.run(self._global_step_tensor)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)
        self._writer.flush()

    def _save(self, session: Any, step: int) -> bool:
        """Writes a checkpoint; whether a listener wants to stop."""
        for listener in self._listeners:
            listener.before_save(session, step)
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        saver = self._get_saver()
        saver.save(
            session, self._save_path, global_step=step, write_meta_graph=self._save_graph_def
        )
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=self._save_path)
        self._writer.add_session_log(log, step)
        return any([listener.after_save(session, step) for listener in self._listeners])

    def _get_saver(self) -> Any:
        if self._saver is None and self._scaffold is not None:
            return self._scaffold.saver
        if self._saver is None:
            key = GraphKeys.SAVERS
            found = get_default_graph().get_collection(key)
            if not found:
                raise RuntimeError(
                    f"No items in collection {key}. Please add a saver to the collection or "
                    "provide a saver or scaffold."
                )
            if len(found) > 1:
                raise RuntimeError(
                    f"More than one item in collection {key}. Please indicate which one to use by "
                    "passing it to the constructor."
                )
            self._saver = found[0]
        return self._saver


class StepCounterHook(SessionRunHook):
    """Logs steps per second every so many steps or seconds, and writes them as a summary. Raises
    `ValueError` unless exactly one of the two is given."""

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer = summary_writer
        self._folder = output_dir
        self._last_step: int | None = None

    def begin(self) -> None:
        if self._writer is None and self._folder:
            self._writer = writer_for(self._folder)
        self._global_step_tensor = step_read("StepCounterHook")
        self._tag = f"{get_global_step().op.name}/sec"

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._timer.should_trigger_for_step(run_values.results + 1):
            step = run_context.session.run(self._global_step_tensor)
            if self._timer.should_trigger_for_step(step):
                seconds, steps = self._timer.update_last_triggered_step(step)
                if seconds is not None:
                    self._log_and_record(steps, seconds, step)
        if run_values.results == self._last_step:
            logging.log_first_n(
                logging.WARN,
                "It seems that the global step (tf.train.get_global_step) is not counted up: pass "
                "it to Optimizer.apply_gradients or Optimizer.minimize.",
                5,
            )
        self._last_step = run_values.results

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: Any, global_step: int) -> None:
        rate = elapsed_steps / elapsed_time
        if self._writer is not None:
            self._writer.add_summary(number_summary(self._tag, rate), global_step)
        logging.info("%s: %g", self._tag, rate)


class SummarySaverHook(SessionRunHook):
    """Writes summaries at the first step, and every so many steps or seconds. Raises `ValueError`
    unless exactly one of `scaffold` and `summary_op`, and one of steps and seconds, is given."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] | None = None,
        summary_writer: Any = None,
        scaffold: Any = None,
        summary_op: Any = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._summary_op = summary_op
        self._scaffold = scaffold
        self._writer = summary_writer
        self._folder = output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        if self._writer is None and self._folder:
            self._writer = writer_for(self._folder)
        self._next_step: int | None = None
        self._global_step_tensor = step_read("SummarySaverHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._requested = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        return SessionRunArgs(
            {
                "global_step": self._global_step_tensor,
                "summaries": self._summaries() if self._requested else [],
            }
        )

    def _summaries(self) -> list[Any]:
        found = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, list | tuple) else [found]

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._writer is None:
            return
        step = run_values.results["global_step"] + 1
        if self._requested:
            step = run_context.session.run(self._global_step_tensor)
            if self._next_step is None:
                self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results["summaries"]:
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: Any) -> None:
        if self._writer is not None:
            self._writer.flush()
