"""What loop variables are called: as their author called them, where the graph says it.

In: for each variable the names of nodes that may tell, the best first. Out: a name for each, apart
from the others. TensorFlow makes up names for what its callers leave unnamed (after the op, or
after the function that made it); these tell nothing, but the scope that such a node stands in may.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import field
from typing import Any

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.extract.body_builder import BodyBuilder
from flowc.extract.node_source import ARGUMENT, NodeSource, Ref
from flowc.graph.control_types import MERGE
from flowc.ir.extraction import (
    Bound,
    ByRank,
    Columns,
    DenseItems,
    ListValue,
    Ragged,
    Resource,
    values_of,
)

_NUMBERS = re.compile(r"(_\d+)+$")
_VERSION = re.compile(r"v\d$")
COUNTERS = "ijklmn"
# What TensorFlow's Python functions call nodes and scopes that nobody named.
_WORDS = """
    add and argument bidirectionalrnn bw case cond const convert div enter exit fill floordiv foldl
    foldr fw getitem gru identity initialvalue initializer like list listplaceholder lstm map merge
    mod mul neg none not ones oneslike or output packed partitionedcall placeholder pow read
    readvariableop rnn rsub scan setitem shape slice stack stridedslice sub switch tensor
    tensorarray tensorarrayunstack tensorlist truediv unknown unstack value values var variable
    while whileloop xor zeros zeroslike"""
MADE_UP = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class NameHint:
    """A node that may tell a variable's name. `in_scope`: or else the scope that it stands in."""

    name: str
    type: str = ""
    in_scope: bool = True


@dataclass(slots=True)
class LoopVariable:
    """What a graph says of a loop variable. `counts`: the body makes it of itself and constants;
    `kind`: what to call it where nothing tells its name."""

    hints: list[NameHint] = field(default_factory=list[NameHint])
    counts: bool = False
    kind: str = "var"


def given_name(hint: NameHint, around: str = "") -> str | None:
    """What an author called a node. `around`: the loop's own scope, whose parts are no names of
    variables."""
    scope = around.split("/") if around else []
    parts = hint.name.split("/")
    while scope and len(parts) > 1 and parts[0] == scope[0]:
        parts, scope = parts[1:], scope[1:]
    types = (hint.type, "") if hint.in_scope or hint.type in MERGE else (hint.type,)
    for part, op_type in zip(reversed(parts), types):
        if not _is_made_up(part, op_type):
            return part
    return None


def _is_made_up(name: str, op_type: str) -> bool:
    plain = _VERSION.sub("", _NUMBERS.sub("", name).replace("_", "").lower())
    return not plain or plain in MADE_UP or plain == _VERSION.sub("", op_type.lower())


def variable_names(variables: Sequence[LoopVariable], around: str, scope: BodyBuilder) -> list[str]:
    """A name for each loop variable. `around`: the scope of the loop's own nodes; `scope`: where it
    is built; the counters of the loops around it have other letters."""
    taken: set[str] = set()
    outside = _parameters_around(scope)
    names: list[str] = []
    for i, variable in enumerate(variables):
        given = [n for h in variable.hints if (n := given_name(h, around)) is not None]
        letters = [c for c in COUNTERS if c not in outside] if variable.counts else []
        name = next((n for n in (*given, *letters) if n not in taken), None)
        names.append(name or (given[0] if given else f"{variable.kind}_{i}"))
        taken.add(names[-1])
    return names


def _parameters_around(scope: BodyBuilder) -> set[str]:
    found: set[str] = set()
    level: BodyBuilder | None = scope
    while level is not None and level.outer is not None:
        found.update(p.attrs["name"] for p in level.b.parameters)
        level = level.outer
    return found


def argument_hint(argument: str, node: str) -> NameHint:
    """An argument of a loop's function without the scope of its loop, which TensorFlow puts before
    it once or twice."""
    parts = node.split("/")
    prefixes = ["_".join(parts[i:]) + "_" for i in range(len(parts))]
    while True:
        prefix = next((p for p in prefixes if argument.startswith(p)), None)
        if prefix is None:
            return NameHint(argument)
        argument = argument[len(prefix) :]


def counts(source: NodeSource, key: Any, read: Sequence[Ref], variable: Ref) -> bool:
    """Whether a node makes an integer of a loop variable and constants. `read`: what is behind its
    inputs."""
    others = [ref[0] for ref in read if ref != variable]
    dtype = source.attr(key, "T")
    if not isinstance(dtype, DType) or not dtype.is_integer or len(others) == len(read):
        return False
    return all(k != ARGUMENT and not source.node(k).inputs for k in others)


def start_hint(bound: Bound) -> NameHint | None:
    """The node that a variable's first value came from."""
    if isinstance(bound, Resource):
        return NameHint(bound.name)
    values = values_of(bound)
    if not values:
        return None
    node = values[0].node
    if node.op.name == "parameter":
        return NameHint(node.attrs["name"].removesuffix(":0"))
    if node.op.name == "while":
        return NameHint(node.attrs["body"].parameters[values[0].index].attrs["name"])
    return NameHint(node.origin[0], node.op.tf_name) if node.origin else None


def part_names(bound: Bound) -> list[str]:
    """What is put behind a variable's name for each of the Values that it is made of."""
    if not isinstance(bound, ListValue) or isinstance(bound.held, Columns | ByRank):
        return [f".{i}" if i else "" for i in range(len(values_of(bound)))]
    held = {DenseItems: [""], Ragged: ["", ".table"]}.get(type(bound.held), [])
    return [*held, *([] if bound.marks is None else [".marks"])]
