"""What a fetch set needs of the graph, and which op types of it cannot be compiled.

In: a Graph and a fetch set. Out: the names and types of the nodes that it needs, or one error for
all that flowc has no way to compute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from flowc.errors import UnsupportedError, did_you_mean
from flowc.graph.attrs import FunctionRef
from flowc.graph.control_types import FRAME_TYPES, SWITCH_N
from flowc.graph.function import BodyNode
from flowc.graph.graph import Graph
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.graph.verify import NodeFault, malformed, node_faults, operation_faults
from flowc.ir.lowering import Structural
from flowc.ir.traversal import reachable
from flowc.ops import op_named, tf_names, tf_op

NamedNode = tuple[str, Operation | BodyNode]  # its full name, and the node


def check_supported(
    graph: Graph,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Iterable[Tensor],
    done: Collection[Operation] = (),
) -> None:
    """Raises one `InvalidModelError` for all that is wrong with the nodes that would be needed, or
    one `UnsupportedError` for all op types among them that have no record."""
    found: dict[str, list[str]] = {}
    faults: list[NodeFault] = []
    for name, node in needed_nodes(graph, fetches, targets, feeds, done):
        if not is_supported(node.type) and node.type not in graph.functions:
            found.setdefault(node.type, []).append(name)
        faults += faults_of(name, node)
    if faults:
        raise malformed(faults)
    if found:
        raise unsupported(found)


def is_supported(op_type: str) -> bool:
    """Whether extraction and code generation take an op type."""
    if op_type in FRAME_TYPES or op_type == SWITCH_N:
        return True
    record = tf_op(op_type)
    if record is None or record.is_internal:
        return False
    return record is op_named("const") or not isinstance(record.lowering, Structural)


def faults_of(name: str, node: Operation | BodyNode) -> list[NodeFault]:
    """What is wrong with a node of an op that models may have. Of the inputs of a function's node
    only the number is known."""
    if not is_supported(node.type):
        return []
    if isinstance(node, Operation):
        return operation_faults(node)
    return node_faults(name, node.type, node.attrs, [None] * len(node.inputs))


def needed_nodes(
    graph: Graph,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Iterable[Tensor],
    done: Collection[Operation] = (),
) -> list[NamedNode]:
    """Every node that a fetch set needs, those of called functions too. `done`: operations for
    which nothing waits."""
    found: list[NamedNode] = []
    fed = {(t.op, t.value_index) for t in feeds}
    fetched = [t.op for t in fetches if (t.op, t.value_index) not in fed]
    functions: dict[str, str] = {}

    def before(op: Operation) -> list[Operation]:
        read = [t.op for t in op.inputs if (t.op, t.value_index) not in fed]
        return [*read, *(other for other in op.control_inputs if other not in done)]

    for op in reachable([*fetched, *targets], before):
        found.append((op.name, op))
        _note_functions(graph, op.attrs, op.type, op.name, functions)
    read: set[str] = set()
    while len(read) < len(functions):
        name = next(n for n in functions if n not in read)
        read.add(name)
        function = graph.functions.get(name)
        if function is None:
            continue
        for node in function.body.nodes:
            where = f"{functions[name]}/{node.name}"
            found.append((where, node))
            _note_functions(graph, node.attrs, node.type, where, functions)
    return found


def _note_functions(
    graph: Graph, attrs: Mapping[str, Any], op_type: str, name: str, functions: dict[str, str]
) -> None:
    record = tf_op(op_type)
    if record is None:
        if op_type in graph.functions:
            functions.setdefault(op_type, name)
        return
    for attr, definition in record.signature.attrs.items():
        if definition.kind not in ("func", "list(func)") or attr not in attrs:
            continue
        value = attrs[attr]
        for reference in value if isinstance(value, (list, tuple)) else (value,):
            if isinstance(reference, FunctionRef):
                functions.setdefault(reference.name, name)


def unsupported(found: Mapping[str, Sequence[str]]) -> UnsupportedError:
    """One error for all op types that cannot be compiled, with counts and node names."""
    counts = Counter({t: len(names) for t, names in found.items()})
    lines = []
    for op_type, count in counts.most_common():
        shown = ", ".join(found[op_type][:3]) + (", ..." if count > 3 else "")
        # Most of these ops are TensorFlow's own, which no op that merely sounds alike replaces.
        near = did_you_mean(op_type, tf_names(), 1, 0.9) if tf_op(op_type) is None else None
        lines.append(f"  {op_type} ({count}): {shown}" + (f"  [{near}]" if near else ""))
    total = sum(counts.values())
    return UnsupportedError(
        f"flowc cannot compile {len(counts)} op type{'s' if len(counts) > 1 else ''} "
        f"at {total} node{'s' if total > 1 else ''}:\n" + "\n".join(lines),
        node=next(iter(found.values()))[0],
        hint="fetch tensors that do not need these nodes, or feed the tensors behind them; "
        "`flowc ops` lists what can be compiled",
        problems=[(t, len(n), tuple(n)) for t, n in found.items()],
    )
