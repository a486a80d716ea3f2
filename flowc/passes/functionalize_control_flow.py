"""Loops and conditionals as their author wrote them.

In: a Computation as extracted, whose `while` and `if` nodes stand for TensorFlow's frames, switches
and function calls. Out: the same without what these needed to pass values on: identities, and
values, inputs and results of bodies that nobody reads or that no iteration changes; nor with checks
of the elements of TensorArrays that cannot fail.
"""

from __future__ import annotations

from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.rewrite import rewrite_nodes
from flowc.options import Options
from flowc.passes.drop_marks import drop_marks
from flowc.passes.prune import prune


def functionalize_control_flow(c: Computation, options: Options) -> Computation:
    plain = prune(rewrite_nodes(c, _pass_on), options)
    unmarked = drop_marks(plain)
    return plain if unmarked is plain else prune(unmarked, options)


def _pass_on(b: Builder, node: Node) -> Value | None:
    if "identity" not in node.op.traits or node.after or node.inputs[0].type != node.output.type:
        return None
    return node.inputs[0]
