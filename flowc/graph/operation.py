"""An operation of a Graph: a node with inputs, attributes and outputs.

In: made by `Graph.add_operation` or by the importer. Out: what builders, extraction and export
read.
Invariant: `inputs` and the consumer lists of their operations always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from traceback import FrameSummary, StackSummary
from types import CodeType
from typing import TYPE_CHECKING, Any

from flowc.dtypes import DType
from flowc.graph.attrs import Attrs
from flowc.graph.shape import TensorShape
from flowc.graph.tensor import Tensor

if TYPE_CHECKING:
    from flowc.graph.building.contexts import ControlFlowContext
    from flowc.graph.graph import Graph
    from flowc.proto.graph_pb2 import OpDef


class Operation:
    """One node. `attrs` maps names to plain values (attrs.py); `device` is a TensorFlow device name
    or empty; `control_flow_context` belongs to the control-flow builders. Made by a `Graph`, which
    raises `ValueError` and `TypeError` for inputs and attrs that do not fit."""

    __slots__ = (
        "__weakref__",
        "_consumers",
        "_control_inputs",
        "_inputs",
        "_outputs",
        "_outputs_are_set",
        "attrs",
        "control_flow_context",
        "device",
        "encoded",
        "graph",
        "made_by",
        "name",
        "type",
    )

    def __init__(self, graph: Graph, op_type: str, name: str, attrs: Attrs) -> None:
        self.graph = graph
        self.type = op_type
        self.name = name
        self.attrs = attrs
        self.device = ""
        self.control_flow_context: ControlFlowContext | None = None
        self.made_by: tuple[CodeType, int] | None = None  # the program's code, and its line
        self.encoded: Any = None  # what a file says of the node beyond its attrs, for writing back
        self._inputs: tuple[Tensor, ...] = ()
        self._control_inputs: tuple[Operation, ...] = ()
        self._outputs: list[Tensor | None] = []
        self._outputs_are_set = False  # else some may have been asked for, and others not yet
        self._consumers: list[Operation] = []

    @property
    def is_imported(self) -> bool:
        """Whether the operation comes from a file or a GraphDef, rather than from this program."""
        return self.encoded is not None

    @property
    def inputs(self) -> tuple[Tensor, ...]:
        return self._inputs

    @property
    def control_inputs(self) -> list[Operation]:
        return list(self._control_inputs)

    @property
    def outputs(self) -> list[Tensor]:
        """The outputs that the op's record declares; without a record, those known so far."""
        return [self.output(k) for k in range(self.output_count)]

    @property
    def output_count(self) -> int:
        """How many outputs there are, as far as is known."""
        known = len(self._outputs)
        if self._outputs_are_set:
            return known
        if self.type in self.graph.functions:
            return max(known, len(self.declared_outputs() or ()))
        from flowc.graph.op_info import output_count

        return max(known, output_count(self.type, self.attrs) or 0)

    def output(self, index: int) -> Tensor:
        """Output `index`. The caller answers for its existence where the op has no record."""
        outputs = self._outputs
        if index >= len(outputs):
            outputs.extend([None] * (index + 1 - len(outputs)))
        found = outputs[index]
        if found is None:
            found = outputs[index] = Tensor(self, index)
        return found

    def made_outputs(self) -> Sequence[Tensor | None]:
        """The outputs by index, None for those that nobody has asked for."""
        return self._outputs

    def set_output_types(
        self, types: Iterable[tuple[DType, Any]], refs: Iterable[int] = ()
    ) -> None:
        """Fixes the outputs: (dtype, shape or None) each, `refs` the indices that are
        references."""
        refs = frozenset(refs)
        self._outputs = [
            Tensor(self, k, dtype, TensorShape(shape), k in refs)
            for k, (dtype, shape) in enumerate(types)
        ]
        self._outputs_are_set = True

    def declared_outputs(self) -> list[tuple[DType | None, bool]] | None:
        """(dtype, is a reference) of each output by the op's record, or the function that the node
        calls, and this node's attrs; None where flowc has no record of the op."""
        from flowc.graph.op_info import output_types

        function = self.graph.functions.get(self.type)
        if function is not None:
            return function.output_types(self.attrs)
        return output_types(self.type, self.attrs)

    def set_inputs(self, inputs: Iterable[Tensor]) -> None:
        """Replaces all inputs."""
        self.graph.edits += 1
        for tensor in self._inputs:
            tensor.op._consumers.remove(self)
        self._inputs = tuple(inputs)
        for tensor in self._inputs:
            tensor.op._consumers.append(self)

    def update_input(self, index: int, tensor: Tensor) -> None:
        """Replaces one input (loops close their back edges with this)."""
        if tensor.graph is not self.graph:
            raise ValueError(f"{tensor} must be from the same graph as {self!r}")
        changed = list(self._inputs)
        changed[index] = tensor
        self.set_inputs(changed)

    def set_control_inputs(self, operations: Iterable[Operation]) -> None:
        """Replaces all control inputs; one that is named twice is kept once."""
        self.graph.edits += 1
        self._control_inputs = tuple(dict.fromkeys(operations))

    def add_control_inputs(self, operations: Iterable[Operation]) -> None:
        self.set_control_inputs((*self._control_inputs, *operations))

    def consumers_of(self, tensor: Tensor) -> list[Operation]:
        readers = dict.fromkeys(self._consumers)
        return [op for op in readers for read in op._inputs if read is tensor]

    @property
    def traceback(self) -> StackSummary:
        """The line of the program that made the operation; empty for one that came from a file."""
        if self.made_by is None:
            return StackSummary()
        code, line = self.made_by
        return StackSummary([FrameSummary(code.co_filename, line, code.co_name)])

    @property
    def op_def(self) -> OpDef | None:
        """The OpDef of the type, without descriptions; None where flowc has no record of it."""
        from flowc.graph.meta_export import op_def  # loads the op records

        return op_def(self.type)

    def get_attr(self, name: str) -> Any:
        """The value of an attr: tensors and shapes as messages (`TensorProto`, `TensorShapeProto`),
        the others plain (`attrs` has all of them plain). Raises `ValueError` where the node has
        none of that name."""
        if name not in self.attrs:
            raise ValueError(f"Operation '{self.name}' has no attr named '{name}'.")
        value = self.attrs[name]
        if isinstance(value, DType | int | float | bytes | str):
            return value  # without encoding the others, of which one may be a large tensor
        message = self.node_def.attr[name]
        kind = message.WhichOneof("value")
        if kind in ("tensor", "shape"):
            return getattr(message, kind)
        if kind == "list" and message.list.shape:
            return list(message.list.shape)
        return value

    def colocation_groups(self) -> list[bytes]:
        """The `loc:@name` groups: the operation's own where it names no other."""
        groups = [g for g in self.attrs.get("_class", []) if g.startswith(b"loc:@")]
        return groups or [b"loc:@" + self.name.encode()]

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef message."""
        from flowc.graph.export import operation_to_node_def

        return operation_to_node_def(self)

    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs the operation in `session` or the default one. Raises as `Tensor.eval` does."""
        from flowc.graph.default import session_for

        how = "`run(session=sess)`"
        session_for(self, session, "execute operation using `run()`", how).run(self, feed_dict)

    def values(self) -> tuple[Tensor, ...]:
        return tuple(self.outputs)

    def __str__(self) -> str:
        return str(self.node_def)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"
