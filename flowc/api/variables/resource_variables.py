"""Variables behind handles: every read and every change is an operation of its own.

In: as of a `Variable`. Out: the nodes of TensorFlow's resource variables. Invariant: what stands
for a variable after a change reads it after that change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from flowc.api.framework.basics import identity
from flowc.api.framework.raw_ops import call
from flowc.api.variables.initial_values import guarded
from flowc.api.variables.variable_nodes import check_outside, check_updates
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Graph, Operation, Tensor, TensorShape
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output


class ResourceVariable(Variable):
    """A variable behind a handle: every read is an operation of its own."""

    def _build(
        self,
        graph: Graph,
        scope: str,
        initial_value: Any,
        dtype: DType | None,
        validate_shape: bool,
        shape: Any,
    ) -> None:
        with self._beside_itself(graph, scope):
            with graph.name_scope("Initializer"), graph.device(None):
                value = initial_value() if callable(initial_value) else initial_value
                initial = as_tensor(value, dtype, "initial_value")
            held = TensorShape(initial.shape if shape is None else shape)
            initial.shape.assert_is_compatible_with(held)
            self.handle = output(
                "VarHandleOp",
                name=scope,
                shared_name=scope[:-1],
                dtype=initial.dtype,
                shape=held.sizes,
                debug_name=scope,
            )
        check_outside(initial, scope)
        self.initial_value = initial
        self._shape = held
        with graph.name_scope("IsInitialized"):
            output("VarIsInitializedOp", self.handle)  # TensorFlow's variables have this node
        with graph.name_scope("Assign") as name, graph.colocate_with(None, ignore_existing=True):
            value = guarded(scope, initial)
            self.initializer = call("AssignVariableOp", self.handle, value, name=name)
        with graph.name_scope("Read"):
            self._snapshot = self._read()

    def _find_home(self, home: Tensor, found: Callable[[str], Any]) -> None:
        self.handle = home
        self._shape = TensorShape(home.op.attrs.get("shape"))

    @property
    def dtype(self) -> DType:
        return self._value_dtype()

    def _read(self) -> Tensor:
        read = output("ReadVariableOp", self.handle, dtype=self.initial_value.dtype)
        read.set_shape(self._shape)
        return read

    def _as_graph_element(self) -> Tensor:
        return self._snapshot

    def _ref(self) -> Tensor:
        raise NotImplementedError(
            f"{self.name} is a resource variable: it has a handle, and no reference"
        )

    def value(self) -> Tensor:
        with self.graph.colocate_with(None, ignore_existing=True):
            return self._read()

    def read_value(self) -> Tensor:
        with self.graph.name_scope("Read"):
            value = self._read()
        return output("Identity", value)

    @property
    def _home(self) -> Tensor:
        return self.handle

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        self._shape = self._shape.merge_with(shape)

    def _assigned(self, value: Any, use_locking: bool, name: str | None, read_value: bool) -> Any:
        tensor = as_tensor(value, self.dtype)
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Cannot assign value to variable ' {self.name}': Shape mismatch.The variable "
                f"shape {self._shape}, and the assigned value shape {tensor.shape} are "
                "incompatible."
            )
        checked = self._shape.is_fully_defined()
        with self._after_parent():
            op = call("AssignVariableOp", self.handle, tensor, name=name, validate_shape=checked)
        return _Assigned(self, op) if read_value else op

    def _step(
        self, op_type: str, delta: Any, use_locking: bool, name: str | None, read_value: bool
    ) -> Any:
        with self._after_parent():
            value = as_tensor(delta, self.dtype)
            op = call(f"{op_type}VariableOp", self.handle, value, name=name)
        return _Assigned(self, op) if read_value else op

    def scatter(
        self, kind: str, indices: Any, updates: Any, use_locking: bool, name: str | None
    ) -> Any:
        with self._after_parent():
            rows = as_tensor(updates, self.dtype)
            op = call(f"ResourceScatter{kind}", self.handle, indices, rows, name=name)
            check_updates(kind, self.shape, *op.inputs[1:])
        return _Assigned(self, op)

    def is_initialized(self, name: str | None = None) -> Tensor:
        """bool[]: whether the variable has a value."""
        return output("VarIsInitializedOp", self.handle, name=name)

    def _has_value(self) -> Tensor:
        return self.is_initialized()

    def _slice_assigned(
        self, bounds: Sequence[Tensor], value: Any, masks: dict[str, int], name: str
    ) -> Any:
        with self._after_parent():
            rows = as_tensor(value, self.dtype)
            op = call("ResourceStridedSliceAssign", self.handle, *bounds, rows, name=name, **masks)
        return _Assigned(self, op)

    @property
    def create(self) -> Operation:
        """The operation that gives the variable its initial value."""
        return self.initializer

    def sparse_read(self, indices: Any, name: str | None = None) -> Tensor:
        return output(
            "ResourceGather", self.handle, indices, dtype=self.dtype, name=name or "Gather"
        )

    def gather_nd(self, indices: Any, name: str | None = None) -> Tensor:
        given = self.handle, indices
        found = output("ResourceGatherNd", *given, dtype=self.dtype, name=name or "GatherNd")
        return identity(found)

    def count_up_to(self, limit: int) -> Tensor:
        return output("ResourceCountUpTo", self.handle, limit=limit, T=self.dtype)

    @property
    def _control_input(self) -> Operation:
        return self.op

    def _after_parent(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}>"


class _Assigned(ResourceVariable):
    """A resource variable as it is after an operation that changed it."""

    def __init__(self, variable: ResourceVariable, parent: Operation) -> None:
        for name, value in vars(variable).items():
            setattr(self, name, value)
        self._parent = parent
        with self._after_parent():
            self._snapshot = self._read()

    @property
    def op(self) -> Operation:
        return self._parent

    def value(self) -> Tensor:
        with self._after_parent():
            return self._read()

    def read_value(self) -> Tensor:
        return self.value()

    def _after_parent(self) -> AbstractContextManager[Any]:
        return self.graph.control_dependencies([self._parent])
