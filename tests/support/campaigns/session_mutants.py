"""Programs of Sessions with something wrong in them, each made from a seed: of queues, readers,
datasets, tables, records, texts and summaries, and of the files that they read.

In: a seed. Out: a graph in bytes, what is fetched of it in which order, and files. Made from calls
of ops (`sound_programs`) and, for campaigns, from what the programs of the rows run
(`row_programs`). Invariant: a mutant is a pure function of its seed, of the records and of the
programs; it names no file outside the folder that it is given.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from calls.input_examples import INPUT_EXAMPLES
from calls.session_examples import EXAMPLES
from campaigns.graph_mutants import CHANGES, FED, INTS, TEXTS, changed_bytes, one_of
from row_program import seen_by
from snippets.api_snippets import Snippet
from snippets.dataset_snippets import programs, seen
from snippets.row_snippets_datasets import DATASET_ROWS
from snippets.row_snippets_inputs import INPUT_ROWS
from snippets.row_snippets_records import RECORD_ROWS
from snippets.summary_snippets import SUMMARY_SNIPPETS
from snippets.table_snippets import TABLE_SNIPPETS
from text_programs import TEXT_PROGRAMS

import flowc
from flowc.proto.graph_pb2 import GraphDef
from flowc.run.fetches import Fetches

MOST_BYTES = 1 << 16  # of a graph
MOST_RUNS = 6
SIZES = (*INTS, 1 << 20, 1 << 31, 1 << 40, 5, 7)
Random = np.random.Generator
Feeds = dict[str, np.ndarray]


@dataclass(frozen=True)
class Program:
    """`graph`: of a GraphDef. `runs`: the names that each run fetches, and what it is fed."""

    graph: bytes
    runs: tuple[tuple[list[str], Feeds], ...]


@dataclass(frozen=True)
class Mutant:
    """`files`: what the program reads, by name below the folder."""

    program: Program
    files: dict[str, bytes]


@cache
def sound_programs() -> tuple[Program, ...]:
    """The calls of ops that a Session computes in Python, or that hold its state."""
    found: list[Program] = []
    for make in dict.fromkeys([*EXAMPLES.values(), *INPUT_EXAMPLES.values()]):
        with flowc.Graph().as_default() as graph:
            wanted = [fetch for fetch, _ in make()]
            names = [x.name for x in wanted]
        found.append(Program(_bytes_of(graph), ((names, {}),)))
    return tuple(found)


@cache
def row_programs() -> tuple[Program, ...]:
    """What the programs of texts, records, tables, summaries, inputs and datasets run."""
    snippets: tuple[Snippet, ...] = (
        *TEXT_PROGRAMS,
        *RECORD_ROWS,
        *TABLE_SNIPPETS,
        *SUMMARY_SNIPPETS,
        *INPUT_ROWS,
        *DATASET_ROWS,
    )
    with _recorded() as found, np.errstate(all="ignore"):
        for snippet in snippets:
            with suppress(Exception):  # some want another working directory
                seen_by(flowc, snippet, f"{tempfile.mkdtemp()}/")
        for code in programs().values():
            seen(flowc, code, f"{tempfile.mkdtemp()}/")
    return tuple(p for p in found() if len(p.graph) <= MOST_BYTES)


@contextmanager
def _recorded() -> Iterator[Any]:
    """Notes what all Sessions run. Gives a function that says what was noted."""
    graphs: dict[flowc.Session, list[tuple[list[str], Feeds]]] = {}
    run = flowc.Session.run

    def noting(
        session: flowc.Session, fetches: Any, feed_dict: Any = None, *rest: Any, **options: Any
    ) -> Any:
        with suppress(Exception):
            wanted = Fetches(session.graph, fetches)
            names = [x.name for x in (*wanted.tensors, *wanted.operations)]
            fed = {getattr(k, "name", k): np.asarray(v) for k, v in (feed_dict or {}).items()}
            runs = graphs.setdefault(session, [])
            if len(runs) < MOST_RUNS:
                runs.append((names, fed))
        return run(session, fetches, feed_dict, *rest, **options)

    def noted() -> list[Program]:
        return [Program(_bytes_of(s.graph), tuple(runs)) for s, runs in graphs.items()]

    with mock.patch.object(flowc.Session, "run", noting):
        yield noted


def _bytes_of(graph: flowc.Graph) -> bytes:
    return graph.as_graph_def().SerializeToString(deterministic=True)


def mutant(seed: int, sound: Sequence[Program], folder: str) -> Mutant:
    """The mutant of a seed; the programs take turns. Its paths are those of `folder`."""
    random = np.random.Generator(np.random.PCG64(seed))
    program = sound[seed % len(sound)]
    graph = GraphDef.FromString(program.graph)
    files = moved_files(graph, folder)
    if files and random.random() < 0.5:
        for name in files:
            files[name] = _changed_content(files[name], random)
    else:
        for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
            if graph.node:
                one_of(_CHANGES, random)(graph, random)
    return Mutant(Program(graph.SerializeToString(deterministic=True), program.runs), files)


# -- files


def _string_constants(graph: GraphDef) -> Iterator[Any]:
    """The tensors of strings in a graph and its functions."""
    for node in _nodes(graph):
        tensor = node.attr["value"].tensor if node.op == "Const" else None
        if tensor is not None and tensor.dtype == 7:
            yield tensor


def _nodes(graph: GraphDef) -> list[Any]:
    return [*graph.node, *(n for f in graph.library.function for n in f.node_def)]


def moved_files(graph: GraphDef, folder: str) -> dict[str, bytes]:
    """Has paths of temporary files lie in the folder. The contents of those that are there."""
    root, found = tempfile.gettempdir() + "/", dict[str, bytes]()
    for tensor in _string_constants(graph):
        for i, text in enumerate(tensor.string_val):
            if not text.startswith(root.encode()):
                continue
            name = text[len(root) :].decode().replace("/", "_").lstrip("_")
            tensor.string_val[i] = f"{folder}/{name}".encode()
            path = Path(text.decode())
            if path.is_file():
                found[name] = path.read_bytes()
    return found


def _changed_content(content: bytes, random: Random) -> bytes:
    """A file with some bytes changed, one of extreme numbers, a long one, or one of nothing."""
    match int(random.integers(6)):
        case 0:
            return b""
        case 1:
            return content * int(random.integers(2, 500))
        case 2:
            return content[: int(random.integers(len(content) + 1))]
        case 3:
            return random.bytes(int(random.integers(1, 100)))
        case _:
            return changed_bytes(content, random)


# -- changes of graphs


def _change_string(graph: GraphDef, random: Random) -> None:
    """A constant that is no path: examples, lines, patterns, names, encodings."""
    root = os.sep.encode()
    found = [t for t in _string_constants(graph) if not any(root in s for s in t.string_val)]
    if not found:
        return
    tensor = one_of(found, random)
    for i, text in enumerate(tensor.string_val):
        if random.random() < 0.7:
            new = changed_bytes(text, random) if random.random() < 0.7 else one_of(TEXTS, random)
            tensor.string_val[i] = new.replace(root, b"_")


def _change_number(graph: GraphDef, random: Random) -> None:
    """A constant of integers: a capacity, a size of a batch, a window, a buffer, a seed."""
    found = [
        n.attr["value"].tensor
        for n in _nodes(graph)
        if n.op == "Const" and n.attr["value"].tensor.dtype in (3, 9)
    ]
    if not found:
        return
    tensor = one_of(found, random)
    kind = np.int32 if tensor.dtype == 3 else np.int64
    count = int(np.prod([d.size for d in tensor.tensor_shape.dim], dtype=object))
    if not 0 < count <= 64:
        return
    array = np.zeros(count, kind)
    if len(tensor.tensor_content) == array.nbytes:
        array = np.frombuffer(tensor.tensor_content, kind).copy()
    else:
        held = list(tensor.int_val or tensor.int64_val) or [0]
        array[:] = (held + [held[-1]] * count)[:count]
    array[int(random.integers(count))] = np.array(one_of(SIZES, random)).astype(kind)
    tensor.ClearField("int_val")
    tensor.ClearField("int64_val")
    tensor.tensor_content = array.tobytes()


def _change_attr_number(graph: GraphDef, random: Random) -> None:
    """An attr of integers: capacities, numbers of shards, columns."""
    found = [
        a for n in _nodes(graph) for _, a in sorted(n.attr.items()) if a.WhichOneof("value") == "i"
    ]
    if found:
        one_of(found, random).i = one_of(SIZES, random)


def _change_function(graph: GraphDef, random: Random) -> None:
    """A function that is called in the place of another one, perhaps of the one that calls."""
    names = [f.signature.name for f in graph.library.function]
    found = [a for n in _nodes(graph) for _, a in sorted(n.attr.items()) if a.HasField("func")]
    if found and names:
        one_of(found, random).func.name = one_of(names, random)


def _change_name_of_state(graph: GraphDef, random: Random) -> None:
    """Resources under one name, under none, or under a strange one."""
    found = [n for n in _nodes(graph) if "shared_name" in n.attr]
    if found:
        name = one_of((b"", b"one", b"../x", b"\xff", b"x" * 300), random)
        for node in found:
            node.attr["shared_name"].s = name


def _swap_inputs(graph: GraphDef, random: Random) -> None:
    """An input of one node where another one's was."""
    nodes = [n for n in _nodes(graph) if n.input and n.op not in FED]
    if len(nodes) > 1:
        one, other = one_of(nodes, random), one_of(nodes, random)
        one.input[int(random.integers(len(one.input)))] = one_of(other.input, random)


_CHANGES = (
    *[_change_number] * 10,
    *[_change_string] * 6,
    *[_change_attr_number] * 4,
    *[_change_function] * 2,
    *[_swap_inputs] * 2,
    _change_name_of_state,
    *CHANGES,
)
