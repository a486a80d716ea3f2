"""Replaces host steps by kernels from linked archives, for libraries.

In: a Computation with host steps that a Session calls. Out: for a library, one in which each step
whose lowering names an equivalent linked op is that op. Steps whose output sizes are known only
after they ran stay, since a library cannot allocate their outputs.
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
