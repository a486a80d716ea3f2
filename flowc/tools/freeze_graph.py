"""`tf.tools.freeze_graph`: a graph and a checkpoint -> a GraphDef with constants for variables.

In: files, or messages. Out: a GraphDef, and its file. Invariant: what is computed for the outputs
is what it was with the checkpoint's values.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from flowc.checkpoint.locate import find_checkpoint
from flowc.checkpoint.reader import CheckpointReader
from flowc.encoding.wire import open_region
from flowc.errors import InvalidModelError, NotFoundError
from flowc.extract.interface import operations_named
from flowc.graph.edits.graph_def_edits import convert_variables_to_constants
from flowc.graph.encode import saver_def
from flowc.graph.graph import Graph
from flowc.importer.formats import MESSAGES, Kind
from flowc.importer.metagraph import graph_of_message
from flowc.importer.variables import read_variables
from flowc.run.session import Session
from flowc.tools.model_file import read_model_file, write_message


def freeze_graph(
    input_graph: Any,
    input_saver: Any,
    input_binary: bool,
    input_checkpoint: Any,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: Any,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_denylist: str = "",
    input_meta_graph: Any = None,
    input_saved_model_dir: Any = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = 2,
) -> Any:
    """Writes the graph of a file with constants in place of its variables to `output_graph`, if
    given; returns it as a GraphDef message.

    The graph: that of `input_saved_model_dir`, else of `input_meta_graph`, else of `input_graph`, a
    GraphDef; in every form, as their content says (`input_binary` is not needed). `input_saver`: a
    file with a SaverDef, whose restore operation says which tensor of the checkpoint is which
    variable's. `output_node_names`: what stays, with all that it needs: names with commas, as all
    lists here. `clear_devices`: no node has a device. `initializer_nodes`: operations to run when
    the variables have their values. `variable_names_whitelist`: the variables to replace (default:
    all), `variable_names_denylist`: those to keep. `restore_op_name`, `filename_tensor_name` and
    `checkpoint_version` are not used, as in TensorFlow. Raises `ValueError` where the checkpoint or
    the names of outputs are missing, `OSError` for a file that is not there.
    """
    files = {"graph": input_graph, "meta graph": input_meta_graph, "saver": input_saver}
    for what, path in files.items():
        if path and not os.path.exists(path):
            raise OSError(f"Input {what} file '{path}' does not exist!")
    graph_def = meta = None
    if input_meta_graph:
        meta = read_model_file(Path(input_meta_graph)).meta_graph
    elif not input_saved_model_dir:
        graph_def = read_model_file(Path(input_graph)).graph_def
    return freeze_graph_with_def_protos(
        graph_def, _saver_def(Path(input_saver), input_binary) if input_saver else None,
        input_checkpoint, output_node_names, restore_op_name, filename_tensor_name, output_graph,
        clear_devices, initializer_nodes, variable_names_whitelist, variable_names_denylist, meta,
        input_saved_model_dir, saved_model_tags.split(","), checkpoint_version,
    )  # fmt: skip


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: Any,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: Any,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_denylist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: Any = None,
    saved_model_tags: Any = None,
    checkpoint_version: int = 2,
) -> Any:
    """`freeze_graph` of messages: `input_graph_def`, else `input_meta_graph_def` with its saver,
    whose nodes get no devices. Raises as `freeze_graph`."""
    folder = input_saved_model_dir
    prefix = _checkpoint_prefix(Path(folder, "variables") if folder else input_checkpoint)
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    meta, saver = input_meta_graph_def, input_saver_def
    if folder:
        meta = read_model_file(Path(folder), ",".join(saved_model_tags or ()) or None).meta_graph
    if meta is not None:
        saver = meta.saver_def
    graph_def = _own(input_graph_def if meta is None else meta.graph_def)
    if clear_devices or input_meta_graph_def is not None:
        for node in graph_def.node:
            node.device = ""
    graph = graph_of_message(graph_def, "input_graph_def")
    restore = "" if saver is None else saver.restore_op_name
    graph.variable_values = read_variables(graph, CheckpointReader(prefix), restore)
    frozen = frozen_graph_def(
        graph, graph_def, names_of(output_node_names), names_of(initializer_nodes),
        names_of(variable_names_whitelist) or None, names_of(variable_names_denylist),
    )  # fmt: skip
    if output_graph:
        write_message(frozen, Path(output_graph))
    return frozen


def frozen_graph_def(
    graph: Graph,
    graph_def: Any,
    outputs: list[str],
    initializers: Iterable[str] = (),
    wanted: list[str] | None = None,
    unwanted: Iterable[str] = (),
) -> Any:
    """`graph_def`, the message of `graph`, with the graph's values of variables, or those that
    `initializers` give them, for the nodes that `outputs` need."""
    with Session(graph=graph) as session:
        if initializers:
            session.run(operations_named(graph, initializers))
        return convert_variables_to_constants(session, graph_def, outputs, wanted, list(unwanted))


def names_of(text: str) -> list[str]:
    """The names in a text with commas."""
    return [name for name in (text or "").replace(" ", "").split(",") if name]


def _own(message: Any) -> Any:
    """A GraphDef message of flowc's, to be changed, from one of flowc's or TensorFlow's."""
    return MESSAGES[Kind.GRAPH].FromString(message.SerializeToString())


def _saver_def(path: Path, is_binary: bool) -> Any:
    data = bytes(open_region(path).view)
    try:
        if is_binary:
            return saver_def().FromString(data)
        return text_format.Parse(data.decode(), saver_def())
    except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
        raise InvalidModelError(f"{path}: no SaverDef: {error}") from None


def _checkpoint_prefix(checkpoint: Any) -> str:
    try:
        return find_checkpoint(os.fspath(checkpoint or ""))
    except NotFoundError:
        raise ValueError(f"Input checkpoint '{checkpoint}' doesn't exist!") from None
