"""Iterators in checkpoints: `tf.data.experimental.make_saveable_from_iterator`, and the hook that
saves them beside training.

In: iterators. Out: what a `Saver` takes, and restores.
"""

from __future__ import annotations

import os
from typing import Any

from flowc.api.data.iterators import ITERATORS
from flowc.api.framework.raw_ops import call
from flowc.api.saving.checkpoint_state import latest_checkpoint
from flowc.api.saving.saved_resources import SaveableIterator
from flowc.api.saving.saver import Saver
from flowc.api.training.monitored.session_run_hook import SessionRunHook
from flowc.api.training.monitored.writing_hooks import CheckpointSaverHook
from flowc.graph import Tensor, get_default_graph

_POLICIES = ("warn", "ignore", "fail")


def _policy(given: Any) -> int:
    """The number of what is done where functions of a dataset have a state of their own."""
    wanted = "fail" if given is None else getattr(given, "name", given)
    if not isinstance(wanted, str) or wanted.lower() not in _POLICIES:
        raise ValueError(
            "Invalid `ExternalStatePolicy.` Supported values include 'warn', 'ignore', and 'fail.' "
            f"Received {given}."
        )
    return _POLICIES.index(wanted.lower())


def make_saveable_from_iterator(iterator: Any, external_state_policy: Any = None) -> Any:
    """What a `Saver` saves of an iterator, and goes on from: its place, and all that was gathered
    there. A run raises `FailedPreconditionError` for an iterator that was not initialized, and, as
    `external_state_policy` is 'fail' unless 'warn' or 'ignore' is given, where functions of the
    dataset have a state of their own. Raises `ValueError` for another policy."""
    return _saveable(iterator._iterator_resource, _policy(external_state_policy))


def _saveable(handle: Tensor, policy: int) -> SaveableIterator:
    state = call("SerializeIterator", handle, external_state_policy=policy)
    return SaveableIterator(handle, handle.name, state)


class CheckpointInputPipelineHook(SessionRunHook):
    """Saves the iterators of a graph in checkpoints of their own (`input.ckpt`), and restores the
    last one when training goes on. `estimator`: what has a `model_dir` and, in `config`,
    `save_checkpoints_secs` or `save_checkpoints_steps`. Raises `ValueError` for a policy that
    `make_saveable_from_iterator` does not know."""

    def __init__(self, estimator: Any, external_state_policy: Any = None) -> None:
        self._policy = _policy(external_state_policy)
        config = getattr(estimator, "config", None) or estimator._config
        basename = "input"
        if getattr(config, "num_worker_replicas", 1) > 1:
            basename += f"_{config.task_type}_{config.task_id}"
        self._latest_filename = f"checkpoint_{basename}"
        self._folder = os.fspath(estimator.model_dir)
        self._settings: dict[str, Any] = {
            "save_secs": config.save_checkpoints_secs,
            "save_steps": config.save_checkpoints_steps,
            "checkpoint_basename": f"{basename}.ckpt",
        }
        self._hook = CheckpointSaverHook(self._folder, **self._settings)
        self._saver: _PipelineSaver | None = None
        self._first_run = True

    def begin(self) -> None:
        """Makes what saves the iterators that the graph has now."""
        handles = get_default_graph().get_collection(ITERATORS)
        saveables = [_saveable(handle, self._policy) for handle in handles]
        self._saver = _PipelineSaver(saveables, self._latest_filename)
        self._hook = CheckpointSaverHook(self._folder, saver=self._saver, **self._settings)
        self._hook.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """The first run restores or saves: other hooks may initialize iterators before it."""
        self._first_run = True

    def before_run(self, run_context: Any) -> Any:
        """Restores the last checkpoint, or saves the first one."""
        if self._first_run:
            self._first_run = False
            self._begin(run_context.session)
        return self._hook.before_run(run_context)

    def _begin(self, session: Any) -> None:
        assert self._saver is not None
        latest = latest_checkpoint(self._folder, self._latest_filename)
        if latest:
            self._saver.restore(session, latest)
            return
        self._hook.save_first(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Saves, where it is time to."""
        self._hook.after_run(run_context, run_values)

    def end(self, session: Any) -> None:
        """Saves the end."""
        self._hook.end(session)


class _PipelineSaver(Saver):
    """Keeps a list of its checkpoints that is not that of the model's."""

    def __init__(self, saveables: list[SaveableIterator], latest_filename: str) -> None:
        super().__init__(saveables, sharded=True)
        self._latest_filename = latest_filename

    def save(self, sess: Any, save_path: Any, *given: Any, **settings: Any) -> Any:
        settings.setdefault("latest_filename", self._latest_filename)
        return super().save(sess, save_path, *given, **settings)
