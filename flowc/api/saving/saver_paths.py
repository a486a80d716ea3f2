"""Which files the operations of a saver touch: those whose names begin with the path that it is
given, or others.

In: the operation that saves or restores, and the tensor that is fed the path. Out: the operations
that may touch files because the caller of the saver named them. Invariant: what is put behind the
path is constant and leads out of no folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from flowc import dtypes
from flowc.extract.unsupported_ops import needed_nodes
from flowc.graph.capabilities import FILES, capability_of
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor

# What could become a step out of a folder, alone or with what stands beside it.
_LEADS_OUT = re.compile(rb"\.\.|\./|/\.|\.$")
ELEMENTS = ("moves", "chooses")  # what makes no texts, but takes those that it is given


def operations_beside(graph: Graph, saver: Operation, path: Tensor) -> Iterator[Operation]:
    """The operations that a saver needs and that touch only files whose names begin with `path`."""
    for _, node in needed_nodes(graph, (), (saver,), (path,)):
        if not isinstance(node, Operation):
            continue
        capability = capability_of(node.type)
        if capability is None or capability.name != FILES.name or not capability.paths:
            continue
        if all(_begins_with(node.inputs[i], path) for i in capability.paths):
            yield node


def _begins_with(tensor: Tensor, path: Tensor) -> bool:
    """Whether every text of a tensor is that of `path`, with ends."""
    if tensor == path:
        return True
    op = tensor.op
    if not op.inputs:
        return False
    if has_trait(op.type, "identity"):
        return _begins_with(op.inputs[0], path)
    texts = [t for t in op.inputs if t.dtype is dtypes.string]
    if any(has_trait(op.type, trait) for trait in ELEMENTS):
        return all(_begins_with(t, path) for t in texts)
    if not has_trait(op.type, "begins_with") or op.attrs.get("separator"):
        return False
    return _begins_with(texts[0], path) and all(map(_is_end, texts[1:]))


def _is_end(tensor: Tensor) -> bool:
    """Whether a tensor has only texts that stay in the folder when they stand behind a path."""
    op = tensor.op
    if op.inputs:
        texts = [t for t in op.inputs if t.dtype is dtypes.string]
        moves = any(has_trait(op.type, trait) for trait in ELEMENTS)
        return moves and all(map(_is_end, texts))
    value = op.attrs.get("value")
    if not isinstance(value, np.ndarray):
        return False
    return not any(map(_LEADS_OUT.search, value.reshape(-1).tolist()))
