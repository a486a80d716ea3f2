"""Functions of a graph: what `PartitionedCall`, `While`, `If` and other ops call by name.

In: parsed records from the importer or from builders. Out: `Function`.
Invariant: names stay as TensorFlow writes them; a reference into a node's output list is
resolved with that op's signature by whoever inlines the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, field
from typing import Any, Literal

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph.attrs import Attrs
from flowc.ir.cached_property import cached_property

ArgRef = tuple[Literal["arg"], int]
NodeRef = tuple[Literal["node"], str, str, int]
InputRef = ArgRef | NodeRef
"""`("arg", i)`: the function's i-th tensor argument. `("node", node, output_arg, k)`: the k-th
tensor of the output argument `output_arg` (its name in the op's signature) of a node of the
body."""


@dataclass(frozen=True, slots=True)
class FunctionArg:
    """One argument or result of a function's signature. `dtype` is None where an attr of the
    function decides it: `type_attr` names the attr."""

    name: str
    dtype: DType | None
    type_attr: str = ""
    is_ref: bool = False
    number_attr: str = ""
    type_list_attr: str = ""
    attrs: Mapping[str, Any] = field(default_factory=dict)

    def types(self, attrs: Mapping[str, Any]) -> list[DType | None]:
        """The dtypes of its tensors in a call with these attrs."""
        if self.type_list_attr:
            return list(attrs.get(self.type_list_attr, ()))
        dtype = self.dtype if self.dtype is not None else attrs.get(self.type_attr)
        return [dtype] * (int(attrs.get(self.number_attr, 1)) if self.number_attr else 1)


@dataclass(frozen=True, slots=True)
class BodyNode:
    """One node of a function's body. `control_inputs` name nodes of the body; arguments that stand
    as control inputs (they order nothing) are left out. `is_imported`: a file says what the node
    is, and not the program at work."""

    name: str
    type: str
    inputs: tuple[InputRef, ...]
    control_inputs: tuple[str, ...]
    attrs: Attrs
    device: str = ""
    is_imported: bool = True


@dataclass(frozen=True, slots=True)
class FunctionBody:
    """`results`: for each result of the signature, in order, where its tensor comes from.
    `control_results`: the nodes that have to run even if no result needs them."""

    nodes: tuple[BodyNode, ...]
    results: tuple[InputRef, ...]
    control_results: tuple[str, ...]


@dataclass(eq=False)
class Function:
    """A function: signature, attrs, and a body that is parsed when first asked for.

    `encoded` is the definition as its file has it (None for a function made here), so that it is
    written back byte for byte. `gradient`: the name of the function that is its gradient, or None.
    """

    name: str
    args: tuple[FunctionArg, ...]
    results: tuple[FunctionArg, ...]
    read_body: Callable[[], FunctionBody]
    attrs: Attrs = field(default_factory=Attrs)
    _: KW_ONLY
    is_stateful: bool = False
    encoded: Any = None
    gradient: str | None = None

    @cached_property
    def body(self) -> FunctionBody:
        return self.read_body()

    def output_types(self, attrs: Mapping[str, Any]) -> list[tuple[DType | None, bool]]:
        """(dtype, is a reference) of each output of a node that calls the function by its type."""
        return [(t, r.is_ref) for r in self.results for t in r.types(attrs)]

    def __repr__(self) -> str:
        args = ", ".join(f"{a.name}: {a.dtype or a.type_attr}" for a in self.args)
        return f"<Function {self.name}({args})>"
