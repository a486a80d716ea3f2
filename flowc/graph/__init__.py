"""The Graph: operations, tensors, scopes and functions, shaped as TensorFlow shapes them."""

from __future__ import annotations

from flowc.graph.attrs import AttrPlaceholder, Attrs, FunctionRef
from flowc.graph.default import default_graph, get_default_graph, reset_default_graph
from flowc.graph.function import BodyNode, Function, FunctionArg, FunctionBody
from flowc.graph.graph import Graph, Versions
from flowc.graph.operation import Operation
from flowc.graph.shape import Dimension, TensorShape, as_shape
from flowc.graph.signature import Signature, TensorInfo
from flowc.graph.tensor import Tensor

__all__ = [
    "AttrPlaceholder",
    "Attrs",
    "BodyNode",
    "Dimension",
    "Function",
    "FunctionArg",
    "FunctionBody",
    "FunctionRef",
    "Graph",
    "Operation",
    "Signature",
    "Tensor",
    "TensorInfo",
    "TensorShape",
    "Versions",
    "as_shape",
    "default_graph",
    "get_default_graph",
    "reset_default_graph",
]
