"""Graphs written node by node, as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf import text_format
from loaded_graphs import loaded

import flowc
from flowc.proto.graph_pb2 import GraphDef

Nodes = dict[str, str]
F, I, B = "DT_FLOAT", "DT_INT32", "DT_BOOL"  # noqa: E741


def node(op: str, *inputs: str, **attrs: str) -> str:
    """A node as text; `attrs` are AttrValues as text, or the name of a type."""
    text = f'op: "{op}" ' + " ".join(f'input: "{i}"' for i in inputs)
    for name, value in attrs.items():
        value = f"type: {value}" if value.startswith("DT_") else value
        text += f' attr {{ key: "{name}" value {{ {value} }} }}'
    return text


def constant(value: Any, *controls: str) -> str:
    kind = {bool: (B, "bool_val"), int: (I, "int_val"), float: (F, "float_val")}[type(value)]
    shown = str(value).lower()
    tensor = f"tensor {{ dtype: {kind[0]} tensor_shape {{ }} {kind[1]}: {shown} }}"
    return node("Const", *[f"^{c}" for c in controls], dtype=kind[0], value=tensor)


def enter(value: str, dtype: str = I, frame: str = "f") -> str:
    return node("Enter", value, T=dtype, frame_name=f's: "{frame}"')


def graph_of(nodes: Mapping[str, str | None], library: str = "") -> flowc.Graph:
    text = "\n".join(f'node {{ name: "{n}" {t} }}' for n, t in nodes.items() if t is not None)
    definition = text_format.Parse(f"{text} library {{ {library} }}", GraphDef())
    return loaded(definition.SerializeToString())
