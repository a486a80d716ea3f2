"""Models of one node, as files have them: no builder looks at what is in them.

In: an op type, arrays for its inputs, attrs. Out: a GraphDef whose node `y` computes it, and what
a Session makes of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import loaded_graphs
import numpy as np

import flowc
from flowc import dtypes
from flowc.graph.op_info import signature_of
from flowc.ir.op import bind_types
from flowc.ir.signature import REQUIRED
from flowc.ops import tf_op
from flowc.proto.graph_pb2 import GraphDef


def op_model(op_type: str, inputs: Sequence[Any] = (), fed: bool = False, **attrs: Any) -> GraphDef:
    """`fed`: the arrays are those of placeholders `x0`, `x1` ..., else constants of such names.
    Attrs that are not given follow from the inputs, or are the record's defaults."""
    record, signature = tf_op(op_type), signature_of(op_type)
    arrays = [np.asarray(x) for x in inputs]
    kinds = [dtypes.as_dtype(a.dtype) for a in arrays]
    found: dict[str, Any] = dict(attrs)
    if record is not None:
        found = {**bind_types(record, kinds, attrs), **attrs}
    given = {n: _form(v) for n, v in found.items() if v is not REQUIRED and v is not None}
    with flowc.Graph().as_default() as graph:
        tensors = [
            flowc.placeholder(k, a.shape, f"x{i}") if fed else flowc.constant(a, name=f"x{i}")
            for i, (a, k) in enumerate(zip(arrays, kinds))
        ]
        assert signature is not None
        graph.add_operation(op_type, tensors, given, "y")
    return graph.as_graph_def()


def _form(value: Any) -> Any:
    """Texts and lists as operations of a graph hold them."""
    if isinstance(value, str):
        return value.encode()
    return [_form(v) for v in value] if isinstance(value, list | tuple) else value


def loaded(model: GraphDef | bytes) -> flowc.Graph:
    return loaded_graphs.loaded(model if isinstance(model, bytes) else model.SerializeToString())


def run_model(
    model: GraphDef | bytes, feeds: Mapping[str, Any] | None = None, fetch: str = "y:0"
) -> Any:
    with flowc.Session(graph=loaded(model), threads=1) as session:
        return session.run(fetch, dict(feeds or {}))


def run_op(op_type: str, *inputs: Any, fed: bool = False, **attrs: Any) -> Any:
    """What a Session gives for a model of one op."""
    arrays = [np.asarray(x) for x in inputs]
    feeds = {f"x{i}:0": a for i, a in enumerate(arrays)} if fed else {}
    return run_model(op_model(op_type, arrays, fed, **attrs), feeds)
