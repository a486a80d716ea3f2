"""Kernels of archives in the place of host steps, for libraries.

In: a Computation with host steps that a Session calls. Out: the same where a library is made of it,
but for steps whose lowering names an op that does the same as linked code. What keeps its sizes to
itself until it runs stays: no library can allocate for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowc.ir.builder import Builder
from flowc.ir.computation import Computation, Node, Value
from flowc.ir.lowering import Host
from flowc.ir.op import op_named
from flowc.ir.rewrite import rewrite_nodes
from flowc.options import Options


def link_kernels(c: Computation, options: Options) -> Computation:
    return rewrite_nodes(c, _linked) if options.for_library else c


def _linked(b: Builder, node: Node) -> Sequence[Value] | None:
    lowering = node.lowering
    if not isinstance(lowering, Host) or not lowering.linked or node.sizes:
        return None
    return b.emit(op_named(lowering.linked), node.inputs, node.attrs, after=node.after).outputs
