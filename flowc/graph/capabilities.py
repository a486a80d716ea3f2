"""Which nodes need a permission, and whether they have it.

In: nodes that a fetch set needs, or all of a model. Out: the capability of each; an error for what
an imported graph may not do. Invariant: a node that a file brought touches files, other machines or
Python only where its graph allows that; what the program at work adds is that program's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from flowc.errors import PermissionDeniedError
from flowc.graph.function import BodyNode
from flowc.graph.graph import Graph
from flowc.graph.op_info import record_of
from flowc.graph.operation import Operation
from flowc.ir.capability import FILES, NETWORK, Capability

Node = Operation | BodyNode
NamedNode = tuple[str, Node]  # its full name, and the node
IsGiven = Callable[[Node, int], bool]

SHOWN = 20  # nodes that a message has

# TensorFlow's ops that no record says this of. Where an op gets a record, it says so itself; until
# it does, what stands here holds.
_FILE_OPS = """
CalibrationStatisticsSaver CreateSummaryDbWriter CreateSummaryFileWriter DTensorRestoreV2
DebugIdentity DebugIdentityV2 DebugIdentityV3 DebugNanCount DebugNumericSummary
DebugNumericSummaryV2 DistributedSave DumpTensor ExperimentalLMDBDataset FileSystemSetConfiguration
ImmutableConst LMDBDataset LMDBReader ListSnapshotChunksDataset LoadDataset NegTrain
SaveDataset SaveDatasetV2 Skipgram SnapshotChunkDataset SnapshotDataset SnapshotDatasetReader
SnapshotDatasetV2 SnapshotNestedDatasetReader WriteAudioSummary WriteGraphSummary
WriteHistogramSummary WriteImageSummary WriteRawProtoSummary WriteScalarSummary WriteSummary
"""
_NETWORK_OPS = """
CollectiveAllToAllV2 CollectiveAllToAllV3 CollectiveBcastRecv CollectiveBcastRecvV2
CollectiveBcastSend CollectiveBcastSendV2 CollectiveGather CollectiveGatherV2
CollectiveInitializeCommunicator CollectiveReduce CollectiveReduceScatterV2 CollectiveReduceV2
CollectiveReduceV3 ConfigureDistributedTPU DataServiceDataset DataServiceDatasetV2
DataServiceDatasetV3 DataServiceDatasetV4 Recv RegisterDataset RegisterDatasetV2 RpcCall
RpcClient RpcServer RpcServerStart Send _HostRecv _HostSend _Recv _Send
"""
_WITHOUT_RECORD: dict[str, Capability] = {
    **dict.fromkeys(_FILE_OPS.split(), FILES),
    **dict.fromkeys(_NETWORK_OPS.split(), NETWORK),
    # The first input is the checkpoint; a Saver's caller feeds it.
    **dict.fromkeys(
        ("Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2"),
        Capability(FILES.name, FILES.does, paths=(0,)),
    ),
    "MergeV2Checkpoints": Capability(FILES.name, FILES.does, paths=(0, 1)),
}


def capability_of(op_type: str) -> Capability | None:
    """What nodes of an op type need; None where they only compute, or nothing is known of them."""
    record = record_of(op_type)
    stated = None if record is None else record.capability
    return stated if stated is not None else _WITHOUT_RECORD.get(op_type)


def check_allowed(graph: Graph, nodes: Iterable[NamedNode], is_given: IsGiven) -> None:
    """Raises one `PermissionDeniedError` for all imported nodes that need what the graph does not
    allow. `is_given`: as `is_path_given` takes it."""
    refused: dict[str, list[tuple[str, str, Capability]]] = {}
    for name, node in nodes:
        capability = capability_of(node.type)
        if capability is None or capability.is_free or capability.name in graph.allowed:
            continue
        is_allowed = not node.is_imported or (
            isinstance(node, Operation) and node in graph.allowed_operations
        )
        if not is_allowed and not is_path_given(node, capability, is_given):
            refused.setdefault(capability.name, []).append((name, node.type, capability))
    if refused:
        raise _denied(refused)


def is_path_given(node: Node, capability: Capability, is_given: IsGiven) -> bool:
    """Whether all files that a node touches are named by tensors that the caller gives, and by
    these alone: a path that the graph puts together may lead anywhere. `is_given`: whether an input
    of a node is such a tensor."""
    return bool(capability.paths) and all(is_given(node, i) for i in capability.paths)


def _denied(refused: Mapping[str, list[tuple[str, str, Capability]]]) -> PermissionDeniedError:
    rows = [row for rows in refused.values() for row in rows]
    lines = [
        f"  node '{name}' ({op_type}) {capability.does}, which needs {capability.name!r}"
        for name, op_type, capability in rows[:SHOWN]
    ]
    if len(rows) > SHOWN:
        lines.append(f"  ... and {len(rows) - SHOWN} more")
    names = sorted(refused)
    shown = ", ".join(f'"{name}"' for name in names)
    options = " ".join(f"--allow {name}" for name in names)
    return PermissionDeniedError(
        "the imported graph is not allowed all that it would do:\n" + "\n".join(lines),
        node=rows[0][0],
        hint=f"if you trust the model, flowc.load_graph(..., allow=[{shown}]), graph.allow({shown})"
        f" or {options}; `flowc scan` lists all such nodes",
    )
