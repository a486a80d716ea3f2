"""Small graphs with something wrong in them, each made from a seed.

In: a seed. Out: the bytes of a GraphDef: a graph made from an example of an op's record, or a
recorded one with control flow and functions, changed in its structure (edges, attrs, dtypes, dims,
elements, names) or in its bytes. Invariant: a mutant is a pure function of its seed and of the
records, on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError
from raw_op_graphs import first_cases, graph_of

from flowc.proto.graph_pb2 import AttrValue, GraphDef, NodeDef

RECORDED = Path(__file__).resolve().parents[2] / "data" / "control_flow" / "models"
BYTES = 0.1  # of the mutants are changed in their bytes
FED = ("Const", "Placeholder", "PlaceholderWithDefault")
INTS = (0, 1, -1, 2, 3, 64, 255, 300, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1e-38, -1e38, 3.4e38, float("inf"), float("-inf"), float("nan"))
ENUMS = (0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 14, 18, 19, 20, 21, 22, 23, 29, 101, 103, 120, 999)
TEXTS = (b"", b"NHWC", b"NCHW", b"VALID", b"SAME", b"ij,jk->ik", b"loc:@y", b"\xff\xfe", b"x" * 300)
KINDS = ("i", "f", "b", "s", "type", "shape", "tensor", "list", "func", "placeholder")


@cache
def sound_graphs() -> tuple[bytes, ...]:
    """What mutants are made from."""
    found = [
        graph_of(name, case)[0].as_graph_def().SerializeToString(deterministic=True)
        for name, case in sorted(first_cases().items())
    ]
    return (*found, *(path.read_bytes() for path in sorted(RECORDED.glob("*.pb"))))


def mutant(seed: int) -> bytes:
    """The mutant of a seed. Examples of all records take turns."""
    random = np.random.Generator(np.random.PCG64(seed))
    sound = sound_graphs()
    content = sound[seed % len(sound)]
    if random.random() < BYTES:
        return changed_bytes(content, random)
    graph = GraphDef.FromString(content)
    if random.random() < 0.8:
        _feed_some(graph, random)
    for _ in range(int(random.choice([1, 1, 1, 2, 3]))):
        if graph.node:
            one_of(CHANGES, random)(graph, random)
    return graph.SerializeToString(deterministic=True)


def one_of(found: Any, random: np.random.Generator) -> Any:
    return found[int(random.integers(len(found)))]


def changed_bytes(content: bytes, random: np.random.Generator) -> bytes:
    """Some bytes flipped, cut out, or put in twice."""
    found = bytearray(content)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(len(found) or 1))
        length = int(random.integers(1, 9))
        match int(random.integers(3)):
            case 0 if found:
                found[at] ^= 1 << int(random.integers(8))
            case 1:
                del found[at : at + length]
            case _:
                found[at:at] = found[at // 2 : at // 2 + length]
    return bytes(found)


def _feed_some(graph: GraphDef, random: np.random.Generator) -> None:
    """Takes some constants as inputs of the run: no mistake, but another way through the code."""
    for node in graph.node:
        if node.op == "Const" and random.random() < 0.5:
            shape = node.attr["value"].tensor.tensor_shape
            node.op = "Placeholder"
            node.attr["shape"].shape.CopyFrom(shape)
            if random.random() < 0.2:
                node.attr["shape"].shape.unknown_rank = True
                del node.attr["shape"].shape.dim[:]
            del node.attr["value"]


# -- changes of structure


def _node(graph: GraphDef, random: np.random.Generator) -> NodeDef:
    """A node of the graph or of a function, those that compute rather than those that are fed."""
    nodes = [*graph.node]
    for function in graph.library.function:
        nodes += function.node_def
    telling = [node for node in nodes if node.op not in FED]
    return one_of(telling if telling and random.random() < 0.7 else nodes, random)


def _change_inputs(graph: GraphDef, random: np.random.Generator) -> None:
    node = _node(graph, random)
    names = [other.name for other in graph.node]
    name = one_of(names, random)
    new = one_of((name, f"{name}:1", f"{name}:-1", f"{name}:99999999", f"^{name}", ""), random)
    at = int(random.integers(len(node.input) + 1))
    match int(random.integers(4)):
        case 0 if node.input:
            del node.input[at % len(node.input)]
        case 1 if node.input:
            node.input[at % len(node.input)] = new
        case 2 if len(node.input) > 1:
            first = node.input[0]
            node.input[0] = node.input[-1]
            node.input[-1] = first
        case _:
            node.input.insert(at, new)


def _drop_attr(graph: GraphDef, random: np.random.Generator) -> None:
    node = _node(graph, random)
    if node.attr:
        del node.attr[one_of(sorted(node.attr), random)]


def _change_attr(graph: GraphDef, random: np.random.Generator) -> None:
    node = _node(graph, random)
    if not node.attr:
        node.attr["T"].type = one_of(ENUMS, random)
        return
    value = node.attr[one_of(sorted(node.attr), random)]
    if random.random() < 0.15:
        _set_kind(value, one_of(KINDS, random), random)
    else:
        _change_value(value, random)


def _set_kind(value: AttrValue, kind: str, random: np.random.Generator) -> None:
    """Makes an attr one of another kind."""
    value.Clear()
    match kind:
        case "i":
            value.i = one_of(INTS, random)
        case "f":
            value.f = one_of(FLOATS, random)
        case "b":
            value.b = bool(random.integers(2))
        case "s":
            value.s = one_of(TEXTS, random)
        case "type":
            value.type = one_of(ENUMS, random)
        case "shape":
            value.shape.dim.add().size = one_of(INTS, random)
        case "tensor":
            value.tensor.dtype = one_of(ENUMS, random)
            value.tensor.int_val.append(1)
        case "list":
            value.list.i.append(one_of(INTS, random))
        case "func":
            value.func.name = "f"
        case _:
            value.placeholder = "T"


def _change_value(value: AttrValue, random: np.random.Generator) -> None:
    kind = value.WhichOneof("value")
    if kind in ("i", "f", "b", "s", "type"):
        _set_kind(value, kind, random)
    elif kind == "shape":
        _change_dims(value.shape, random)
    elif kind == "tensor":
        _change_tensor(value.tensor, random)
    elif kind == "list":
        _change_list(value.list, random)
    elif kind == "func":
        value.func.name = one_of(("", "nothing", value.func.name + "_2"), random)


def _change_list(found: Any, random: np.random.Generator) -> None:
    for field, values in (("i", INTS), ("f", FLOATS), ("s", TEXTS), ("type", ENUMS)):
        held = getattr(found, field)
        if len(held):
            new = one_of(values, random)
            match int(random.integers(3)):
                case 0:
                    del held[-1]
                case 1:
                    held.append(new)
                case _:
                    held[int(random.integers(len(held)))] = new
            return
    found.i.append(one_of(INTS, random))


def _change_dims(shape: Any, random: np.random.Generator) -> None:
    match int(random.integers(4)):
        case 0:
            shape.unknown_rank = True
        case 1 if shape.dim:
            one_of(shape.dim, random).size = one_of((*INTS, -5), random)
        case 2 if shape.dim:
            del shape.dim[-1]
        case _:
            for _ in range(int(one_of((1, 2, 64, 260), random))):
                shape.dim.add().size = 1


def _change_tensor(tensor: Any, random: np.random.Generator) -> None:
    """Another dtype, other dims, or elements at the ends of their range."""
    match int(random.integers(6)):
        case 0:
            tensor.dtype = one_of(ENUMS, random)
        case 1:
            _change_dims(tensor.tensor_shape, random)
        case _:
            _change_elements(tensor, random)


def _change_elements(tensor: Any, random: np.random.Generator) -> None:
    kind = {1: np.float32, 2: np.float64, 3: np.int32, 9: np.int64}.get(tensor.dtype)
    sizes = [d.size for d in tensor.tensor_shape.dim]
    if kind is None or not 0 < np.prod(sizes, dtype=object) <= 64:
        return
    count = int(np.prod(sizes))
    found = np.zeros(count, kind)
    if len(tensor.tensor_content) == found.nbytes:
        found = np.frombuffer(tensor.tensor_content, kind).copy()
    extremes = FLOATS if found.dtype.kind == "f" else INTS
    for at in range(count):
        if random.random() < (0.2 if count > 4 else 0.6):
            with np.errstate(all="ignore"):
                found[at] = np.array(one_of(extremes, random)).astype(kind)
    for field in ("float_val", "double_val", "int_val", "int64_val"):
        tensor.ClearField(field)
    tensor.tensor_content = found.tobytes()


def _change_type(graph: GraphDef, random: np.random.Generator) -> None:
    """One dtype for another, wherever it stands in a node; or in the whole graph."""
    nodes = graph.node if random.random() < 0.6 else [_node(graph, random)]
    found = sorted(
        {a.type for n in nodes for a in n.attr.values() if a.WhichOneof("value") == "type"}
    )
    if not found:
        return
    old, new = one_of(found, random), one_of(ENUMS, random)
    for node in nodes:
        for name in sorted(node.attr):
            if node.attr[name].WhichOneof("value") == "type" and node.attr[name].type == old:
                node.attr[name].type = new


def _change_op(graph: GraphDef, random: np.random.Generator) -> None:
    others = (*sorted(first_cases()), "Merge", "Switch", "Enter", "Exit", "NextIteration", "_Sizes")
    _node(graph, random).op = one_of(others, random)


def _change_name(graph: GraphDef, random: np.random.Generator) -> None:
    node = _node(graph, random)
    node.name = one_of(("", graph.node[0].name, "it", "a:b", "/", "x" * 300, "\u00e4"), random)


def _drop_or_repeat(graph: GraphDef, random: np.random.Generator) -> None:
    at = int(random.integers(len(graph.node)))
    if random.random() < 0.5:
        del graph.node[at]
    else:
        graph.node.add().CopyFrom(graph.node[at])


def _change_constant(graph: GraphDef, random: np.random.Generator) -> None:
    """The elements of a constant: sizes, axes, indices are such."""
    found = [node for node in graph.node if node.op == "Const" and "value" in node.attr]
    if found:
        _change_tensor(one_of(found, random).attr["value"].tensor, random)


def _change_dims_fed(graph: GraphDef, random: np.random.Generator) -> None:
    found = [node for node in graph.node if "shape" in node.attr]
    if found:
        _change_dims(one_of(found, random).attr["shape"].shape, random)


CHANGES: tuple[Callable[[GraphDef, np.random.Generator], None], ...] = (
    _change_inputs,
    _drop_attr,
    *[_change_attr] * 3,
    _change_type,
    _change_op,
    _change_name,
    _drop_or_repeat,
    *[_change_constant] * 5,
    *[_change_dims_fed] * 2,
)


def parses(content: bytes) -> bool:
    """Whether a mutant is a GraphDef at all."""
    try:
        GraphDef.FromString(content)
    except DecodeError:
        return False
    return True
