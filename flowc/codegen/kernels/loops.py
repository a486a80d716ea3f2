"""A loop cluster as a kernel: which form of loops.

In: a cluster of elementwise ops, views and reductions. Out: a Launch. Three forms:

- pointwise: no reduction (pointwise.py);
- rows: all reductions fold the same axes, among them the last one, and a worker takes whole rows
  (rows.py);
- columns: the last axis is kept, or short runs of elements are folded behind it. A worker takes a
  block of columns and adds rows to it (columns.py).
"""

from __future__ import annotations

from functools import partial

from flowc.codegen.kernels.columns import columns_launch, is_by_columns
from flowc.codegen.kernels.kernel import Launch
from flowc.codegen.kernels.pointwise import pointwise_launch
from flowc.codegen.kernels.reducing import Reducing
from flowc.codegen.kernels.rows import rows_launch
from flowc.codegen.target import Target
from flowc.ir.computation import Computation, Node
from flowc.ir.lowering import Reduction


def loop_launch(node: Node, target: Target) -> Launch:
    """The kernel of a cluster of kind `loop`."""
    body: Computation = node.attrs["body"]
    reductions = [n for n in body.nodes if isinstance(n.lowering, Reduction)]
    if not reductions:
        return pointwise_launch(node, body, target)
    again = partial(Reducing, node, body, reductions, target)
    r = again()
    return columns_launch(r, target) if is_by_columns(r) else rows_launch(r, again, target)
