"""SavedModels, written: a folder with graphs, their variables and files.

In: a session, tags, signatures. Out: a folder that TensorFlow and flowc load. Invariant: the model
is there when its graph is: variables and assets are written before `saved_model.pb`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flowc.api.saving import saved_model_constants as constants
from flowc.api.saving.saver import Saver, check_session
from flowc.api.saving.signature_defs import predict_signature_def
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Operation, Tensor, get_default_graph


class SavedModelBuilder:
    """Writes a SavedModel into a new folder. Raises `AssertionError` for one that holds anything.

    First `add_meta_graph_and_variables`, then `add_meta_graph` for further graphs with the same
    variables, at last `save`.
    """

    def __init__(self, export_dir: str | os.PathLike[str]) -> None:
        self._folder = Path(export_dir)
        if os.path.isdir(self._folder) and any(self._folder.iterdir()):
            raise AssertionError(
                f"Export directory {export_dir} already exists, and isn't empty. Please choose a "
                "different export directory, or delete all the contents of the specified directory."
            )
        self._folder.mkdir(parents=True, exist_ok=True)
        self._graphs: list[Any] = []
        self._has_variables = False

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Sequence[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph, and writes the variables as they are in `sess`.

        `assets_collection`: constants that name files, which are copied. `main_op`: what a program
        runs that loads the model. Raises `AssertionError` when variables were written before, or
        for a signature whose tensors have no names, `TypeError` for a `main_op` that is no
        operation.
        """
        if self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        _check_signatures(signature_def_map)
        saver = saver or _new_saver()
        folder = self._folder / constants.VARIABLES_DIRECTORY
        folder.mkdir(exist_ok=True)
        prefix = str(folder / constants.VARIABLES_FILENAME)
        saver.save(sess, prefix, write_meta_graph=False, write_state=False)
        self._add(
            tags, signature_def_map, assets_collection, main_op or legacy_init_op, saver,
            clear_devices, strip_default_attrs,
        )  # fmt: skip
        self._has_variables = True

    def add_meta_graph(
        self,
        tags: Sequence[str],
        signature_def_map: Mapping[str, Any] | None = None,
        assets_collection: Sequence[Tensor] | None = None,
        legacy_init_op: Operation | None = None,
        clear_devices: bool = False,
        main_op: Operation | None = None,
        strip_default_attrs: bool = False,
        saver: Saver | None = None,
    ) -> None:
        """Adds the default graph, for the variables that were written with another. Raises
        `AssertionError` where none were, and as `add_meta_graph_and_variables`."""
        if not self._has_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        _check_signatures(signature_def_map)
        self._add(
            tags, signature_def_map, assets_collection, main_op or legacy_init_op,
            saver or _new_saver(), clear_devices, strip_default_attrs,
        )  # fmt: skip

    def _add(
        self,
        tags: Sequence[str],
        signatures: Mapping[str, Any] | None,
        assets: Sequence[Tensor] | None,
        main_op: Operation | None,
        saver: Saver,
        clear_devices: bool,
        strip_default_attrs: bool,
    ) -> None:
        from flowc.graph.saved_model_export import asset_message, fill_model_parts

        if main_op is not None:
            if not isinstance(main_op, Operation):
                raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
            kept = get_default_graph().get_collection_ref(constants.MAIN_OP_KEY)
            kept[:] = [main_op]
        kept = get_default_graph().get_collection_ref(constants.ASSETS_KEY)
        for tensor in assets or ():
            message = asset_message(tensor, self._copied(tensor))
            if message not in kept:
                kept.append(message)
        meta = saver.export_meta_graph(
            clear_devices=clear_devices, strip_default_attrs=strip_default_attrs
        )
        fill_model_parts(meta, tags, signatures or {})
        self._graphs.append(meta)

    def _copied(self, tensor: Tensor) -> str:
        """Copies the file that a constant names; returns its name in the model."""
        source = Path(os.fsdecode(tensor.op.attrs["value"].item()))
        folder = self._folder / constants.ASSETS_DIRECTORY
        folder.mkdir(exist_ok=True)
        name, number = source.name, 0
        while os.path.exists(folder / name) and (folder / name).read_bytes() != source.read_bytes():
            number += 1
            name = f"{source.name}_{number}"
        shutil.copyfile(source, folder / name)
        return name

    def save(self, as_text: bool = False) -> bytes:
        """Writes the message of the model, whole or not at all. Returns its path."""
        from flowc.files.safe_write import replacing
        from flowc.graph.saved_model_export import saved_model_def

        model = saved_model_def(self._graphs)
        name = (
            constants.SAVED_MODEL_FILENAME_PBTXT if as_text else constants.SAVED_MODEL_FILENAME_PB
        )
        path = self._folder / name
        with replacing(path) as file:
            file.write(str(model).encode() if as_text else model.SerializeToString())
        return os.fsencode(path)


def _new_saver() -> Saver:
    return Saver(sharded=True, allow_empty=True)


def _check_signatures(signatures: Mapping[str, Any] | None) -> None:
    for signature in (signatures or {}).values():
        for info in (*signature.inputs.values(), *signature.outputs.values()):
            if info.WhichOneof("encoding") is None or (
                info.WhichOneof("encoding") == "name" and not info.name
            ):
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have the name or "
                    f"coo_sparse field set: {info}"
                )
            if not info.dtype:
                raise AssertionError(
                    f"All TensorInfo protos used in the SignatureDefs must have the dtype field "
                    f"set: {info}"
                )


def simple_save(
    session: Any,
    export_dir: str | os.PathLike[str],
    inputs: Mapping[str, Any],
    outputs: Mapping[str, Any],
    legacy_init_op: Operation | None = None,
) -> None:
    """Writes the session's graph and variables as a SavedModel to serve, with one signature.
    `inputs`, `outputs`: tensors by name. Raises `AssertionError` where the folder exists and is not
    empty, `OSError` where it cannot be written, `TypeError` for what is no session."""
    check_session(session)
    signature = predict_signature_def(inputs, outputs)
    key = constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    builder = SavedModelBuilder(export_dir)
    with session.graph.as_default():
        builder.add_meta_graph_and_variables(
            session,
            [constants.SERVING],
            {key: signature},
            get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
            legacy_init_op,
            clear_devices=True,
        )
    builder.save()
