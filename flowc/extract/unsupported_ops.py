"""What a fetch set needs of the graph, and which op types of it cannot be compiled.

In: a Graph and a fetch set. Out: the names and types of the nodes that it needs, or one error for
all that flowc has no way to compute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from flowc.errors import ResourceExhaustedError, UnsupportedError, did_you_mean
from flowc.extract.called_functions import body_of, called_functions
from flowc.extract.given_paths import GivenPaths
from flowc.graph.capabilities import NamedNode, check_allowed
from flowc.graph.control_types import FRAME_TYPES, SWITCH_N
from flowc.graph.function import BodyNode
from flowc.graph.graph import Graph
from flowc.graph.op_info import MAX_NODES
from flowc.graph.operation import Operation
from flowc.graph.tensor import Tensor
from flowc.graph.verify import NodeFault, malformed, node_faults, operation_faults
from flowc.ir.lowering import Structural
from flowc.ir.traversal import inputs_first, reachable
from flowc.ops import op_named, tf_names, tf_op

MAX_CALLED = 200_000  # nodes of functions, as often as they are called; or so many times as many
MOST_TIMES = 4  # as the file has


def check_supported(
    graph: Graph,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    feeds: Iterable[Tensor],
    done: Collection[Operation] = (),
) -> None:
    """Raises one `InvalidModelError` for all that is wrong with the nodes that would be needed, one
    `UnsupportedError` for all op types among them that have no record, or one
    `PermissionDeniedError` for all that the graph does not allow; `ResourceExhaustedError` for
    calls of calls without bound."""
    found: dict[str, list[str]] = {}
    faults: list[NodeFault] = []
    needed = needed_nodes(graph, fetches, targets, feeds, done)
    for name, node in needed:
        if not is_supported(node.type) and node.type not in graph.functions:
            found.setdefault(node.type, []).append(name)
        faults += faults_of(name, node)
    if faults:
        raise malformed(faults)
    if found:
        raise unsupported(found)
    _check_expanded(graph, needed)
    fed = {(t.op, t.value_index) for t in feeds}
    paths = GivenPaths(graph, needed, lambda t: (t.op, t.value_index) in fed)
    check_allowed(graph, needed, paths.is_given)


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


def all_nodes(graph: Graph) -> Iterator[NamedNode]:
    """Every node of a graph, those of its functions too, whatever needs them."""
    for op in graph.get_operations():
        yield op.name, op
    for name, function in graph.functions.items():
        for node in function.body.nodes:
            yield f"{name}/{node.name}", node


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
    waiting: list[tuple[str, str]] = []  # functions to look into, and where they are called
    seen: set[str] = set()

    def before(op: Operation) -> list[Operation]:
        read = [t.op for t in op.inputs if (t.op, t.value_index) not in fed]
        return [*read, *(other for other in op.control_inputs if other not in done)]

    def note(name: str, node: Operation | BodyNode) -> None:
        found.append((name, node))
        for function in called_functions(graph, node):
            if function not in seen:
                seen.add(function)
                waiting.append((function, name))

    for op in reachable([*fetched, *targets], before):
        note(op.name, op)
    for function, where in waiting:  # which grows meanwhile
        for node in body_of(graph, function):
            note(f"{where}/{node.name}", node)
    return found


def _check_expanded(graph: Graph, needed: Sequence[NamedNode]) -> None:
    """Calls are extracted in place, so that functions that call others twice, which call others
    twice, are more nodes than any memory holds. A small file cannot ask for many."""
    if not graph.functions:
        return
    sizes: dict[str, int] = {}

    def called(function: str) -> Iterator[str]:
        for node in body_of(graph, function):
            yield from called_functions(graph, node)

    def expanded(node: Operation | BodyNode) -> int:
        return 1 + sum(sizes.get(f, 0) for f in called_functions(graph, node))

    top = [(name, node) for name, node in needed if isinstance(node, Operation)]
    starts = dict.fromkeys(f for _, node in top for f in called_functions(graph, node))
    for function in inputs_first(starts, called):
        sizes[function] = min(sum(map(expanded, body_of(graph, function))), MAX_NODES + 1)
    counts = {name: expanded(node) for name, node in top}
    written = len(top) + sum(len(body_of(graph, function)) for function in sizes)
    most = min(max(MAX_CALLED, MOST_TIMES * written), MAX_NODES)
    if sum(counts.values()) > most:
        raise ResourceExhaustedError(
            f"the functions that are called have more than {most:,} nodes, each counted as "
            "often as it is called",
            node=max(counts, key=counts.__getitem__),
        )


def unknown_op(op_type: str) -> str:
    """What is said of an op that neither flowc nor TensorFlow has."""
    from flowc.encoding.tensorflow_ops import tensorflow_ops

    if tf_op(op_type) is not None or op_type in tensorflow_ops():
        return ""
    near = did_you_mean(op_type, tf_names(), 1, 0.9)
    return "no op of TensorFlow: " + (near or "--op-library FILE loads custom ops")


def unsupported(found: Mapping[str, Sequence[str]]) -> UnsupportedError:
    """One error for all op types that cannot be compiled, with counts and node names."""
    counts = Counter({t: len(names) for t, names in found.items()})
    lines = []
    for op_type, count in counts.most_common():
        shown = ", ".join(found[op_type][:3]) + (", ..." if count > 3 else "")
        note = unknown_op(op_type)
        lines.append(f"  {op_type} ({count}): {shown}" + (f"  [{note}]" if note else ""))
    total = sum(counts.values())
    return UnsupportedError(
        f"flowc cannot compile {len(counts)} op type{'s' if len(counts) > 1 else ''} "
        f"at {total} node{'s' if total > 1 else ''}:\n" + "\n".join(lines),
        node=next(iter(found.values()))[0],
        hint="fetch tensors that do not need these nodes, or feed the tensors behind them; "
        "`flowc ops` lists what can be compiled",
        problems=[(t, len(n), tuple(n)) for t, n in found.items()],
    )
