"""The ops that TensorFlow registers, those that flowc has no record of among them, and what their
OpDefs say beyond signatures.

Records say what flowc does; this says what TensorFlow states, its history included: a queue is
stateful, what takes from it is not. Recorded by `tests/oracle/record_op_names.py`, without internal
ops, whose names begin with `_`: first numbered lists of dtypes, then a line an op, `Name flag...
attr>=0... attr=number... deprecated:version:why`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from flowc.dataclass import dataclass
from flowc.dtypes import DType, as_dtype

FLAGS = (
    "is_stateful",
    "is_commutative",
    "is_aggregate",
    "allows_uninitialized_input",
    "is_distributed_communication",
)


@dataclass(frozen=True, slots=True)
class StatedOp:
    """`flags`: those of FLAGS that are set. `of_any_length`: attrs that are lists and may be empty,
    which the OpDef says. `allowed`: the dtypes that type attrs take, in TensorFlow's order.
    `deprecated`: from which version of graphs on, and why; 0 for never."""

    flags: frozenset[str]
    of_any_length: frozenset[str]
    allowed: Mapping[str, tuple[DType, ...]]
    deprecated: tuple[int, str]


@cache
def stated_ops() -> Mapping[str, StatedOp]:
    """By name."""
    lists: dict[str, tuple[DType, ...]] = {}
    found: dict[str, StatedOp] = {}
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        head, _, deprecated = line.partition(" deprecated:")
        name, *words = head.split()
        if name.isdigit():
            lists[name] = tuple(as_dtype(word) for word in words)
            continue
        minimums = {word.removesuffix(">=0") for word in words if word.endswith(">=0")}
        allowed = [word.split("=") for word in words if "=" in word and not word.endswith(">=0")]
        version, _, why = deprecated.partition(":")
        found[name] = StatedOp(
            frozenset(words).intersection(FLAGS),
            frozenset(minimums),
            {attr: lists[number] for attr, number in allowed},
            (int(version or 0), why),
        )
    return found


@cache
def tensorflow_ops() -> frozenset[str]:
    """The names of TensorFlow's ops."""
    return frozenset(stated_ops())
