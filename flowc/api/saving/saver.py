"""`tf.train.Saver`: saves the variables of a session to files, and gives them back.

In: variables, a session, paths. Out: checkpoints, the file that says which there are, the graph
beside each. Invariants: the state file names no checkpoint that is not whole; a checkpoint is
removed when the state file names it no more.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flowc.api.saving.checkpoint_state import (
    checkpoint_exists,
    checkpoint_time,
    meta_graph_path,
    remove_checkpoint,
    write_checkpoint_state,
)
from flowc.api.saving.exported_meta_graph import export_meta_graph
from flowc.api.saving.saved_variables import saved_variables
from flowc.api.saving.saver_nodes import V2, SaverNodes
from flowc.checkpoint.names import STATE_FILE
from flowc.errors import (
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
)
from flowc.graph import Graph, Tensor, get_default_graph

log = logging.getLogger("flowc.api.saving")

HOUR = 3600


class Saver:
    """Saves and restores variables.

    `var_list`: a list of variables, saved by the names of their operations, or a dict from names to
    variables (default: all global variables). `reshape`: restore also values of another shape with
    as many elements. `sharded`: one file for each device. `max_to_keep`: checkpoints that stay (0
    or None: all); beside them one in `keep_checkpoint_every_n_hours` stays for ever. `name`: the
    scope of the operations. `saver_def`: the SaverDef of a graph that has them. `allow_empty`:
    without any variable, save nothing. `write_version`: `SaverDef.V1` or `SaverDef.V2`.
    `pad_step_number`: steps in names have eight digits. `save_relative_paths`: the state file names
    checkpoints relative to its folder. `filename`: what is saved to where nothing is fed.

    Raises `ValueError` where there is nothing to save, or a name stands for several variables, and
    `TypeError` for what is no variable.
    """

    def __init__(
        self,
        var_list: Any = None,
        reshape: bool = False,
        sharded: bool = False,
        max_to_keep: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000.0,
        name: str | None = None,
        restore_sequentially: bool = False,
        saver_def: Any = None,
        builder: Any = None,
        defer_build: bool = False,
        allow_empty: bool = False,
        write_version: int = V2,
        pad_step_number: bool = False,
        save_relative_paths: bool = False,
        filename: str | None = None,
    ) -> None:
        if defer_build and var_list:
            raise ValueError(
                "If `var_list` is provided then build cannot be deferred. Either set "
                "defer_build=False or var_list=None."
            )
        self._var_list = var_list
        self._reshape = reshape
        self._sharded = sharded
        self._max_to_keep = max_to_keep
        self._every_n_hours = keep_checkpoint_every_n_hours
        self._name = name
        self._allow_empty = allow_empty
        self._write_version = write_version
        self._pad_step_number = pad_step_number
        self._save_relative_paths = save_relative_paths
        self._filename = filename
        self._is_empty = False
        self._is_built = False
        self._last_checkpoints: list[tuple[str, float]] = []
        self._to_remove: list[tuple[str, float]] = []
        self._next_kept = 0.0
        self.saver_def: Any = None
        if saver_def is not None:
            self.saver_def = saver_def
            self._check_saver_def()
            self._write_version = saver_def.version
        if not defer_build:
            self.build()

    def build(self) -> None:
        """Adds the operations to the default graph, unless that has been done."""
        if self._is_built:
            return
        self._is_built = True
        if self.saver_def is None:
            variables = saved_variables(self._var_list)
            if not variables:
                if not self._allow_empty:
                    raise ValueError("No variables to save")
                self._is_empty = True
                return
            self.saver_def = self._built(variables)
        elif self._name:  # the scope under which the graph was imported
            prefix = f"{self._name}/"
            self.saver_def = _renamed(self.saver_def, lambda name: prefix + name)
        self._check_saver_def()
        hours = self.saver_def.keep_checkpoint_every_n_hours
        self._next_kept = time.time() + hours * HOUR

    def _built(self, variables: Any) -> Any:
        from flowc.graph.encode import saver_def

        nodes = SaverNodes(variables, self._reshape, self._sharded, self._write_version)
        ops = nodes.build(self._name, self._filename)
        return saver_def(
            filename_tensor_name=ops.filename.name,
            save_tensor_name=ops.save.name,
            restore_op_name=ops.restore.name,
            max_to_keep=self._max_to_keep or 0,
            sharded=self._sharded,
            keep_checkpoint_every_n_hours=self._every_n_hours or 0,
            version=self._write_version,
        )

    def _check_saver_def(self) -> None:
        for field in ("save_tensor_name", "restore_op_name", "filename_tensor_name"):
            if not hasattr(self.saver_def, field):
                raise ValueError(f"saver_def must be a saver_pb2.SaverDef: {self.saver_def}")
            if not getattr(self.saver_def, field):
                raise ValueError(f"saver_def must specify the {field}: {self.saver_def}")

    # Saving

    def save(
        self,
        sess: Any,
        save_path: str | os.PathLike[str],
        global_step: Any = None,
        latest_filename: str | None = None,
        meta_graph_suffix: str = "meta",
        write_meta_graph: bool = True,
        write_state: bool = True,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
    ) -> str | None:
        """Saves the variables as they are in `sess`, and the graph beside them, and removes what
        `max_to_keep` leaves no room for. Returns the prefix: `save_path`, with `-<step>` where
        there is a `global_step` (a number, a tensor, or its name).

        A kill at any moment leaves the checkpoint of this prefix that was there, or the new one.
        Raises `TypeError` for what is no Session, `ValueError` for paths that collide and where the
        folder's own folder is missing, `FailedPreconditionError` for variables without a value,
        `ResourceExhaustedError` and the like for files that cannot be written.
        """
        if not self._is_built:
            raise RuntimeError("`build()` should be called before save if defer_build==True")
        latest = latest_filename or STATE_FILE
        if os.path.split(latest)[0]:
            raise ValueError("'latest_filename' must not contain path components")
        path = os.fspath(save_path)
        prefix = path if global_step is None else self._with_step(sess, path, global_step)
        if prefix == path and os.path.basename(path) == latest and not self._sharded:
            raise ValueError(
                f"'latest_filename' collides with 'save_path': '{latest}' and '{path}'"
            )
        check_session(sess)
        found = None if self._is_empty else self._run_save(sess, path, prefix)
        if found is not None and write_state:
            self._note_saved(os.path.dirname(path), found, latest, meta_graph_suffix)
        if write_meta_graph:
            with sess.graph.as_default():
                beside = str(meta_graph_path(prefix, meta_graph_suffix))
                self.export_meta_graph(beside, strip_default_attrs=strip_default_attrs)
        return found

    def _with_step(self, sess: Any, path: str, step: Any) -> str:
        if not hasattr(step, "__index__") or isinstance(step, Tensor):
            step = int(sess.run(step))
        return f"{path}-{step:08d}" if self._pad_step_number else f"{path}-{step}"

    def _run_save(self, sess: Any, path: str, prefix: str) -> str:
        feeds = {self.saver_def.filename_tensor_name: prefix}
        self._allow_files(sess.graph)
        try:
            return os.fsdecode(sess.run(self.saver_def.save_tensor_name, feeds))
        except (FailedPreconditionError, NotFoundError) as error:
            if not (os.path.isdir(Path(path).parent) or isinstance(error, FailedPreconditionError)):
                text = f"Parent directory of {path} doesn't exist, can't save."
                raise ValueError(text) from error
            raise

    def _allow_files(self, graph: Graph) -> None:
        """The saver of an imported graph may write where it is told to, and beside that."""
        saves = graph.get_tensor_by_name(self.saver_def.save_tensor_name).op
        if not saves.is_imported:
            return
        from flowc.api.saving.saver_paths import operations_beside  # late: loads the op records

        path = graph.get_tensor_by_name(self.saver_def.filename_tensor_name)
        graph.allowed_operations |= frozenset(operations_beside(graph, saves, path))

    def _note_saved(self, folder: str, newest: str, latest: str, suffix: str) -> None:
        """Writes the state file, then removes what it no longer names."""
        if self.saver_def.max_to_keep:
            kept = [row for row in self._last_checkpoints if row[0] != newest]
            self._last_checkpoints = [*kept, (newest, time.time())]
            if len(self._last_checkpoints) > self.saver_def.max_to_keep:
                self._to_remove.append(self._last_checkpoints.pop(0))
        names = self.last_checkpoints
        write_checkpoint_state(folder, newest, names, latest, self._save_relative_paths)
        if self._to_remove:
            self._remove(*self._to_remove.pop(0), suffix)

    def _remove(self, prefix: str, written: float, suffix: str) -> None:
        """Removes a checkpoint, unless the time has come to keep one."""
        if written > self._next_kept:
            self._next_kept += self.saver_def.keep_checkpoint_every_n_hours * HOUR
            return
        try:
            remove_checkpoint(prefix, self.saver_def.version, suffix)
        except OSError as error:
            log.warning("Ignoring: %s", error)

    # Restoring

    def restore(self, sess: Any, save_path: str | os.PathLike[str] | None) -> None:
        """Gives the variables in `sess` the values of a checkpoint; they need no initialization.

        Raises `ValueError` where there is none, `NotFoundError` for a variable that is not in it,
        `InvalidArgumentError` for one of another dtype or shape, `DataLossError` for a damaged
        file.
        """
        if self._is_empty:
            return
        if save_path is None:
            raise ValueError("Can't load save_path when it is None.")
        prefix = os.fspath(save_path)
        if not prefix or not checkpoint_exists(prefix):
            raise ValueError(f"The passed save_path is not a valid checkpoint: {prefix}")
        feeds = {self.saver_def.filename_tensor_name: prefix}
        try:
            sess.run(self.saver_def.restore_op_name, feeds)
        except NotFoundError as error:
            why = "a Variable name or other graph key that is missing from the checkpoint"
            raise _restore_fault(error, why) from error
        except InvalidArgumentError as error:
            why = "a mismatch between the current graph and the graph from the checkpoint"
            raise _restore_fault(error, why) from error

    # What was saved

    @property
    def last_checkpoints(self) -> list[str]:
        """The checkpoints that are kept, the oldest first."""
        return [name for name, _ in self._last_checkpoints]

    def set_last_checkpoints(self, last_checkpoints: Sequence[str]) -> None:
        """Takes checkpoints over from another Saver, the oldest first; none of them counts as old.
        Raises `AssertionError` for what is no list."""
        assert isinstance(last_checkpoints, list)
        self._last_checkpoints = [(name, float("inf")) for name in last_checkpoints]

    def set_last_checkpoints_with_time(
        self, last_checkpoints_with_time: Sequence[tuple[str, float]]
    ) -> None:
        """The same, each with the time when it was written, in seconds."""
        assert isinstance(last_checkpoints_with_time, list)
        self._last_checkpoints = list(last_checkpoints_with_time)

    def recover_last_checkpoints(self, checkpoint_paths: Sequence[str]) -> None:
        """Takes over those of the checkpoints that have files, the oldest first."""
        times = [(path, checkpoint_time(path)) for path in checkpoint_paths]
        self._last_checkpoints = [(path, when) for path, when in times if when is not None]

    # As messages

    def as_saver_def(self) -> Any:
        """The SaverDef that says which operations the Saver has."""
        return self.saver_def

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The SaverDef, its names without `export_scope`; None for a Saver outside that scope."""
        if not export_scope:
            return self.saver_def
        prefix = f"{export_scope}/"
        if not self.saver_def.filename_tensor_name.startswith(prefix):
            return None
        return _renamed(self.saver_def, lambda name: name.removeprefix(prefix))

    @staticmethod
    def from_proto(saver_def: Any, import_scope: str | None = None) -> Saver:
        """The Saver of a graph that has its operations, under `import_scope`."""
        return Saver(saver_def=saver_def, name=import_scope)

    def export_meta_graph(
        self,
        filename: str | None = None,
        collection_list: Sequence[str] | None = None,
        as_text: bool = False,
        export_scope: str | None = None,
        clear_devices: bool = False,
        clear_extraneous_savers: bool = False,
        strip_default_attrs: bool = False,
        save_debug_info: bool = False,
        *,
        as_json: bool = False,
    ) -> Any:
        """The MetaGraphDef of the default graph with this Saver, written to `filename` if given: as
        `flowc.train.export_meta_graph`."""
        return export_meta_graph(
            filename=filename,
            graph=get_default_graph(),
            saver_def=self.saver_def,
            collection_list=collection_list,
            as_text=as_text,
            export_scope=export_scope,
            clear_devices=clear_devices,
            clear_extraneous_savers=clear_extraneous_savers,
            strip_default_attrs=strip_default_attrs,
            as_json=as_json,
        )


def _renamed(saver_def: Any, change: Callable[[str], str]) -> Any:
    found = type(saver_def)()
    found.CopyFrom(saver_def)
    for field in ("filename_tensor_name", "save_tensor_name", "restore_op_name"):
        setattr(found, field, change(getattr(found, field)))
    return found


def check_session(sess: Any) -> None:
    """Raises `TypeError` for what is no session."""
    from flowc.run.session import Session

    if not isinstance(sess, Session):
        raise TypeError(f"'sess' must be a Session; {sess}")


def _restore_fault(error: OpError, why: str) -> OpError:
    """The error of values that the graph cannot take."""
    return type(error)(
        f"Restoring from checkpoint failed. This is most likely due to {why}. Please ensure that "
        "you have not altered the graph expected based on the checkpoint. Original error:\n\n"
        f"{error.message}",
        node=error.node,
        hint=error.hint,
    )
