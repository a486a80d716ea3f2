"""Control inputs that a library ignores: those on operations whose outputs are fed.

In: what a fetch set asks for, and its feeds. Out: the operations whose control edges are dropped.
Invariant: they have no effects, and no value of the program comes from one. TensorFlow's functions
have their outputs wait for all that reads a table or a variable; a Session runs such a node even
where its value is fed, but in a library that is fed with the value nobody needs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from flowc.graph.op_info import has_trait
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.ir.traversal import reachable
from flowc.ops import tf_op

# Stateful, as they read what others change.
_READS = {
    *("HashTable", "HashTableV2", "LookupTableExport", "LookupTableExportV2", "LookupTableFind"),
    *("LookupTableFindV2", "LookupTableSize", "LookupTableSizeV2", "ReadVariableOp"),
    *("ResourceGather", "ResourceGatherNd", "VariableShape"),
}


def changes_nothing(op_type: str) -> bool:
    """Whether nodes of an op type have no effect beside their outputs, as far as flowc knows."""
    record = tf_op(op_type)
    if record is None:
        return False
    return op_type in _READS or "variable" in record.traits or "stateful" not in record.traits


def not_waited_for(ends: Iterable[Operation], fed: Collection[Tensor]) -> frozenset[Operation]:
    """The operations behind what is fed that change nothing and that no end reads otherwise."""
    cut = [t.op for t in fed if not has_trait(t.op.type, "fed")]
    if not cut:
        return frozenset()
    behind = reachable(cut, lambda op: [*(t.op for t in op.inputs), *op.control_inputs])
    found = {op for op in behind if changes_nothing(op.type)}

    def needs(op: Operation) -> list[Operation]:
        read = [t.op for t in op.inputs if t not in fed]
        return [*read, *(c for c in op.control_inputs if c not in found)]

    return frozenset(found.difference(reachable(ends, needs)))
