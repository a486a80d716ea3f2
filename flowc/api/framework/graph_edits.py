"""`flowc.graph_util.edit_graph`: what `flowc edit` does, of messages.

In: a GraphDef or MetaGraphDef, and edits in names of the graph as it is. Out: a new message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any


def edit_graph(
    graph: Any,
    replace: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
    rewire: Mapping[tuple[str, int | str], str | None] | None = None,
    set_attr: Mapping[tuple[str, str], str] | None = None,
    remove: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
) -> Any:
    """A copy of a GraphDef or MetaGraphDef with other ops, inputs, attrs or names of nodes.

    `replace`: op types by those that they take the place of, of the nodes whose `name`, `device` or
    `input` has the regular expression of `where`. `rewire`: by node and input (its number or name),
    the tensor that it becomes, None where it goes. `set_attr`: by node (or op) and attr, the value
    as a text: `float32`, `3`, `[2,?]`. Ops are replaced first, then inputs, attrs, removals and
    names; attrs that follow from inputs are filled in. Raises `UnknownNameError` for what is not
    there, `UsageError` for edits that leave a node malformed or without an input."""
    from flowc.importer.formats import Encoding, Kind
    from flowc.tools.model_file import ModelFile
    from flowc.tools.node_edits import NodeEdits, edit_model

    message = type(graph)()
    message.CopyFrom(graph)
    kind = Kind.META_GRAPH if hasattr(message, "meta_info_def") else Kind.GRAPH
    edits = NodeEdits(
        replaced=tuple((replace or {}).items()),
        where=tuple((where or {}).items()),
        rewired=[(node, str(i), tensor or "") for (node, i), tensor in (rewire or {}).items()],
        attrs=[(node, attr, text) for (node, attr), text in (set_attr or {}).items()],
        removed=tuple(remove),
        renamed=tuple((rename or {}).items()),
    )
    edit_model(ModelFile(Path("the graph"), kind, Encoding.BINARY, message), edits)
    return message
