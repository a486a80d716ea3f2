"""SavedModels, read into a session.

In: a session, tags, a folder. Out: the graph in the session's, its variables with their values; the
MetaGraphDef, which has the signatures. Invariant: a model that flowc or TensorFlow wrote.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from flowc.api.framework.scopes import control_dependencies, group, no_op
from flowc.api.saving import saved_model_constants as constants
from flowc.api.saving.imported_meta_graph import import_meta_graph
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variable_ops import (
    global_variables_initializer,
    local_variables_initializer,
)
from flowc.checkpoint.locate import has_checkpoint
from flowc.errors import InvalidModelError
from flowc.graph import Operation, Tensor, get_default_graph


class UnreadableSavedModel(InvalidModelError, OSError):
    """A file that holds no SavedModel, of which TensorFlow says that it cannot be parsed."""


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a SavedModel. Raises nothing."""
    names = (constants.SAVED_MODEL_FILENAME_PB, constants.SAVED_MODEL_FILENAME_PBTXT)
    return any(os.path.isfile(Path(export_dir) / name) for name in names)


def load(
    sess: Any,
    tags: Iterable[str] | None = None,
    export_dir: str | os.PathLike[str] | None = None,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Adds the graph of a SavedModel that has these tags to the session's, restores its variables
    and runs its main operation. Returns its MetaGraphDef.

    Raises `OSError` where there is no model, or what is none, `RuntimeError` where no graph has
    just these tags, `ValueError` where the values of variables are not there, `InvalidModelError`
    (`DataLossError`) for a damaged model, `TypeError` without tags and folder.
    """
    if tags is None or export_dir is None:
        raise TypeError(
            "load() missing required arguments: it is TensorFlow 1's load(sess, tags, export_dir), "
            "which restores a SavedModel into a session. To read one without a session, as "
            "TensorFlow 2's load(export_dir) does, call flowc.load_graph(export_dir)"
        )
    from flowc.importer.import_meta_graph import saved_meta_graphs
    from flowc.importer.main_operation import main_operation_of

    folder, wanted = Path(export_dir), set(tags)
    if not contains_saved_model(folder):
        raise OSError(
            f"SavedModel file does not exist at: {folder}/"
            f"{{{constants.SAVED_MODEL_FILENAME_PBTXT}|{constants.SAVED_MODEL_FILENAME_PB}}}"
        )
    try:
        graphs = saved_meta_graphs(folder)
    except InvalidModelError as error:
        raise UnreadableSavedModel(error.message, hint=error.hint) from None
    meta = next((m for m in graphs if set(m.meta_info_def.tags) == wanted), None)
    if meta is None:
        have = [set(m.meta_info_def.tags) for m in graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(sorted(wanted)).strip('[]')} could not be "
            f"found in SavedModel, with available tags '{have}'. To inspect available tag-sets in "
            "the SavedModel, please use the SavedModel CLI: `saved_model_cli`."
        )
    with sess.graph.as_default():
        saver = import_meta_graph(meta, import_scope=import_scope, **saver_kwargs)
        prefix = folder / constants.VARIABLES_DIRECTORY / constants.VARIABLES_FILENAME
        variables = sess.graph.get_collection(GraphKeys.GLOBAL_VARIABLES, import_scope)
        if saver is not None and (variables or has_checkpoint(str(prefix))):
            saver.restore(sess, str(prefix))
        main = main_operation_of(meta, folder, import_scope or "")
        if main is not None:
            sess.run(sess.graph.as_graph_element(main.name), main.assets)
    return meta


def initialize_all() -> Operation:
    """An operation that initializes all variables and tables. Raises nothing."""
    variables = global_variables_initializer(), local_variables_initializer()
    tables = get_default_graph().get_collection(GraphKeys.TABLE_INITIALIZERS)
    name = "init_all_tables"
    return group(*variables, group(*tables, name=name) if tables else no_op(name))


def main_op_with_restore(restore_op_name: Operation | Tensor) -> Operation:
    """An operation that does what `main_op` does and then runs `restore_op_name`: an operation or a
    tensor, whatever its name says. Raises `TypeError` for a name."""
    with control_dependencies([initialize_all()]):
        return group(restore_op_name)
