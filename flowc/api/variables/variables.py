"""`tf.Variable`: state that lives in a session.

In: initial values. Out: objects that stand for a variable's value wherever a tensor is expected.
Invariant: the nodes are TensorFlow 1's: `VariableV2`, its initial `Assign` and a `read`; or, behind
`use_resource=True`, a handle, of which every read and every change is an operation: what stands for
the variable after a change reads it after that change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from flowc import dtypes
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.raw_ops import call, named
from flowc.api.framework.scopes import name_scope
from flowc.api.variables.initial_values import guarded
from flowc.api.variables.variable_nodes import (
    assign_to,
    check_outside,
    check_rows,
    outside_control_flow,
    scatter_to,
)
from flowc.dtypes import DType
from flowc.graph import Graph, Operation, Tensor, TensorShape, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output
from flowc.graph.building.operators import Operators

GLOBAL = "variables"
LOCAL = "local_variables"
TRAINABLE = "trainable_variables"


def _step_method(op_type: str) -> Callable[..., Any]:
    def method(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return self._step(op_type, delta, use_locking, name, read_value)

    return named(method, op_type.replace("Assign", "assign_").lower())


class Variable(Operators):
    """A tensor that keeps its value between the runs of a session.

    `initial_value`: a tensor, a Python value, or a function without arguments that makes one (which
    lets a loop's body make variables); its shape is the variable's, unless `validate_shape` is
    False. Raises `ValueError` where it is missing, comes from inside a loop or branch, or has no
    complete shape.
    """

    def __new__(cls, *args: Any, use_resource: bool | None = None, **kwargs: Any) -> Variable:
        return object.__new__(ResourceVariable if use_resource else cls)

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = True,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[..., Any] | None = None,
        use_resource: bool | None = None,
        shape: Any = None,
    ) -> None:
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if collections is not None and not isinstance(collections, list | tuple | set):
            raise ValueError(
                "collections argument to Variable constructor must be a list, tuple, or set. Got "
                f"{collections} of type {type(collections)}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError("The `constraint` argument must be a callable.")
        self.trainable = bool(trainable) or trainable is None
        self.constraint = constraint
        kept_in = list(collections) if collections is not None else [GLOBAL]
        if self.trainable and TRAINABLE not in kept_in:
            kept_in.append(TRAINABLE)
        graph = get_default_graph()
        wanted = None if dtype is None else dtypes.as_dtype(dtype)
        with outside_control_flow(graph), name_scope(name, "Variable", []) as scope:
            self._build(graph, scope, initial_value, wanted, validate_shape, shape)
        graph.add_to_collections(kept_in, self)

    def _build(
        self,
        graph: Graph,
        scope: str,
        initial_value: Any,
        dtype: DType | None,
        validate_shape: bool,
        shape: Any,
    ) -> None:
        with self._beside_itself(graph, scope) if callable(initial_value) else nullcontext():
            if callable(initial_value):
                with graph.name_scope("Initializer"), graph.device(None):
                    initial = as_tensor(initial_value(), dtype, "initial_value")
            else:
                initial = as_tensor(initial_value, dtype, "initial_value")
                check_outside(initial, scope)
            self.initial_value = initial
            if shape is None:
                shape = initial.shape if validate_shape else None
            held = TensorShape(shape).sizes
            self._ref_tensor = output("VariableV2", name=scope, shape=held, dtype=initial.dtype)
        if validate_shape and not initial.shape.is_fully_defined():
            raise ValueError(f"initial_value must have a shape specified: {initial}")
        self.initializer: Operation = assign_to(
            self._ref_tensor, guarded(scope, initial), validate_shape=validate_shape
        ).op
        with graph.colocate_with(self._ref_tensor.op):
            self._snapshot = output("Identity", self._ref_tensor, name="read")

    @staticmethod
    def _beside_itself(graph: Graph, scope: str) -> AbstractContextManager[None]:
        """What makes the initial value stands where the variable will."""
        return graph.attr_scope({"_class": [f"loc:@{scope[:-1]}".encode()]})

    # What stands for the variable

    def _as_graph_element(self) -> Tensor:
        return self._ref_tensor

    def _as_tensor(self) -> Tensor:
        """The variable as an input of an operation."""
        return self.value()

    def _operand(self) -> Tensor:
        return self.value()

    def _ref(self) -> Tensor:
        return self._ref_tensor

    def value(self) -> Tensor:
        """The value, read once a run."""
        return self._snapshot

    def read_value(self) -> Tensor:
        """The value when this is computed."""
        return output("Identity", self._ref_tensor, name="read")

    def initialized_value(self) -> Tensor:
        """The value, or the initial value where the variable has none yet."""
        with outside_control_flow(self.graph):
            return cond(self._has_value(), self.read_value, lambda: self.initial_value)

    def _has_value(self) -> Tensor:
        return output("IsVariableInitialized", self._ref_tensor)

    @property
    def _home(self) -> Tensor:
        """What the operation gives that holds the variable: a reference or a handle."""
        return self._ref_tensor

    @property
    def op(self) -> Operation:
        return self._home.op

    @property
    def name(self) -> str:
        return self._home.name

    @property
    def graph(self) -> Graph:
        return self._home.graph

    @property
    def device(self) -> str:
        return self._home.device

    @property
    def dtype(self) -> DType:
        dtype = self.initial_value.dtype
        assert dtype is not None
        return dtype

    @property
    def shape(self) -> TensorShape:
        return self._ref_tensor.shape

    def get_shape(self) -> TensorShape:
        return self.shape

    def set_shape(self, shape: Any) -> None:
        self._ref_tensor.set_shape(shape)
        self._snapshot.set_shape(shape)

    def eval(self, session: Any = None) -> Any:
        return self.value().eval(session=session)

    # Changes

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        """Gives the variable another value; returns a reference to it, or without `read_value` the
        operation."""
        return self._assigned(value, use_locking, name, read_value)

    def _assigned(self, value: Any, use_locking: bool, name: str | None, read_value: bool) -> Any:
        changed = assign_to(self._ref_tensor, value, use_locking, name)
        return changed if read_value else changed.op

    assign_add, assign_sub = _step_method("AssignAdd"), _step_method("AssignSub")

    def _step(
        self, op_type: str, delta: Any, use_locking: bool, name: str | None, read_value: bool
    ) -> Any:
        changed = output(op_type, self._ref_tensor, delta, name=name, use_locking=use_locking)
        return changed if read_value else changed.op

    def scatter(
        self, kind: str, indices: Any, updates: Any, use_locking: bool, name: str | None
    ) -> Any:
        """`Scatter<kind>`: changes the rows at `indices`."""
        return scatter_to(self._ref_tensor, kind, indices, updates, use_locking, name)

    def count_up_to(self, limit: int) -> Tensor:
        return output("CountUpTo", self._ref_tensor, limit=limit)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The variable as a VariableDef message."""
        from flowc.graph.encode import variable_def

        return variable_def(
            variable_name=self._home.name,
            initial_value_name=self.initial_value.name,
            initializer_name=self.initializer.name,
            snapshot_name=self._snapshot.name,
            trainable=self.trainable,
            is_resource=isinstance(self, ResourceVariable),
        )

    def __repr__(self) -> str:
        return f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}_ref>"

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    __array_priority__ = 100


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
            self.is_initialized = output("VarIsInitializedOp", self.handle)
        with graph.name_scope("Assign") as name, graph.colocate_with(None, ignore_existing=True):
            value = guarded(scope, initial)
            self.initializer = call("AssignVariableOp", self.handle, value, name=name)
        with graph.name_scope("Read"):
            self._snapshot = self._read()

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
            if not kind.startswith("Nd"):
                check_rows(self.shape, *op.inputs[1:])
        return _Assigned(self, op)

    def _has_value(self) -> Tensor:
        return output("VarIsInitializedOp", self.handle)

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

    def __new__(cls, variable: ResourceVariable, parent: Operation) -> _Assigned:
        return object.__new__(cls)

    def __init__(self, variable: ResourceVariable, parent: Operation) -> None:
        self.__dict__.update(variable.__dict__)
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
