"""Switches with many outputs (`_SwitchN`, which a `Case` becomes) as chains of Switches.

In: a source's nodes, `_SwitchN` (data, index) among them. Out: equivalent refs and nodes: the first
Switch separates index 0, the next one index 1, and so on. Invariant: all that switch on one index
share its comparisons, so that their conditionals become one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flowc import dtypes
from flowc.dataclass import dataclass
from flowc.extract.source_node import ARGUMENT, Ref, SourceNode
from flowc.graph.control_types import PASSING

if TYPE_CHECKING:
    from flowc.extract.node_source import NodeSource


@dataclass(frozen=True, slots=True)
class CasePart:
    """The key of a node that stands for a part of a Switch with many outputs. `key`: the Switch
    itself, or what gives its index; `number`: the case that the part is about."""

    role: Literal["switch", "number", "equal"]
    key: Any
    output: int
    number: int


def output_of(source: NodeSource, switch: Any, node: SourceNode, case: int) -> Ref:
    """What carries the data of a `_SwitchN` to one of its cases; the last one takes every index
    that is none of the others."""
    count = int(source.attr(switch, "num_outs"))
    if count == 1:
        return node.inputs[0]
    if case == count - 1:
        return (CasePart("switch", switch, 0, case - 1), 0)
    return (CasePart("switch", switch, 0, case), 1)


def read_part(source: NodeSource, part: CasePart) -> SourceNode:
    """The node of a part."""
    is_argument = part.key == ARGUMENT
    name = f"{part.key if is_argument else source.node(part.key).name}/case_{part.number}"
    if part.role == "number":
        attrs = {"value": np.array(part.number, np.int32), "dtype": dtypes.i32}
        controls = () if is_argument else (part.key,)  # it is in the frame of the index
        return SourceNode(name, "Const", attrs, (), controls)
    if part.role == "equal":
        number_key = CasePart("number", part.key, part.output, part.number)
        inputs = ((part.key, part.output), (number_key, 0))
        return SourceNode(name, "Equal", {"T": dtypes.i32}, inputs, ())
    node = source.node(part.key)
    data, index = node.inputs
    if part.number:
        data = (CasePart("switch", part.key, 0, part.number - 1), 0)
    while index[0] != ARGUMENT and source.node(index[0]).type in PASSING:
        index = source.node(index[0]).inputs[0]
    equal = CasePart("equal", *index, part.number)
    return SourceNode(name, "Switch", node.attrs, (data, (equal, 0)), node.controls)
