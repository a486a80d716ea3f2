"""The Computation: typed SSA in topological order, immutable.

In: a Builder (builder.py). Out: what passes map, the planner schedules and text.py prints.
Invariants (verifier.py checks them): every input of a node is a parameter or an output of an
earlier node; types are what `op.infer` says; every size symbol is defined before it is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.ir.dims import Dim, Symbol
from flowc.ir.op import Op, op_named
from flowc.ir.types import TensorType

if TYPE_CHECKING:
    from flowc.ir.lowering import Lowering


class Node:
    """One application of an op. Identity is equality.

    `attrs` may hold Computations (bodies). `after` orders effects and control inputs. `origin`: the
    TensorFlow node names that it came from. `sizes`: the data-dependent sizes that it defines, each
    a symbol with its upper bound (None: unbounded). What others found about a node, which does not
    change, is kept with it: `bodies` (`bodies.bodies_of`), `used_sizes` (`bodies.sizes_used`), and
    whether the types are what inference says (`verifier`).
    """

    __slots__ = (
        "_has_effects",
        "_lowering",
        "after",
        "attrs",
        "bodies",
        "inputs",
        "op",
        "origin",
        "outputs",
        "sizes",
        "types",
        "types_checked",
        "used_sizes",
    )

    def __init__(
        self,
        op: Op,
        inputs: tuple[Value, ...],
        attrs: Mapping[str, Any],
        types: tuple[TensorType, ...],
        after: tuple[Node, ...] = (),
        origin: tuple[str, ...] = (),
        sizes: tuple[tuple[Symbol, Dim | None], ...] = (),
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.after = after
        self.origin = origin
        self.sizes = sizes
        self.types = types
        self.outputs = tuple([Value(self, i, t) for i, t in enumerate(types)])
        self._lowering: Lowering | None = None
        self._has_effects: bool | None = None
        self.used_sizes: frozenset[Symbol] | None = None
        self.bodies: dict[str, Computation] | None = None
        self.types_checked = False

    def over(self, inputs: Iterable[Value], after: tuple[Node, ...] = ()) -> Node:
        """A copy that reads other values, and stands after other nodes."""
        copy = Node(self.op, tuple(inputs), self.attrs, self.types, after, self.origin, self.sizes)
        copy.used_sizes, copy.bodies = self.used_sizes, self.bodies
        return copy

    @property
    def has_effects(self) -> bool:
        """Whether the node, or one in its bodies, does more than compute its outputs."""
        if self._has_effects is None:
            told = "stateful" in self.op.traits or self.attrs.get("effects") is True
            self._has_effects = told or any(
                n.has_effects
                for body in self.attrs.values()
                if isinstance(body, Computation)
                for n in body.nodes
            )
        return self._has_effects

    def keep(self) -> None:
        """The node is never dropped, as if it had an effect."""
        kept: Mapping[str, Any] = {**self.attrs, "effects": True}
        self.attrs = kept
        self._has_effects = True

    @property
    def lowering(self) -> Lowering:
        """How this node becomes code; a lowering that depends on types or attrs is decided here."""
        if self._lowering is None:
            found = self.op.lowering
            self._lowering = found(self) if callable(found) else found
        return self._lowering

    @property
    def output(self) -> Value:
        """The only output."""
        (value,) = self.outputs
        return value

    @property
    def label(self) -> str:
        """The op, by the name that it had before it was written as a core op."""
        return self.attrs.get("label") or self.op.name

    @property
    def name(self) -> str:
        """The TensorFlow node to name in messages."""
        return self.origin[0] if self.origin else self.label

    def __repr__(self) -> str:
        types = ", ".join(str(t) for t in self.types)
        return f"<{self.op.name} : {types}>"


def parameter_node(name: str, type_: TensorType, origin: tuple[str, ...] = ()) -> Node:
    attrs = MappingProxyType({"name": name, "dtype": type_.dtype, "dims": type_.dims})
    return Node(op_named("parameter"), (), attrs, (type_,), (), origin)


class Value:
    """One output of a node."""

    __slots__ = ("index", "node", "type")

    def __init__(self, node: Node, index: int, type: TensorType) -> None:
        self.node = node
        self.index = index
        self.type = type

    @property
    def dtype(self) -> DType:
        return self.type.dtype

    @property
    def dims(self) -> tuple[Dim, ...]:
        return self.type.dims

    @property
    def constant(self) -> np.ndarray | None:
        """The elements, when the value is a constant."""
        return self.node.attrs["value"] if self.node.op.name == "const" else None

    def __repr__(self) -> str:
        return f"<value {self.index} of {self.node!r}>"


@dataclass(frozen=True, slots=True, eq=False)
class Computation:
    """`parameters` (nodes of op `parameter`), all `nodes` in order, and the `results`.

    `constraints`: pairs of sizes that must be equal, which every run checks first.
    """

    parameters: tuple[Node, ...]
    nodes: tuple[Node, ...]
    results: tuple[Value, ...]
    constraints: tuple[tuple[Dim, Dim], ...] = ()

    def users(self) -> dict[Value, list[Node]]:
        """For each value the nodes that read it, in order, once for each read."""
        found: dict[Value, list[Node]] = {v: [] for n in self.nodes for v in n.outputs}
        for node in self.nodes:
            for value in node.inputs:
                found[value].append(node)
        return found

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __str__(self) -> str:
        from flowc.ir.text.form import print_computation

        return print_computation(self)
