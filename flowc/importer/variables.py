"""Which tensor of the checkpoint holds each variable of a graph.

In: a Graph with the name of its restore operation, and a checkpoint. Out: `VariableValues`.
Invariant: the graph's own restore operations decide; names are guessed only where they say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from flowc.checkpoint.reader import CheckpointReader
from flowc.checkpoint.slices import parse_part
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.errors import DataLossError, InvalidModelError
from flowc.graph.graph import Graph
from flowc.graph.op_info import has_trait, having_trait
from flowc.graph.operation import Operation
from flowc.importer.restore import Restored, restored_tensors
from flowc.proto.object_graph_pb2 import TrackableObjectGraph

OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"


@dataclass(frozen=True, slots=True)
class _Stored:
    """Where a variable's value lies: a tensor, and the part of it (None: the whole)."""

    key: str
    part: tuple[slice, ...] | None = None


class VariableValues(Mapping[str, np.ndarray]):
    """Name of a variable's operation -> its value, read when asked for. A resource variable is also
    found by its shared name."""

    def __init__(self, reader: CheckpointReader, found: dict[str, tuple[Operation, _Stored]]):
        self._reader = reader
        self._found = found
        self._shared = {_shared_name(op): name for name, (op, _) in found.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        op, stored = self._found[name if name in self._found else self._shared[name]]
        value = self._reader.read(stored.key, stored.part)
        if has_trait(op.type, "saved_bytes"):
            return value
        dtype: DType | None = _attr(op, "dtype", DType)
        wanted: tuple[int | None, ...] | None = _attr(op, "shape", tuple)
        if (dtype is not None and dtype.numpy != value.dtype) or not _fits(value.shape, wanted):
            raise InvalidModelError(
                f"{self._reader.prefix}: tensor {stored.key!r} is "
                f"{self._reader.dtype(stored.key)}{list(value.shape)}, and the variable is "
                f"{dtype}{list(wanted or ())}",
                node=op.name,
                hint="give the checkpoint that was saved from this graph",
            )
        return value

    def __contains__(self, name: object) -> bool:
        return name in self._found or name in self._shared

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...] | None) -> bool:
    # Old variables with an unknown shape are written with the shape of a scalar.
    if wanted is None or wanted == ():
        return True
    return len(shape) == len(wanted) and all(w in (None, s) for s, w in zip(shape, wanted))


def variable_operations(graph: Graph) -> list[Operation]:
    """The operations that hold a graph's variables."""
    return having_trait(graph.get_operations(), "variable")


def object_operations(graph: Graph) -> list[Operation]:
    """The operations that hold objects which code in C saves."""
    return having_trait(graph.get_operations(), "saved_bytes")


def _attr(op: Operation, name: str, kind: type[Any]) -> Any:
    """An attr of a variable, None where it has none. Raises `InvalidModelError` for one of another
    kind."""
    value = op.attrs.get(name)
    if value is None or isinstance(value, kind):
        return value
    raise InvalidModelError(
        f"variable {op.name!r}: its attr {name!r} is {value!r}, which is no {kind.__name__}",
        node=op.name,
    )


def _shared_name(op: Operation) -> str:
    name: bytes = _attr(op, "shared_name", bytes) or b""
    return name.decode("utf-8", "replace") or op.name


def read_variables(graph: Graph, reader: CheckpointReader, restore_op: str = "") -> VariableValues:
    """The values that `reader` has for the variables of `graph`, and the bytes of objects that code
    in C keeps. `restore_op`: the operation that restores them (a SaverDef's `restore_op_name`), if
    the graph has one."""
    restored = restored_tensors(graph, restore_op)
    full_names: dict[str, str] | None = None
    found: dict[str, tuple[Operation, _Stored]] = {}
    unsaid: list[Operation] = []
    for op in variable_operations(graph):
        stored = _first_present(restored.get(op, ()), reader, op)
        if stored is None:
            unsaid.append(op)
        else:
            found[op.name] = (op, stored)
    taken = {stored.key for _, stored in found.values()}  # another variable's, whatever its name
    for op in unsaid:
        names = (op.name, _shared_name(op))
        key = next((n for n in names if n in reader), None)
        if key is None:
            if full_names is None:
                full_names = _object_graph_names(reader)
            key = next((full_names[n] for n in names if n in full_names), None)
        if key is not None and key not in taken:
            found[op.name] = (op, _Stored(key))
    for op in object_operations(graph):
        keys = (f"{name}-bytes" for name in (op.name, _shared_name(op)))
        key = next((k for k in keys if k in reader), None)
        if key is not None:
            found[op.name] = (op, _Stored(key))
    return VariableValues(reader, found)


def _first_present(candidates: Any, reader: CheckpointReader, op: Operation) -> _Stored | None:
    for restored in candidates:
        if restored.key in reader:
            return _Stored(restored.key, _part(restored, reader, op))
    return None


def _part(restored: Restored, reader: CheckpointReader, op: Operation) -> tuple[slice, ...] | None:
    """The part of the whole tensor that a partition of a variable holds."""
    if not restored.part:
        return None
    part, shape = parse_part(restored.part), reader.shape(restored.key)
    if part is None or part.shape != shape:
        raise InvalidModelError(
            f"{reader.prefix}: tensor {restored.key!r} is {list(shape)}, and the graph restores "
            f"the part {restored.part!r} of it",
            node=op.name,
        )
    if part.place is None:
        raise InvalidModelError(
            f"{reader.prefix}: the part {restored.part!r} of tensor {restored.key!r} reaches "
            "beyond it",
            node=op.name,
        )
    return part.place


def _object_graph_names(reader: CheckpointReader) -> dict[str, str]:
    """Variable name -> key, from the object graph of a checkpoint; names that two objects share are
    left out, because they tell nothing."""
    if OBJECT_GRAPH_KEY not in reader:
        return {}
    try:
        objects = TrackableObjectGraph.FromString(reader.read(OBJECT_GRAPH_KEY).item())
    except (DecodeError, TypeError, ValueError):
        raise DataLossError(f"{reader.prefix}: {OBJECT_GRAPH_KEY} is damaged") from None
    found: dict[str, str] = {}
    twice: set[str] = set()
    for node in objects.nodes:
        for attribute in node.attributes:
            if attribute.full_name in found:
                twice.add(attribute.full_name)
            if attribute.name == "VARIABLE_VALUE" and attribute.full_name:
                found[attribute.full_name] = attribute.checkpoint_key
    return {name: key for name, key in found.items() if name not in twice}
