"""Objects of C code: made by host steps in a Session, held by the instances of a library.

In: a program whose host steps give the handles of such objects. Out: the program with an input, the
object's address, in the place of each step. Invariant: handles of one id are one input. Steps in
loops and branches stay: their objects are made while they run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from flowc import dtypes
from flowc.ir.computation import Computation, Node, Value, parameter_node
from flowc.ir.lowering import Host, plain_attr
from flowc.ir.program_spec import ObjectSpec, ProgramSpec, TensorSpec
from flowc.ir.rewrite import Rewriter, rewrite_nodes
from flowc.ir.types import TensorType

ADDRESS = TensorType(dtypes.i64, ())


def objects_of_instances(
    c: Computation, spec: ProgramSpec, first: Mapping[str, np.ndarray]
) -> tuple[Computation, ProgramSpec]:
    """A program for a library. `first`: what objects are restored from, by their names."""
    objects = {o.name: o for o in map(_object_of, c.nodes) if o is not None}
    if not objects:
        return c, spec
    inputs = {name: parameter_node(f"object {name}", ADDRESS) for name in objects}

    def rule(b: Rewriter, node: Node) -> Value | None:
        found = _object_of(node)
        return None if found is None else inputs[found.name].output

    places = len(c.parameters)
    every = (*c.parameters, *inputs.values())
    nodes = (*c.nodes[:places], *inputs.values(), *c.nodes[places:])
    made = rewrite_nodes(Computation(every, nodes, c.results, c.constraints), rule)
    return made, replace(
        spec,
        inputs=(*spec.inputs, *(TensorSpec.of(name, ADDRESS) for name in objects)),
        objects=tuple(replace(o, first=first.get(o.name)) for o in objects.values()),
    )


def _object_of(node: Node) -> ObjectSpec | None:
    """The object whose handle a node gives, if instances can hold it."""
    lowering = node.op.lowering  # of other nodes it is decided when they are simplified
    if not isinstance(lowering, Host) or lowering.object is None:
        return None
    attrs = {name: plain_attr(node.attrs[name]) for name in lowering.settings if name != "id"}
    name = node.attrs["id"].removeprefix("/")
    return ObjectSpec(name, lowering.shown, lowering.object, attrs)
