"""Creators of the session of a monitored session: the chief initialises or restores it, a worker
waits until that is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from flowc.api.training.monitored.scaffold import Scaffold
from flowc.api.training.monitored.session_preparation import SessionManager
from flowc.graph import get_default_graph
from flowc.ir.cached_property import cached_property
from flowc.run.session import Session


class SessionCreator(ABC):
    """A factory of sessions, for subclasses that give `create_session`. Raises `TypeError` where
    one is made without it."""

    @abstractmethod
    def create_session(self) -> Any:
        """A session that is ready."""


class _ScaffoldedCreator(SessionCreator):
    def __init__(self, scaffold: Scaffold | None, master: str, config: Any) -> None:
        self._scaffold = scaffold or Scaffold()
        self._master = master
        self._config = config

    @cached_property
    def _preparation(self) -> SessionManager:
        return SessionManager(
            local_init_op=self._scaffold.local_init_op,
            local_init_feed_dict=self._scaffold.local_init_feed_dict,
            ready_op=self._scaffold.ready_op,
            ready_for_local_init_op=self._scaffold.ready_for_local_init_op,
            graph=get_default_graph(),
        )


class ChiefSessionCreator(_ScaffoldedCreator):
    """Restores the last checkpoint of a folder (or the one that is named); where there is none,
    initialises. Raises `RuntimeError` where the model is not ready afterwards."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        checkpoint_dir: str | None = None,
        checkpoint_filename_with_path: str | None = None,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._checkpoint_dir = checkpoint_dir
        self._checkpoint_path = checkpoint_filename_with_path

    def create_session(self) -> Session:
        scaffold = self._scaffold.finalize()
        return self._preparation.prepare_session(
            self._master,
            saver=scaffold.saver,
            checkpoint_dir=self._checkpoint_dir,
            checkpoint_filename_with_path=self._checkpoint_path,
            config=self._config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


class WorkerSessionCreator(_ScaffoldedCreator):
    """Waits until the chief has initialised what they share. Raises `DeadlineExceededError` where
    that takes longer than `max_wait_secs`."""

    def __init__(
        self,
        scaffold: Scaffold | None = None,
        master: str = "",
        config: Any = None,
        max_wait_secs: float = 30 * 60,
    ) -> None:
        super().__init__(scaffold, master, config)
        self._max_wait_secs = max_wait_secs

    def create_session(self) -> Session:
        self._scaffold.finalize()
        return self._preparation.wait_for_session(
            self._master, config=self._config, max_wait_secs=self._max_wait_secs
        )
