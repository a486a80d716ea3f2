"""What a SavedModel wants to be run once before it serves: its tables are filled so.

In: the MetaGraphDef, and the model's folder. Out: the operation's name, and the places of the
files that it reads. Invariant: these are in the model's own folder `assets`.
"""

from __future__ import annotations

from pathlib import Path

from flowc.errors import PermissionDeniedError
from flowc.files.plain_file import lies_within
from flowc.graph.graph import Graph
from flowc.graph.saved_model_export import assets_of
from flowc.graph.signature import MainOperation
from flowc.proto.meta_graph_pb2 import MetaGraphDef

COLLECTIONS = ("saved_model_main_op", "legacy_init_op")
SIGNATURE = "__saved_model_init_op"
ASSETS_COLLECTION = "saved_model_assets"
ASSETS_FOLDER = "assets"


def main_operation_of(
    meta: MetaGraphDef, folder: Path, scope: str = "", *, allow_links: bool = False
) -> MainOperation | None:
    """None where the model has none. `scope`: where its nodes are. Raises `PermissionDeniedError`
    for a file of the model that is a link to one elsewhere."""
    name = _name_of(meta)
    if not name:
        return None
    prefix = f"{scope}/" if scope else ""
    assets: dict[str, str] = {}
    for tensor, file in assets_of(meta, ASSETS_COLLECTION):
        path = folder / ASSETS_FOLDER / Path(file).name
        if not allow_links and not lies_within(path, folder):
            raise PermissionDeniedError(
                f"{path}: the file is a link that leads out of the model's folder",
                hint="if you trust the model, allow_links=True or --allow-links",
            )
        assets[prefix + tensor] = str(path)
    return MainOperation(prefix + name, assets)


def does_nothing(main: MainOperation, graph: Graph) -> bool:
    """Whether a graph's main operation waits for nothing and computes nothing: TensorFlow 2 exports
    one of every model."""
    name = main.name.partition(":")[0]
    operation = next((op for op in graph.get_operations() if op.name == name), None)
    return (
        operation is not None
        and operation.type == "NoOp"
        and not (operation.inputs or operation.control_inputs)
    )


def _name_of(meta: MetaGraphDef) -> str:
    for key in COLLECTIONS:
        names = meta.collection_def[key].node_list.value if key in meta.collection_def else ()
        if names:
            return names[0]
    outputs = meta.signature_def[SIGNATURE].outputs if SIGNATURE in meta.signature_def else {}
    return outputs[SIGNATURE].name if SIGNATURE in outputs else ""
