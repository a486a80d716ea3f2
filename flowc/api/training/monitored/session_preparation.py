"""Makes sessions whose variables have values.

In: operations that initialise or say what is missing, a Saver, a folder of checkpoints. Out: a
session that was restored or initialised, and is ready.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from flowc.api.framework import logging
from flowc.api.saving.checkpoint_state import get_checkpoint_state
from flowc.errors import DeadlineExceededError, FailedPreconditionError
from flowc.graph import Graph, get_default_graph
from flowc.run.session import Session


class SessionManager:
    """Makes, restores and waits for sessions of a graph.

    `ready_op`, `ready_for_local_init_op`: the names of what has no value yet; an empty vector (or
    an operation without a result) says that all is ready. `recovery_wait_secs`: between two looks
    at what others make. Raises `ValueError` for `ready_for_local_init_op` alone."""

    def __init__(
        self,
        local_init_op: Any = None,
        ready_op: Any = None,
        ready_for_local_init_op: Any = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: Any = None,
        local_init_feed_dict: Any = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._local_init_run_options = local_init_run_options
        self._local_init_feed_dict = local_init_feed_dict

    def prepare_session(
        self,
        master: str,
        init_op: Any = None,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Any = None,
        init_fn: Callable[[Any], Any] | None = None,
    ) -> Session:
        """A session with the values of a checkpoint, or where there is none, initialised. Raises
        `RuntimeError` where there is nothing to initialise by, and where variables stay without
        a value."""
        session, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path,
            wait_for_checkpoint, max_wait_secs, config,
        )  # fmt: skip
        if not restored:
            if init_op is None and init_fn is None and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                session.run(init_op, init_feed_dict)
            if init_fn is not None:
                init_fn(session)
        what = f"Init op: {_name_of(init_op)}, init fn: {init_fn}, "
        missing = self._initialise_locally(session)
        if missing is not None:
            raise RuntimeError(
                f"Init operations did not make model ready for local_init.  {what}error: {missing}"
            )
        missing = missing_from(self._ready_op, session)
        if missing is not None:
            raise RuntimeError(
                f"Init operations did not make model ready.  {what}local_init_op: "
                f"{self._local_init_op}, error: {missing}"
            )
        return session

    def recover_session(
        self,
        master: str,
        saver: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
    ) -> tuple[Session, bool]:
        """(a session, whether a checkpoint made it ready)"""
        session, restored = self._restored(
            master, saver, checkpoint_dir, checkpoint_filename_with_path,
            wait_for_checkpoint, max_wait_secs, config,
        )  # fmt: skip
        missing = self._initialise_locally(session)
        if not restored:
            return session, False
        if missing is None:
            missing = missing_from(self._ready_op, session)
        if missing is not None:
            place = checkpoint_dir or checkpoint_filename_with_path
            logging.info("Restoring model from %s did not make model ready: %s", place, missing)
            return session, False
        return session, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = None
    ) -> Session:
        """A session that is ready, once others have made it so. Raises `DeadlineExceededError`
        after `max_wait_secs` seconds."""
        end = None if max_wait_secs is None else time.time() + max_wait_secs
        while True:
            session = Session(master, graph=self._graph, config=config)
            missing = self._initialise_locally(session)
            if missing is None:
                missing = missing_from(self._ready_op, session)
            if missing is None:
                return session
            with suppress(Exception):
                session.close()
            if end is not None and time.time() + self._recovery_wait_secs > end:
                raise DeadlineExceededError(
                    f"Session was not ready after waiting {max_wait_secs} secs."
                )
            logging.info("Waiting for model to be ready: %s", missing)
            time.sleep(self._recovery_wait_secs)

    def _restored(
        self,
        master: str,
        saver: Any,
        folder: str | None,
        path: str | None,
        wait: bool,
        longest: float,
        config: Any,
    ) -> tuple[Session, bool]:
        """(a session, whether a checkpoint was restored)"""
        session = Session(master, graph=self._graph, config=config)
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if not saver or not (folder or path):
            return session, False
        state: Any = None
        if not path:
            state = self._waited_for(folder, longest if wait else 0)
            if state is None:
                return session, False
            path = state.model_checkpoint_path
        more = self._graph.get_collection("saved_model_initializers")
        if more:
            session.run(more)
        saver.restore(session, path)
        if state is not None:
            saver.recover_last_checkpoints(list(state.all_model_checkpoint_paths))
        return session, True

    def _waited_for(self, folder: Any, longest: float) -> Any:
        """The state file of a folder that names a checkpoint; None where none comes in time."""
        waited = 0.0
        while True:
            state = get_checkpoint_state(folder)
            if state is not None and state.model_checkpoint_path:
                return state
            if waited >= longest:
                return None
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs

    def _initialise_locally(self, session: Session) -> str | None:
        """Runs `local_init_op` where all is ready for it; else what is missing."""
        if self._local_init_op is None:
            return None
        missing = missing_from(self._ready_for_local_init_op, session)
        if missing is None:
            feeds = self._local_init_feed_dict
            session.run(self._local_init_op, feeds, self._local_init_run_options)
        return missing


def missing_from(ready_op: Any, session: Session) -> str | None:
    """What a ready operation says is missing, None where nothing is. Raises what its run raises."""
    if ready_op is None:
        return None
    try:
        names = session.run(ready_op)
    except FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            raise
        return str(error)
    if names is None or np.asarray(names).dtype == np.int32 or np.size(names) == 0:
        return None
    return "Variables not initialized: " + ", ".join(name.decode() for name in names)


def _name_of(item: Any) -> str:
    return "None" if item is None else getattr(item, "name", f"<no name for {type(item)}>")
