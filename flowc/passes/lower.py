"""Writes TensorFlow's ops as core ops, which say in their attrs all that code generation needs.

In: a Computation whose ops lower to scalars, views, reductions, products, convolutions, native
kernels and calls of the host (`decompose` leaves no others). Out: one of core ops and structure.
What a record's function says of one element is recorded as a ScalarBody. Inputs that only told a
lowering something (axes, permutations, known bounds) are in it now, and go.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields
from functools import cache
from typing import Any, cast

from flowc.dtypes import DType
from flowc.errors import InternalError
from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.core_ops import CORE_OPS, Record, is_core, recorded
from flowc.ir.lowering import Host
from flowc.ir.rewrite import prune_nodes, rewrite_nodes
from flowc.ir.scalar_body import record_map
from flowc.ir.text.printing import attrs_left_out
from flowc.options import Options


def lower(c: Computation, options: Options) -> Computation:
    record = cache(record_map)  # that of a record's function once for inputs of the same dtypes
    on_host = options.on_host
    lowered = rewrite_nodes(c, lambda b, node: _lower(b, node, record, on_host))
    return c if lowered is c else prune_nodes(lowered)


def _lower(
    b: Builder, node: Node, record: Record, on_host: Collection[str]
) -> Sequence[Value] | None:
    if is_core(node.op):
        return None
    lowering, kept = recorded(node, record)
    op = CORE_OPS.get(type(lowering))
    if op is None:
        kind = type(lowering).__name__
        raise InternalError(f"no core op for {kind}: {node!r}", node=node.name)
    told = attrs_left_out(op, node.types, node.sizes)
    attrs = {**told, "effects": node.has_effects, "label": node.op.name}
    device = node.op.traits & {"on_cpu", "on_gpu"}
    if device:
        (attrs["device"],) = device
    elif on_host and node.origin and all(name in on_host for name in node.origin):
        attrs["device"] = "on_cpu"
    if isinstance(lowering, Host):
        settings = tuple((name, _plain(node.attrs[name])) for name in lowering.settings)
        attrs |= {"op": node.op.name, "label": "", "settings": settings}
    else:
        attrs |= {f.name: getattr(lowering, f.name) for f in fields(lowering)}
    inputs = tuple(node.inputs[i] for i in kept)
    made = Node(op, inputs, attrs, node.types, node.after, node.origin, node.sizes)
    return b.append(made).outputs


def _plain(setting: Any) -> Any:
    """A setting of a host step as plain data: dtypes by their names."""
    if isinstance(setting, tuple | list):
        return tuple(map(_plain, cast(Sequence[Any], setting)))
    return setting.name if isinstance(setting, DType) else setting
