"""`ProfilerHook`: traces single runs of a monitored session.

In: how often, and a folder. Out: a Chrome trace for each traced run, and its RunMetadata among the
events of the folder. Invariant: runs between them are not traced.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from flowc.api.framework import logging
from flowc.api.framework.config import RunOptions
from flowc.api.framework.timeline import Timeline
from flowc.api.training.monitored.hooks import step_read
from flowc.api.training.monitored.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from flowc.api.training.monitored.timers import SecondOrStepTimer
from flowc.api.training.monitored.writing_hooks import writer_for


class ProfilerHook(SessionRunHook):
    """Writes `timeline-<step>.json` in `output_dir` for a run every `save_steps` steps or
    `save_secs` seconds, and its RunMetadata as `step_<step>` to the folder's events; not for the
    first run, whose time is that of the compilation. Raises `ValueError` unless one of steps and
    seconds is given."""

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | os.PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._folder = Path(output_dir)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._show_dataflow, self._show_memory = show_dataflow, show_memory
        self._next_step: int | None = None

    def begin(self) -> None:
        self._writer = writer_for(self._folder)
        self._global_step_tensor = step_read("ProfilerHook")

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        self._is_traced = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        level = RunOptions.FULL_TRACE if self._is_traced else RunOptions.NO_TRACE
        return SessionRunArgs(self._global_step_tensor, options=RunOptions(trace_level=level))

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        step = run_values.results + 1
        if self._next_step is None:
            self._timer.update_last_triggered_step(step)
        elif self._is_traced:
            step = run_context.session.run(self._global_step_tensor)
            self._timer.update_last_triggered_step(step)
            self._write(step, run_values.run_metadata)
        self._next_step = step + 1

    def _write(self, step: int, run_metadata: Any) -> None:
        place = self._folder / f"timeline-{step}.json"
        logging.info("Saving timeline for %d into '%s'.", step, place)
        stats = run_metadata.step_stats
        text = Timeline(stats).generate_chrome_trace_format(self._show_dataflow, self._show_memory)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        self._writer.add_run_metadata(run_metadata, f"step_{step}", step)

    def end(self, session: Any) -> None:
        self._writer.flush()
