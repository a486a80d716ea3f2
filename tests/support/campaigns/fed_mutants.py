"""Sound programs of Sessions that are fed odd values where they have constants, each made from a
seed: of other shapes, ranks and sizes, extreme numbers, strange texts.

In: a seed, and the programs, which take turns. Out: a `Mutant` whose graph says nothing of the
shapes of what is fed. Invariant: dtypes are as they were, so that what is at fault is the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from campaigns.graph_mutants import TEXTS, changed_bytes, one_of
from campaigns.session_mutants import SIZES, Feeds, Mutant, Program, Random, moved_files
from raw_op_graphs import first_cases, graph_of

from flowc.encoding.tensor_proto import decode_tensor
from flowc.proto.graph_pb2 import GraphDef

_HANDLES = (20, 21)  # DataType of resources and variants
_FLOATS = (np.nan, np.inf, -np.inf, 0.0, -1.0, 1e30, 0.5)
_TEXTS = (*TEXTS, b"-1", b"1e400", b"[", b"%d", b"\0", b"a,b", b"\x08\x96\x01")
_MOST_ELEMENTS = 5000  # of what is doubled


@cache
def op_programs() -> tuple[Program, ...]:
    """The first example of every op that a GraphDef may hold."""
    found: list[Program] = []
    for name, case in sorted(first_cases().items()):
        graph, _ = graph_of(name, case)
        op = graph.get_operation_by_name("it")
        names = [t.name for t in op.outputs] or [op.name]
        content = graph.as_graph_def().SerializeToString(deterministic=True)
        found.append(Program(content, ((names, {}),)))
    return tuple(found)


def fed_mutant(seed: int, sound: Sequence[Program], folder: str) -> Mutant:
    """The mutant of a seed. Its paths are those of `folder`."""
    random = np.random.Generator(np.random.PCG64(seed))
    program = sound[seed % len(sound)]
    graph = GraphDef.FromString(program.graph)
    files = moved_files(graph, folder)
    values = _opened(graph)
    feeds: Feeds = {}
    if values:
        for _ in range(int(random.choice([1, 1, 2]))):
            name = one_of(sorted(values), random)
            feeds[f"{name}:0"] = _changed(values[name], random)
    runs = tuple((names, {**fed, **feeds}) for names, fed in program.runs)
    return Mutant(Program(graph.SerializeToString(deterministic=True), runs), files)


def _opened(graph: GraphDef) -> dict[str, np.ndarray]:
    """Makes constants that are no paths placeholders of any shape. Their values, by name."""
    found: dict[str, np.ndarray] = {}
    for node in list(graph.node):
        if node.op != "Const":
            continue
        held = node.attr["value"].tensor
        if held.dtype in _HANDLES or any(b"/" in text for text in held.string_val):
            continue
        found[node.name] = decode_tensor(held, node.name)
        constant = graph.node.add()
        constant.CopyFrom(node)
        constant.name = f"{node.name}__given"
        node.op = "PlaceholderWithDefault"
        del node.attr["value"]
        node.attr["shape"].shape.unknown_rank = True
        node.input.insert(0, constant.name)
    return found


def _changed(given: np.ndarray, random: Random) -> np.ndarray:
    """An array with one or two changes: an element, the rank, how many there are."""
    array = np.array(given)
    for _ in range(int(random.choice([1, 1, 2]))):
        match int(random.integers(9)):
            case 4:
                array = array[None]
            case 5:
                array = array.reshape(-1)[:1].reshape(()) if array.size else array[None]
            case 6:
                array = array.reshape(-1)[:0] if array.ndim < 1 else array[:0]
            case 7 if array.ndim and array.size < _MOST_ELEMENTS:
                array = np.concatenate([array, array])
            case 8:
                array = array[:-1] if array.ndim else array.reshape(1)
            case _ if array.size:
                array = np.ascontiguousarray(array)
                flat = array.reshape(-1)
                at = int(random.integers(array.size))
                flat[at] = _element(flat[at], array.dtype, random)
            case _:
                array = array[None]
    return array


def _element(old: Any, dtype: np.dtype[Any], random: Random) -> Any:
    match dtype.kind:
        case "O":
            return one_of(_TEXTS, random) if random.random() < 0.7 else changed_bytes(old, random)
        case "i" | "u":
            return np.array(one_of(SIZES, random)).astype(dtype)
        case "b":
            return bool(random.integers(2))
        case "f" | "c":
            with np.errstate(over="ignore"):
                return np.array(one_of(_FLOATS, random)).astype(dtype)
        case _:  # narrow dtypes
            return np.zeros((), dtype)[()]
