"""Nodes in another layout, written as channels-last ones between transposes.

In: a node with a `data_format`. Out: the decomposition. Invariant: of every op that has a layout,
what computes it is written for channels-last tensors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.ir.layout import layout_of
from flowc.ir.lowering import Decompose

if TYPE_CHECKING:
    from flowc.ir.builder import Builder
    from flowc.ir.computation import Node, Value

Build = Callable[["Builder", "Node", Sequence["Value"], Mapping[str, Any]], "Value"]


def is_last(node: Node) -> bool:
    return not layout_of(node.attrs["data_format"]).channels_first


def same_op(b: Builder, node: Node, operands: Sequence[Value], attrs: Mapping[str, Any]) -> Value:
    return b.emit(node.op, operands, attrs).output


def in_channels_last(
    build: Build = same_op, images: Sequence[int] | None = None, moves_result: bool = True
) -> Decompose:
    """What `build` makes of a node's operands and attrs as channels-last ones. `images`: the
    operands that have a layout (None: all), as has the result where it `moves_result`."""

    def built(b: Builder, node: Node) -> Value:
        if is_last(node):
            return build(b, node, node.inputs, node.attrs)
        axes = range(len(node.attrs["strides"]))
        layout = layout_of(node.attrs["data_format"])
        operands = list(node.inputs)
        for i in range(len(operands)) if images is None else images:
            operands[i] = b.transpose(operands[i], np.array(layout.logical(axes), np.int32))
        result = build(b, node, operands, last_attrs(node.attrs))
        back = np.array(layout.stored(axes), np.int32)
        return b.transpose(result, back) if moves_result else result

    return Decompose(built)


def last_attrs(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """The attrs of a node as those of the channels-last one."""
    layout = layout_of(attrs["data_format"])
    changed = dict(attrs) | {"data_format": "NHWC" if len(attrs["strides"]) == 4 else "NDHWC"}
    for name in ("ksize", "strides", "dilations"):
        if name in attrs:
            changed[name] = layout.logical(attrs[name])
    pairs = explicit_pairs(attrs)
    if pairs:
        changed["explicit_paddings"] = tuple(p for pair in layout.logical(pairs) for p in pair)
    return changed


def explicit_pairs(attrs: Mapping[str, Any]) -> list[tuple[int, int]]:
    """The zeros before and after each axis, where a node tells them."""
    explicit = attrs.get("explicit_paddings", ())
    return list(zip(explicit[::2], explicit[1::2]))
