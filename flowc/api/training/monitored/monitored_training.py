"""`MonitoredTrainingSession`: a monitored session with the hooks that most trainings want."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc.api.training.monitored.monitored_session import MonitoredSession
from flowc.api.training.monitored.scaffold import Scaffold
from flowc.api.training.monitored.session_creators import (
    ChiefSessionCreator,
    WorkerSessionCreator,
)
from flowc.api.training.monitored.session_run_hook import SessionRunHook
from flowc.api.training.monitored.writing_hooks import (
    CheckpointSaverHook,
    StepCounterHook,
    SummarySaverHook,
)


class _UseDefault:
    """What stands for a setting that was not given, since None turns it off."""


_USE_DEFAULT: Any = _UseDefault()


def MonitoredTrainingSession(
    master: str = "",
    is_chief: bool = True,
    checkpoint_dir: str | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = _USE_DEFAULT,
    save_summaries_steps: int | None = _USE_DEFAULT,
    save_summaries_secs: float | None = _USE_DEFAULT,
    config: Any = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = _USE_DEFAULT,
    summary_dir: str | None = None,
    save_graph_def: bool = True,
) -> MonitoredSession:
    """A `MonitoredSession` that goes on from the last checkpoint in `checkpoint_dir`, and writes
    there checkpoints (by default every 600 seconds), summaries (every 100 steps) and steps per
    second. None or 0 turns a hook off. One that is not the chief only waits and runs. Raises
    `AttributeError` for what is no hook, what the hooks do where the graph does not fit them, and
    `RuntimeError` where the scaffold's operations leave variables without a value."""
    summaries_steps, summaries_secs = _steps_or_secs(
        save_summaries_steps, save_summaries_secs, (100, None)
    )
    checkpoint_steps, checkpoint_secs = _steps_or_secs(
        save_checkpoint_steps, save_checkpoint_secs, (None, 600)
    )
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    every: list[SessionRunHook] = list(chief_only_hooks or ())
    folder = summary_dir or checkpoint_dir
    if folder and log_step_count_steps and log_step_count_steps > 0:
        every.append(StepCounterHook(every_n_steps=log_step_count_steps, output_dir=folder))
    if folder and _is_on(summaries_steps, summaries_secs):
        every.append(SummarySaverHook(summaries_steps, summaries_secs, folder, scaffold=scaffold))
    if checkpoint_dir and _is_on(checkpoint_steps, checkpoint_secs):
        every.append(
            CheckpointSaverHook(
                checkpoint_dir,
                checkpoint_secs,
                checkpoint_steps,
                scaffold=scaffold,
                save_graph_def=save_graph_def,
            )
        )
    every += hooks or ()
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    return MonitoredSession(chief, every, stop_grace_period_secs)


def _steps_or_secs(steps: Any, secs: Any, default: tuple[Any, Any]) -> tuple[Any, Any]:
    if steps is _USE_DEFAULT and secs is _USE_DEFAULT:
        return default
    return (
        None if steps is _USE_DEFAULT else steps,
        None if secs is _USE_DEFAULT else secs,
    )


def _is_on(*settings: float | None) -> bool:
    return any(setting is not None and setting > 0 for setting in settings)
