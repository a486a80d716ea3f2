"""The records of datasets: nodes that say how elements are made.

In: signatures, and what makes a `HostDataset` of a node's inputs and attrs. Out: op records. It is
a host value in a tensor of dtype variant: who computes the node makes it, in Python alone where
a run has nothing else to do (`run/python_segments.py`), else in a host step of a program.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.dtypes import DType
from flowc.ir.capability import Capability
from flowc.ir.computation import Value
from flowc.ir.extraction import Bound, Extractor, Resource
from flowc.ir.host_run import scalar_of, text_of, vector_of
from flowc.ir.inference import Inference
from flowc.ir.lowering import Extracted, Host
from flowc.ir.op import Attrs, Op, define, tf_op
from flowc.ir.signature import OpSignature, parse_signature
from flowc.ir.types import Dims
from flowc.ops.datasets.dataset import (
    Array,
    Captured,
    HostDataset,
    ResourceHandle,
    dataset_of,
    variant,
)
from flowc.ops.host_ops import host_op
from flowc.ops.state.variables import value_of

STATED = "output_types: list(type) >= 1, output_shapes: list(shape) >= 1"
METADATA = 'metadata: string = ""'


class Given:
    """The inputs of a dataset's node by the names of its signature, and its attrs as plain values:
    dtypes and functions by their names."""

    def __init__(
        self, signature: OpSignature, inputs: Sequence[Any], attrs: Mapping[str, Any]
    ) -> None:
        self.attrs = attrs
        self._inputs: dict[str, Any] = {}
        at = 0
        for arg in signature.inputs:
            counted = arg.number_attr or (arg.type_attr if arg.is_list else None)
            if counted is None:
                self._inputs[arg.name] = inputs[at]
                at += 1
                continue
            number = attrs[counted]
            count = number if isinstance(number, int) else len(number)
            self._inputs[arg.name] = list(inputs[at : at + count])
            at += count

    def __getitem__(self, name: str) -> Any:
        return self._inputs[name]

    def __contains__(self, name: str) -> bool:
        return name in self._inputs

    @property
    def dataset(self) -> HostDataset:
        return dataset_of(self._inputs["input_dataset"])

    def number(self, name: str) -> int:
        """A scalar of whole numbers."""
        return int(scalar_of(self._inputs[name], name))

    def flag(self, name: str) -> bool:
        """A scalar of dtype bool; False where the signature has none of this name."""
        return name in self._inputs and bool(scalar_of(self._inputs[name], name))

    def text(self, name: str) -> str:
        return text_of(self._inputs[name], name)

    def numbers(self, name: str) -> list[int]:
        """A vector of whole numbers."""
        return vector_of(self._inputs[name], name)

    def function(self, attr: str, captured: str = "other_arguments") -> Captured:
        return Captured(self.attrs[attr], self._inputs[captured])

    @property
    def types(self) -> list[DType]:
        return [dtypes.as_dtype(name) for name in self.attrs["output_types"]]


Make = Callable[[Given], HostDataset]


def _plain(value: Any) -> Any:
    """An attr as JSON has it."""
    if isinstance(value, DType):
        return value.name
    if isinstance(value, bytes):
        return value.decode("latin-1")
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return getattr(value, "name", value)


def _made(
    inputs: Sequence[Any],
    types: Sequence[DType],
    *,
    make: Make,
    signature: OpSignature,
    **attrs: Any,
) -> list[Array]:
    plain = {name: _plain(value) for name, value in attrs.items()}
    return [variant(make(Given(signature, inputs, plain)))]


def _made_in_program(
    inputs: Sequence[Any], types: Sequence[DType], *, op_type: str, says: str
) -> Sequence[Array]:
    attrs, handles = json.loads(says)
    values = iter(inputs)
    count = len(inputs) + len(handles)
    given = [
        ResourceHandle(handles[str(i)]) if str(i) in handles else next(values) for i in range(count)
    ]
    record = tf_op(op_type)
    assert record is not None and isinstance(record.lowering, Extracted) and record.lowering.host
    return record.lowering.host.function(given, types, **attrs)


def scalar(c: Inference) -> Dims:
    return ()


dataset_node = host_op(
    "dataset",
    "_Dataset(inputs: T; T: list(type), op_type: string, says: string) -> handle: string",
    _made_in_program,
    infer=scalar,
    shown="Dataset",
    only_reads=False,
)


def _emit(x: Extractor, inputs: Sequence[Bound], attrs: Attrs, op_type: str) -> Sequence[Bound]:
    values: list[Value] = []
    handles: dict[int, str] = {}
    for i, bound in enumerate(inputs):
        if isinstance(bound, Resource) and not bound.info.get("is_ref"):
            handles[i] = bound.name
        else:
            values.append(value_of(x, bound))
    says = json.dumps([{n: _plain(v) for n, v in attrs.items()}, handles], sort_keys=True)
    given = {
        "T": tuple(v.type.dtype for v in values),
        "op_type": op_type,
        "says": says,
    }
    return x.b.emit(dataset_node, values, given).outputs


def define_dataset(
    signature: str,
    make: Make,
    capability: Capability | None = None,
    old: Sequence[str] = (),
    aliases: tuple[str, ...] = (),
) -> Op:
    """The record of a dataset. `signature` lacks `-> handle: variant`. `old`: signatures of other
    op types of the same meaning, `aliases`: op types of the same signature."""
    tf = signature if "->" in signature else f"{signature} -> handle: variant"
    found = _define(tf, make, capability, aliases)
    for text in old:
        _define(f"{text} -> handle: variant", make, capability, ())
    return found


def _define(tf: str, make: Make, capability: Capability | None, aliases: tuple[str, ...]) -> Op:
    op_type, _, _ = tf.partition("(")
    signature = parse_signature(tf)
    function = partial(_made, make=make, signature=signature)
    host = Host(function, op_type, tuple(signature.attrs), only_reads=True)
    return define(
        f"dataset:{op_type}",
        tf,
        infer=scalar,
        lowering=Extracted(partial(_emit, op_type=op_type), host),
        traits=frozenset({"may_block"}),
        capability=capability,
        aliases=aliases,
    )
