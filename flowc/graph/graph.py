"""The Graph: what the user wrote, shaped as TensorFlow shapes it, mutable while it is built.

In: the importer and the Python API. Out: `as_graph_def`, and extraction into a Computation.
Invariant: operations stand in the order in which they were made or read; names are unique; every
input of an operation belongs to the same graph.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

import numpy as np

from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph.attrs import Attrs
from flowc.graph.building.calling_line import calling_line
from flowc.graph.building.contexts import ControlFlowContext, check_reachable
from flowc.graph.building.scopes import ControlScope, DeviceFunction, Scopes
from flowc.graph.default import default_graph
from flowc.graph.device import DeviceSpec
from flowc.graph.function import Function
from flowc.graph.naming import Names
from flowc.graph.operation import Operation
from flowc.graph.signature import MainOperation, Signature
from flowc.graph.tensor import Tensor
from flowc.ir.capability import known_names
from flowc.version import GRAPH_DEF_VERSION

PRODUCER = GRAPH_DEF_VERSION


@dataclass(slots=True)
class Versions:
    """The versions of a GraphDef: who wrote it, and who may read it."""

    producer: int = PRODUCER
    min_consumer: int = 0
    bad_consumers: tuple[int, ...] = ()


class Graph:
    """Operations by name, functions, collections and the scopes that new operations are made in.

    `signatures`: those of a saved model. `main_operation`: what a Session of one runs before its
    first run that needs more than variables. `variable_values`: name of a variable's operation ->
    its value in the checkpoint (read when asked for). `source`: where an imported graph came from.
    `allowed`: the capabilities that imported nodes may use (`allow` adds some);
    `allowed_operations`: those that may use what they need: of a Saver at work. `outer`: the graph
    around one that is to become a function, which may take tensors from there. Its methods raise
    `ValueError` and `KeyError` for names that are not there, `RuntimeError` once it is finalized.
    """

    outer: Graph | None = None

    def __init__(self) -> None:
        self.names = Names()
        self.scopes = Scopes()
        self.functions: dict[str, Function] = {}
        self.signatures: dict[str, Signature] = {}
        self.main_operation: MainOperation | None = None
        self.variable_values: Mapping[str, np.ndarray] = {}
        self.versions = Versions()
        self.allowed: frozenset[str] = frozenset()
        self.allowed_operations: frozenset[Any] = frozenset()
        self.seed: int | None = None
        self.source: Any = None
        self.encoded: Any = None  # what a file says beyond nodes and functions, for writing back
        self.control_flow_context: ControlFlowContext | None = None
        self.collections: dict[Any, list[Any]] = {}
        self.host_functions: list[Any] = []  # kept for the nodes that hold their tokens
        self.edits = 0  # grows with every change of what operations take or are known to give
        self._ops: dict[str, Operation] = {}
        self._finalized = False
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Any] = set()
        self._lock = threading.RLock()

    # Operations

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Tensor],
        dtypes: Sequence[Any] | None = None,
        input_types: Sequence[Any] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds the operation that a NodeDef would state: tensors in one row, attrs as `AttrValue`
        messages; those that follow from the inputs or have a default may be left out.

        `input_types`: dtypes that the inputs must have. The op says what the outputs are; `dtypes`
        and what comes behind `attrs` change nothing, as in TensorFlow. Raises `TypeError` for
        inputs that are no tensors or too many, `ValueError` (`ShapeError`) for attrs and shapes
        that do not fit, `RuntimeError` for an unknown op type and once the graph is finalized.
        """
        from flowc.graph.building.node_creation import create_node

        self._check_not_finalized()
        with self.as_default():
            named = op_type if name is None else name
            return create_node(op_type, inputs, input_types, named, attrs or {})

    def add_operation(
        self,
        op_type: str,
        inputs: Sequence[Tensor] = (),
        attrs: Mapping[str, Any] | None = None,
        name: str | None = None,
        control_inputs: Iterable[Operation] = (),
        output_types: Sequence[tuple[DType, Any]] | None = None,
        ref_outputs: Collection[int] = (),
    ) -> Operation:
        """Adds an operation by plain attrs, in the scopes that the graph is in.

        `output_types`: (dtype, shape or None) of each output; without them, the op's record
        decides. `name`: made unique; one that ends with a slash is taken as it is. Raises
        `RuntimeError` once the graph is finalized, `ValueError` for a bad name or an input of
        another graph.
        """
        with self._lock:
            self._check_not_finalized()
            for tensor in inputs:
                if not isinstance(tensor, Tensor):
                    raise TypeError(f"Input of {op_type} is no Tensor: {tensor!r}")
                if tensor.graph is not self and self.outer is None:
                    raise ValueError(f"{tensor} must be from the same graph as {name or op_type}")
                if tensor.op.control_flow_context is not None:
                    check_reachable(tensor, op_type, name or op_type)
            inputs = [t if t.graph is self else self.capture(t) for t in inputs]
            full_name = self.names.op_name(name or op_type)
            if full_name in self._ops:
                raise ValueError(f"Duplicate node name in graph: '{full_name}'")
            op = Operation(self, op_type, full_name, Attrs(self._scoped_attrs(op_type, attrs)))
            op.made_by = calling_line()
            op.set_inputs(inputs)
            op.set_control_inputs(control_inputs)
            if output_types is not None:
                op.set_output_types(output_types, ref_outputs)
            self._ops[full_name] = op
            self.take_into_blocks((op,))
            return op

    @property
    def is_in_blocks(self) -> bool:
        """Whether a block or a context of control flow is open that takes new operations in."""
        return self.control_flow_context is not None or not self.scopes.empty

    def take_into_blocks(self, ops: Sequence[Operation]) -> None:
        """Makes operations that are new in the graph, inputs first, part of the blocks (control
        dependencies, devices, colocation) and of the control flow that the graph is in."""
        for op in ops:
            op.add_control_inputs(self.scopes.control_inputs(op.inputs))
        for op in ops:
            self._place(op)
            self.scopes.created(op)
            context = op.control_flow_context = self.control_flow_context
            if context is not None:
                context.add_op(op)

    def capture(self, tensor: Tensor) -> Tensor:
        """What stands here for a tensor of another graph. Raises `ValueError` where none may."""
        raise ValueError(f"{tensor} must be from the same graph as the operation that takes it")

    def _scoped_attrs(self, op_type: str, attrs: Mapping[str, Any] | None) -> dict[str, Any]:
        found = dict(self.scopes.attrs)
        found.update(attrs or {})
        if op_type in self.scopes.gradient_overrides:
            override = self.scopes.gradient_overrides[op_type]
            found.setdefault("_gradient_op_type", override.encode())
        return found

    def _place(self, op: Operation) -> None:
        op.device = self.scopes.device_of(op)
        if not self.scopes.colocations or op.encoded is not None:
            return
        groups = {group for other in self.scopes.colocations for group in other.colocation_groups()}
        op.attrs["_class"] = sorted(groups)
        device = self.scopes.colocations[-1].device
        if device:
            op.device = device

    def add_read_operation(self, op: Operation) -> None:
        """Adds an operation that an importer made under its full name. The caller sets its inputs.
        Raises `ValueError` where the name is taken."""
        self._check_not_finalized()
        if op.name in self._ops:
            raise ValueError(f"Duplicate node name in graph: '{op.name}'")
        self._ops[op.name] = op
        self.names.take(op.name)

    def remove_operations(self, ops: Collection[Operation]) -> None:
        """Takes out operations on which no others depend: those of an import that failed."""
        for op in ops:
            op.set_inputs(())
            op.set_control_inputs(())
            del self._ops[op.name]

    def _check_not_finalized(self) -> None:
        if self._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def finalize(self) -> None:
        """Makes the graph read-only: adding an operation raises `RuntimeError` from now on."""
        self._finalized = True

    def allow(self, *capabilities: str) -> None:
        """Lets imported nodes of the graph do more than compute: `"files"`, `"network"`,
        `"python"`. What Python code adds to a graph needs no permission. Raises `UsageError` for
        other names."""
        self.allowed = self.allowed | known_names(capabilities)

    def unfinalize(self) -> None:
        """Lets operations be added again."""
        self._finalized = False

    @property
    def finalized(self) -> bool:
        return self._finalized

    @property
    def building_function(self) -> bool:
        """Whether its operations are those of a function's body."""
        return self.outer is not None

    @property
    def version(self) -> int:
        """Grows with every operation that is added."""
        return len(self._ops)

    @property
    def graph_def_versions(self) -> Versions:
        return self.versions

    def __contains__(self, name: object) -> bool:
        return name in self._ops

    def get_operations(self) -> list[Operation]:
        return list(self._ops.values())

    # Looking things up

    def get_operation_by_name(self, name: str) -> Operation:
        if not isinstance(name, str):
            raise TypeError(f"Operation names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=False, allow_operation=True)

    def get_tensor_by_name(self, name: str) -> Tensor:
        if not isinstance(name, str):
            raise TypeError(f"Tensor names are strings (or similar), not {type(name).__name__}.")
        return self.as_graph_element(name, allow_tensor=True, allow_operation=False)

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Any:
        """The Tensor or Operation that `obj` is or names. Raises `KeyError` for an unknown name,
        `ValueError` for a name of the wrong kind or another graph's element, `TypeError` else."""
        if hasattr(obj, "_as_graph_element"):
            obj = obj._as_graph_element()
        if isinstance(obj, Tensor) and allow_tensor and obj.graph is self:
            return obj  # what every run asks of each of its feeds
        wanted = " or ".join(
            w for w, ok in (("Tensor", allow_tensor), ("Operation", allow_operation)) if ok
        )
        if isinstance(obj, bytes):
            obj = obj.decode("utf-8", "replace")
        if isinstance(obj, str):
            return self._named_element(obj, allow_tensor, allow_operation, wanted)
        if (isinstance(obj, Tensor) and allow_tensor) or (
            isinstance(obj, Operation) and allow_operation
        ):
            if obj.graph is not self:
                kind = "Tensor" if isinstance(obj, Tensor) else "Operation"
                raise ValueError(f"{kind} {obj} is not an element of this graph.")
            return obj
        raise TypeError(f"Can not convert a {type(obj).__name__} into a {wanted}.")

    def _named_element(self, name: str, tensors: bool, operations: bool, wanted: str) -> Any:
        if ":" in name:
            if not tensors:
                raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a {wanted}.")
            return self._tensor_named(name)
        if not operations:
            known = name in self._ops
            what = "refers to an Operation" if known else "looks like an (invalid) Operation name"
            raise ValueError(
                f"The name {name!r} {what}, not a {wanted}. Tensor names must be of the form "
                '"<op_name>:<output_index>".'
            )
        if name not in self._ops:
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        return self._ops[name]

    def _tensor_named(self, name: str) -> Tensor:
        op_name, _, index = name.partition(":")
        if not re.fullmatch(r"\d{1,9}", index) or not op_name:
            raise ValueError(
                f"The name {name!r} looks a like a Tensor name, but is not a valid one. Tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        op = self._ops.get(op_name)
        if op is None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, does not exist in the graph."
            )
        count = op.output_count
        # How many outputs an op without a record has, nothing says: extraction refuses it by name.
        if int(index) >= count and op.declared_outputs() is not None:
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, "
                f"{op_name!r}, exists but only has {count} outputs."
            )
        return op.output(int(index))

    # Names and scopes

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        return self.names.unique(name, mark_as_used)

    def name_scope(self, name: str | None) -> AbstractContextManager[str]:
        """Prefixes new names with `name/`; yields the full prefix."""
        return self.names.within(name)

    def get_name_scope(self) -> str:
        return self.names.scope

    def as_default(self) -> AbstractContextManager[Graph]:
        return default_graph(self)

    @contextmanager
    def control_dependencies(self, control_inputs: Iterable[Any] | None) -> Iterator[ControlScope]:
        """New operations wait for `control_inputs` (operations or tensors); None clears outer
        blocks and leaves the control-flow context."""
        if control_inputs is None:
            context, self.control_flow_context = self.control_flow_context, None
            try:
                with self.scopes.controlled(None) as scope:
                    yield scope
            finally:
                self.control_flow_context = context
            return
        given = (getattr(c, "_control_input", c) for c in control_inputs)
        elements = [self.as_graph_element(c) for c in given]
        waited = {op for scope in self.scopes.controls for op in scope.inputs}
        ops = dict.fromkeys(e.op if isinstance(e, Tensor) else e for e in elements)
        with self.scopes.controlled([op for op in ops if op not in waited]) as scope:
            yield scope

    def device(
        self, device: str | DeviceSpec | DeviceFunction | None
    ) -> AbstractContextManager[None]:
        return self.scopes.placed(device)

    def colocate_with(
        self, op: Operation | Tensor | None, ignore_existing: bool = False
    ) -> AbstractContextManager[None]:
        element = None if op is None else self.as_graph_element(op)
        target = element.op if isinstance(element, Tensor) else element
        return self.scopes.colocated(target, ignore_existing)

    @contextmanager
    def colocate_with_all(self, elements: Iterable[Operation | Tensor]) -> Iterator[None]:
        with ExitStack() as stack:
            for element in elements:
                stack.enter_context(self.colocate_with(element))
            yield

    def attr_scope(self, attrs: Mapping[str, Any]) -> AbstractContextManager[None]:
        return self.scopes.with_attrs(attrs)

    def gradient_override_map(self, overrides: Mapping[str, str]) -> AbstractContextManager[None]:
        """Operations made inside of these types have the gradients registered under these names.
        Raises `TypeError` for what maps no names to names."""
        names = isinstance(overrides, Mapping) and (*overrides.keys(), *overrides.values())
        if not isinstance(names, tuple) or not all(isinstance(n, str) for n in names):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        return self.scopes.overriding_gradients(overrides)

    def container(self, name: str) -> AbstractContextManager[str]:
        return self.scopes.in_container(name)

    # Collections

    def add_to_collection(self, name: Any, value: Any) -> None:
        self._check_not_finalized()
        self.get_collection_ref(name).append(value)

    def add_to_collections(self, names: Iterable[Any] | str, value: Any) -> None:
        names = (names,) if isinstance(names, str) else dict.fromkeys(names)
        for name in names:
            self.add_to_collection(name, value)

    def get_collection_ref(self, name: Any) -> list[Any]:
        """The collection itself, so that changes count."""
        return self.collections.setdefault(name, [])

    def get_collection(self, name: Any, scope: str | None = None) -> list[Any]:
        """A copy of a collection; with `scope`, a regular expression, the items whose name it
        matches from the start. Raises `re.error` for what is no such expression."""
        found = list(self.collections.get(name, ()))
        if scope is None or not found:
            return found
        pattern = re.compile(scope)
        return [item for item in found if hasattr(item, "name") and pattern.match(item.name)]

    def get_all_collection_keys(self) -> list[str]:
        return [key for key in self.collections if isinstance(key, str)]

    def clear_collection(self, name: Any) -> None:
        self._check_not_finalized()
        self.collections.pop(name, None)

    # Feeding and fetching

    def prevent_feeding(self, tensor: Tensor) -> None:
        self._unfeedable.add(tensor)

    def is_feedable(self, tensor: Tensor) -> bool:
        return tensor not in self._unfeedable

    def prevent_fetching(self, element: Tensor | Operation) -> None:
        self._unfetchable.add(element)

    def is_fetchable(self, element: Tensor | Operation) -> bool:
        """Whether neither it nor the operation that makes it was forbidden."""
        return not self._unfetchable & {element, getattr(element, "op", element)}

    # Writing

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as a GraphDef message: all of it, or what came after `from_version`."""
        from flowc.graph.export import graph_to_graph_def

        return graph_to_graph_def(self, from_version, add_shapes)

    def __repr__(self) -> str:
        return f"<flowc.Graph of {len(self._ops)} operations>"
