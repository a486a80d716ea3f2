"""Inputs that are set to one value when compiling: constants of the program in place of inputs.

In: values by name, and what is asked of a graph. Out: an Interface whose feeds hold them.
A `placeholder_with_default` that is no input is its default in every run, and so one of these.
Invariant: a value has its tensor's dtype, exactly, and a shape that fits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from flowc.errors import UsageError
from flowc.extract.feed_specs import Specs
from flowc.extract.interface import Interface, choose_interface, element_named
from flowc.graph import Graph, Operation, Tensor
from flowc.graph.fetch_set import Feed
from flowc.graph.shape_inference import constant_elements
from flowc.ir.traversal import reachable
from flowc.ir.types import TensorType

WITH_DEFAULT = "PlaceholderWithDefault"


def choose_interface_with(
    graph: Graph,
    feeds: Specs | None,
    fetches: Any,
    signature: str | None,
    values: Mapping[str, Any],
) -> Interface:
    """As `choose_interface`, with `values` in place of the inputs that they name (those of the
    signature, tensors). Raises `UsageError` for a value of another dtype or shape, and for an input
    that is fed too. Inputs with a default that nobody feeds are constants, too: the program has no
    way to be given another value."""
    constants = [_constant(graph, name, value, signature) for name, value in values.items()]
    chosen = choose_interface(graph, feeds, fetches, signature)
    tensors = {feed.tensor for feed in constants}
    both = [f.name for f in chosen.feeds if f.tensor in tensors]
    if both and feeds is not None:
        raise UsageError(f"the input {both[0]!r} is fed and set", hint="leave out one of them")
    kept = [f for f in chosen.feeds if f.tensor not in tensors]
    chosen = replace(chosen, feeds=(*kept, *constants))
    defaults = defaults_of(chosen)
    names = tuple(feed.name for feed in defaults)
    return replace(chosen, feeds=(*chosen.feeds, *defaults), defaults=names)


def defaults_of(chosen: Interface) -> list[Feed]:
    """The inputs with a default that the fetches need and that are not fed, with these defaults:
    those that are written in the graph."""
    fed = {feed.tensor for feed in chosen.feeds}

    def needed(op: Operation) -> list[Operation]:
        return [*(t.op for t in op.inputs if t not in fed), *op.control_inputs]

    ends = [*(f.tensor.op for f in chosen.fetches if f.tensor not in fed), *chosen.targets]
    found: list[Feed] = []
    for op in reachable(ends, needed):
        if op.type == WITH_DEFAULT and op.output(0) not in fed and op.inputs[0].op.type == "Const":
            dtype, value = op.output(0).base_dtype, constant_elements(op.inputs[0])
            if dtype is not None and value is not None and dtype.kind not in ("string", "handle"):
                kind = TensorType(dtype, value.shape)
                found.append(Feed(op.name, op.output(0), kind, value=value))
    return sorted(found, key=lambda feed: feed.name)


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
