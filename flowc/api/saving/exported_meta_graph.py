"""MetaGraphs written: a graph with its collections, variables and Saver.

In: a graph. Out: a MetaGraphDef, and a file in binary, text or JSON form. Invariant: TensorFlow
imports it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Graph, get_default_graph


def export_meta_graph(
    filename: str | os.PathLike[str] | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    *,
    as_json: bool = False,
    **kwargs: Any,
) -> Any:
    """The MetaGraphDef of a graph (the default one), written to `filename` if given: in binary, as
    text, or as JSON.

    `meta_info_def`: what to say of the model. `graph_def`: nodes in place of the graph's.
    `collection_list`: the collections to keep (default: all). `export_scope`: only the nodes of a
    name scope, by their names in it. `clear_extraneous_savers`: no Saver but that of `saver_def`.
    `strip_default_attrs`: leave out attrs that have their defaults. The file's folder is
    made. Raises `OSError` and `UsageError` for a file that cannot be written, `TypeError` for a
    `meta_info_def` of another kind.
    """
    from flowc.files.safe_write import replacing
    from flowc.graph.meta_export import meta_graph_def

    source = graph if graph is not None else get_default_graph()
    wanted = source.get_all_collection_keys() if collection_list is None else collection_list
    has_savers = GraphKeys.SAVERS in wanted
    if clear_extraneous_savers:
        wanted = [key for key in wanted if key != GraphKeys.SAVERS]
    meta = meta_graph_def(
        source,
        graph_def=graph_def,
        saver_def=saver_def,
        collections=wanted,
        scope=export_scope,
        clear_devices=clear_devices,
        strip_default_attrs=strip_default_attrs,
    )
    if clear_extraneous_savers and has_savers and saver_def is not None:
        kept = meta.collection_def[GraphKeys.SAVERS].bytes_list.value
        kept.append(saver_def.SerializeToString())
    if meta_info_def is not None:
        if not isinstance(meta_info_def, type(meta.meta_info_def)):
            raise TypeError(
                f"meta_info_def must be of type MetaInfoDef. Received type: {type(meta_info_def)}."
            )
        meta.meta_info_def.MergeFromString(meta_info_def.SerializeToString())
    if filename is not None:
        Path(filename).parent.mkdir(parents=True, exist_ok=True)
        with replacing(Path(filename)) as file:
            file.write(_encoded(meta, as_text, as_json))
    return meta


def _encoded(message: Any, as_text: bool, as_json: bool) -> bytes:
    if as_json:
        from flowc.graph.meta_export import as_json_text

        return as_json_text(message).encode()
    return str(message).encode() if as_text else message.SerializeToString()
