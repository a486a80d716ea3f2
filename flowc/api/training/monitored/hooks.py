"""Hooks that stop, watch, feed and finish.

In: a monitored session's runs. Out: requests to stop, lines in the log, errors, final values.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from flowc.api.framework import logging
from flowc.api.training.global_step import read_of_global_step
from flowc.api.training.monitored.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from flowc.api.training.monitored.timers import NeverTriggerTimer, SecondOrStepTimer
from flowc.errors import OutOfRangeError
from flowc.graph import Tensor, get_default_graph


def step_read(hook: str) -> Tensor:
    """The value of the global step. Raises `RuntimeError` where the graph has none."""
    found = read_of_global_step(get_default_graph())
    if found is None:
        raise RuntimeError(f"Global step should be created to use {hook}.")
    return found


class StopAtStepHook(SessionRunHook):
    """Stops after `num_steps` more steps, or when the global step reaches `last_step`. Raises
    `ValueError` unless exactly one is given."""

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps = num_steps
        self._last_step = last_step

    def begin(self) -> None:
        self._global_step_tensor = step_read("StopAtStepHook")

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self._last_step is None:
            self._last_step = session.run(self._global_step_tensor) + self._num_steps

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._global_step_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        assert self._last_step is not None
        # What was fetched beside the step may be the count before it: look again, near the end.
        if run_values.results + 1 >= self._last_step:
            step = run_context.session.run(self._global_step_tensor)
            if step >= self._last_step:
                run_context.request_stop()


class NanLossDuringTrainingError(RuntimeError):
    """The loss is no number any more. `NanTensorHook` raises it."""

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Raises `NanLossDuringTrainingError` when the loss is NaN; or stops, without
    `fail_on_nan_loss`."""

    def __init__(self, loss_tensor: Any, fail_on_nan_loss: bool = True) -> None:
        self._loss_tensor = loss_tensor
        self._fail_on_nan_loss = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(self._loss_tensor)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if not np.isnan(run_values.results):
            return
        message = "Model diverged with loss = NaN."
        if self._fail_on_nan_loss:
            logging.error(message)
            raise NanLossDuringTrainingError
        logging.warning(message)
        run_context.request_stop()


class LoggingTensorHook(SessionRunHook):
    """Logs tensors every so many runs or seconds, or only at the end.

    `tensors`: tensors or their names, or a dict of them by tag; `formatter`: makes the line of a
    dict of values. Raises `ValueError` unless exactly one of them says when."""

    def __init__(
        self,
        tensors: Mapping[str, Any] | Iterable[Any],
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[Any, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if isinstance(tensors, Mapping):
            self._tensors = {tag: tensors[tag] for tag in sorted(tensors)}
        else:
            self._tensors = {item: item for item in tensors}
        self._formatter = formatter
        self._timer = (
            NeverTriggerTimer() if only_at_end else SecondOrStepTimer(every_n_secs, every_n_iter)
        )
        self._log_at_end = at_end

    def begin(self) -> None:
        self._timer.reset()
        self._runs = 0
        self._current = {tag: _graph_element(tensor) for tag, tensor in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        self._triggered = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._current) if self._triggered else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        if self._triggered:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: Any) -> None:
        if self._log_at_end:
            self._log(session.run(self._current))

    def _log(self, values: dict[Any, Any]) -> None:
        seconds, _ = self._timer.update_last_triggered_step(self._runs)
        with np.printoptions(suppress=True):
            if self._formatter is not None:
                logging.info(self._formatter(values))
                return
            line = ", ".join(f"{tag} = {values[tag]}" for tag in self._tensors)
        logging.info("%s", line if seconds is None else f"{line} ({seconds:.3f} sec)")


def _graph_element(item: Any) -> Any:
    """The tensor or operation that is named, or is meant; a bare name is that of output 0."""
    graph = get_default_graph()
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item} should have graph attribute that is equal to current graph {graph}."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    found = graph.as_graph_element(f"{item}:0")
    if len(found.op.outputs) > 1:
        raise ValueError(
            f"Name {item} is ambiguous, as this Operation has multiple outputs (at least 2)."
        )
    return found


class GlobalStepWaiterHook(SessionRunHook):
    """Waits before the first run until the global step, which others count up, is `wait_until_step`
    or more. Raises `RuntimeError` where the graph has no global step."""

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until_step = wait_until_step

    def begin(self) -> None:
        self._started = False
        self._global_step_tensor = step_read("_GlobalStepWaiterHook")

    def before_run(self, run_context: SessionRunContext) -> None:
        if self._started or self._wait_until_step <= 0:
            self._started = True
            return
        wanted = self._wait_until_step
        logging.info("Waiting for global step %d before starting training.", wanted)
        while run_context.session.run(self._global_step_tensor) < wanted:
            time.sleep(0.5)
        self._started = True


class FinalOpsHook(SessionRunHook):
    """Runs `final_ops` when the session ends; their values are `final_ops_values`. Raises what
    running them does."""

    def __init__(self, final_ops: Any, final_ops_feed_dict: Any = None) -> None:
        self._final_ops = final_ops
        self._feeds = final_ops_feed_dict
        self._values: Any = None

    @property
    def final_ops_values(self) -> Any:
        return self._values

    def end(self, session: Any) -> None:
        if self._final_ops is None:
            return
        try:
            self._values = session.run(self._final_ops, feed_dict=self._feeds)
        except (OutOfRangeError, StopIteration):
            logging.warning(
                "FinalOpsHook reads from an input that has ended: final operations should read "
                "what was gathered in variables, and no new input."
            )
            raise


class FeedFnHook(SessionRunHook):
    """Feeds each run with what `feed_fn` returns. Raises what the run does for these feeds."""

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
