"""Inputs that have one value in every run: constants of the program, and no inputs of it.

In: values by name, and what is asked of a graph. Out: an Interface whose feeds hold them.
A `placeholder_with_default` that is no input is its default in every run, and so one of these.
Invariant: a value has its tensor's dtype, exactly, and a shape that fits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flowc.errors import UsageError
from flowc.extract.feed_specs import Specs
from flowc.extract.interface import Interface, choose_interface, element_named
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.fetch_set import Feed
from flowc.ir.traversal import reachable
from flowc.ir.types import TensorType


def choose_interface_with(
    graph: Graph,
    feeds: Specs | None,
    fetches: Any,
    signature: str | None,
    values: Mapping[str, Any],
) -> Interface:
    """As `choose_interface`, with `values` in place of the inputs that they name (those of the
    signature, tensors). Raises `UsageError` for a value of another dtype or shape, and for an input
    that is fed too."""
    constants = [_constant(graph, name, value, signature) for name, value in values.items()]
    chosen = choose_interface(graph, feeds, fetches, signature)
    tensors = {feed.tensor for feed in constants}
    both = [f.name for f in chosen.feeds if f.tensor in tensors]
    if both and feeds is not None:
        raise UsageError(f"the input {both[0]!r} is fed and set", hint="leave out one of them")
    kept = [f for f in chosen.feeds if f.tensor not in tensors]
    ends = [*(f.tensor.op for f in chosen.fetches), *chosen.targets]
    fed = {f.tensor for f in (*kept, *constants)}
    return replace(chosen, feeds=(*kept, *constants, *_defaults(graph, ends, fed)))


def _defaults(graph: Graph, ends: list[Operation], fed: Collection[Tensor]) -> list[Feed]:
    """The inputs behind `ends` that nobody feeds and whose default is a constant of the graph."""
    found = [op for op in graph.get_operations() if op.type == "PlaceholderWithDefault"]
    found = [op for op in found if op.outputs[0] not in fed and op.inputs[0].op.type == "Const"]
    if not found:
        return []

    def needs(op: Operation) -> list[Operation]:
        return [*(t.op for t in op.inputs if t not in fed), *op.control_inputs]

    needed = set(reachable(ends, needs))
    return [_default(op) for op in found if op in needed]


def _default(op: Operation) -> Feed:
    array = np.asarray(op.inputs[0].op.get_attr("value"))
    dtype = op.outputs[0].base_dtype
    assert dtype is not None  # the record of a placeholder says it
    type_ = TensorType(dtype, array.shape)
    return Feed(op.name, op.outputs[0], type_, value=array, is_default=True)


def _constant(graph: Graph, name: str, value: Any, signature: str | None) -> Feed:
    wanted = signature or getattr(graph.source, "signature", None)
    inputs = graph.signatures[wanted].inputs if wanted in graph.signatures else {}
    info = inputs.get(name) if name not in graph else None
    tensor = element_named(graph, info.name if info is not None else name, "input to set")
    if tensor.dtype is None or tensor.dtype.base_dtype.kind == "handle":
        raise UsageError(f"the input {name!r} has no dtype that a value could have")
    array = _array(tensor, name, value)
    try:
        tensor.set_shape(array.shape)  # its rank may be known to nobody else
    except ValueError:
        raise UsageError(
            f"the input {name!r} is set to a value of shape {list(array.shape)}, and the graph has "
            f"{tensor.shape}"
        ) from None
    return Feed(name, tensor, TensorType(tensor.dtype.base_dtype, array.shape), value=array)


def _array(tensor: Tensor, name: str, value: Any) -> np.ndarray:
    assert tensor.dtype is not None
    given, dtype = np.asarray(value), tensor.dtype.base_dtype
    fault = f"the input {name!r} is set to {value!r}, and is {dtype.name}"
    try:
        array = given.astype(dtype.numpy)
    except (TypeError, ValueError):
        raise UsageError(fault) from None
    loses = given.dtype.kind in "iufb" and dtype.is_integer and not np.array_equal(array, given)
    if loses or (given.dtype.kind in "US") != (dtype.kind == "string"):
        raise UsageError(fault)
    if dtype.kind == "string":
        texts = [t.encode() if isinstance(t, str) else bytes(t) for t in given.ravel().tolist()]
        array = np.array([*texts, None], object)[:-1].reshape(given.shape)
    return array
