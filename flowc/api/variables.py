"""`tf.Variable`: state that lives in a session, as reference or as resource variables.

In: initial values. Out: objects that stand for a variable's value wherever a tensor is expected.
Invariant: the nodes are TensorFlow 1's: a reference variable is `VariableV2`, its initial `Assign`
and a `read`; a resource variable is `VarHandleOp` with its own reads and assignments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from flowc import dtypes
from flowc.api.conversion import as_tensor
from flowc.api.raw_ops import call, output
from flowc.api.scopes import name_scope
from flowc.dtypes import DType
from flowc.graph import Graph, Operation, Tensor, TensorShape, get_default_graph

GLOBAL = "variables"
LOCAL = "local_variables"
TRAINABLE = "trainable_variables"


class Variable:
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
            self._ref_tensor, initial, validate_shape=validate_shape
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
        from flowc.api.control_flow import cond

        with outside_control_flow(self.graph):
            return cond(is_variable_initialized(self), self.read_value, lambda: self.initial_value)

    @property
    def op(self) -> Operation:
        return self._ref_tensor.op

    @property
    def name(self) -> str:
        return self._ref_tensor.name

    @property
    def graph(self) -> Graph:
        return self._ref_tensor.graph

    @property
    def device(self) -> str:
        return self._ref_tensor.device

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
        return self.value().eval(session=session)  # type: ignore[attr-defined]

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
        return self._changed(assign_to(self._ref_tensor, value, use_locking, name), read_value)

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return self._changed(self._update("AssignAdd", delta, use_locking, name), read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return self._changed(self._update("AssignSub", delta, use_locking, name), read_value)

    def _update(self, op_type: str, delta: Any, use_locking: bool, name: str | None) -> Tensor:
        return output(op_type, self._ref_tensor, delta, name=name, use_locking=use_locking)

    @staticmethod
    def _changed(reference: Tensor, read_value: bool) -> Any:
        return reference if read_value else reference.op

    def scatter(
        self, kind: str, indices: Any, updates: Any, use_locking: bool, name: str | None
    ) -> Any:
        """`Scatter<kind>`: changes the rows at `indices`."""
        return scatter_to(self._ref_tensor, kind, indices, updates, use_locking, name)

    def count_up_to(self, limit: int) -> Tensor:
        return output("CountUpTo", self._ref_tensor, limit=limit)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The variable as a VariableDef message."""
        from flowc.proto.variable_pb2 import VariableDef

        return VariableDef(
            variable_name=self._ref_tensor.name,
            initial_value_name=self.initial_value.name,
            initializer_name=self.initializer.name,
            snapshot_name=self._snapshot.name,
            trainable=self.trainable,
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
            self.initializer = call("AssignVariableOp", self.handle, initial, name=name)
        with graph.name_scope("Read"):
            self._graph_element = self._read()

    def _read(self) -> Tensor:
        read = output("ReadVariableOp", self.handle, dtype=self.initial_value.dtype)
        read.set_shape(self._shape)
        return read

    def _as_graph_element(self) -> Tensor:
        return self._graph_element

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
    def op(self) -> Operation:
        return self.handle.op

    @property
    def name(self) -> str:
        return self.handle.name

    @property
    def graph(self) -> Graph:
        return self.handle.graph

    @property
    def device(self) -> str:
        return self.handle.device

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def set_shape(self, shape: Any) -> None:
        self._shape = self._shape.merge_with(shape)

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
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

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return self._step("AssignAddVariableOp", delta, name, read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Any:
        return self._step("AssignSubVariableOp", delta, name, read_value)

    def _step(self, op_type: str, delta: Any, name: str | None, read_value: bool) -> Any:
        with self._after_parent():
            op = call(op_type, self.handle, as_tensor(delta, self.dtype), name=name)
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

    def count_up_to(self, limit: int) -> Tensor:
        return output("ResourceCountUpTo", self.handle, limit=limit, T=self.dtype)

    @property
    def _control_input(self) -> Operation:
        return self.op

    def _after_parent(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def to_proto(self, export_scope: str | None = None) -> Any:
        from flowc.proto.variable_pb2 import VariableDef

        return VariableDef(
            variable_name=self.handle.name,
            initial_value_name=self.initial_value.name,
            initializer_name=self.initializer.name,
            snapshot_name=self._graph_element.name,
            trainable=self.trainable,
            is_resource=True,
        )

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
            self._graph_element = self._read()

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


def check_outside(initial: Tensor, scope: str) -> None:
    """Raises `ValueError` for an initial value that a loop or a branch makes."""
    if initial.op.control_flow_context is not None:
        raise ValueError(
            f"Initializer for variable {scope} is from inside a control-flow construct, such as a "
            "loop or conditional. When creating a variable inside a loop or conditional, use a "
            "lambda as the initializer."
        )


@contextmanager
def outside_control_flow(graph: Graph) -> Iterator[None]:
    """Operations made inside belong to no loop or branch and wait for nothing."""
    scope = graph.get_name_scope()
    with graph.name_scope(f"{scope}/" if scope else None), graph.control_dependencies(None):
        yield


# Functions of variables


def assign_to(
    ref: Tensor,
    value: Any,
    use_locking: bool = True,
    name: str | None = None,
    validate_shape: bool = True,
) -> Tensor:
    found = output(
        "Assign", ref, value, name=name, validate_shape=validate_shape, use_locking=use_locking
    )
    if not validate_shape:
        found.set_shape(None)
    return found


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool = True,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Gives a variable another value. Raises `ValueError` for a value of another shape, unless
    `validate_shape` is False."""
    if isinstance(ref, ResourceVariable):
        return ref.assign(value, name=name)
    return assign_to(reference_of(ref), value, use_locking, name, validate_shape)


def assign_add(ref: Any, value: Any, use_locking: bool = False, name: str | None = None) -> Any:
    if isinstance(ref, ResourceVariable):
        return ref.assign_add(value)
    return output("AssignAdd", reference_of(ref), value, name=name, use_locking=use_locking)


def assign_sub(ref: Any, value: Any, use_locking: bool = False, name: str | None = None) -> Any:
    if isinstance(ref, ResourceVariable):
        return ref.assign_sub(value)
    return output("AssignSub", reference_of(ref), value, name=name, use_locking=use_locking)


def reference_of(ref: Any) -> Tensor:
    """Raises `TypeError` for what is no variable."""
    found = ref._ref() if isinstance(ref, Variable) else ref
    if not isinstance(found, Tensor) or not found.is_ref:
        raise TypeError(f"{ref!r} is no variable: only variables can be assigned to")
    return found


def scatter_to(
    ref: Tensor, kind: str, indices: Any, updates: Any, use_locking: bool, name: str | None
) -> Tensor:
    found = output(f"Scatter{kind}", ref, indices, updates, name=name, use_locking=use_locking)
    if not kind.startswith("Nd"):
        check_rows(ref.shape, *found.op.inputs[1:])
    return found


def check_rows(held: TensorShape, indices: Tensor, updates: Tensor) -> None:
    """Raises `ValueError` where updates are not one row of a variable of shape `held` (or one
    number) for each index."""
    wanted = indices.shape.concatenate(held[1:])
    if updates.shape.ndims != 0 and not updates.shape.is_compatible_with(wanted):
        raise ValueError(
            "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
            f"got updates.shape {updates.shape}, indices.shape {indices.shape}, params.shape {held}"
        )


def _scatter(kind: str, locks: bool) -> Callable[..., Any]:
    def function(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locks, name: str | None = None
    ) -> Any:
        if isinstance(ref, Variable):
            return ref.scatter(kind, indices, updates, use_locking, name)
        return scatter_to(reference_of(ref), kind, indices, updates, use_locking, name)

    function.__name__ = function.__qualname__ = f"scatter_{kind.lower()}"
    function.__doc__ = (
        f"TensorFlow's `Scatter{kind}`: changes the rows of a variable at `indices` by `updates`."
    )
    return function


scatter_update = _scatter("Update", True)
scatter_add = _scatter("Add", False)
scatter_sub = _scatter("Sub", False)
scatter_mul = _scatter("Mul", False)
scatter_div = _scatter("Div", False)
scatter_min = _scatter("Min", False)
scatter_max = _scatter("Max", False)
scatter_nd_update = _scatter("NdUpdate", True)
scatter_nd_add = _scatter("NdAdd", False)
scatter_nd_sub = _scatter("NdSub", False)


def is_variable_initialized(ref: Any) -> Tensor:
    if isinstance(ref, ResourceVariable):
        return output("VarIsInitializedOp", ref.handle)
    return output("IsVariableInitialized", reference_of(ref))


def count_up_to(ref: Variable, limit: int) -> Tensor:
    return ref.count_up_to(limit)


def global_variables(scope: str | None = None) -> list[Variable]:
    return get_default_graph().get_collection(GLOBAL, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    return get_default_graph().get_collection(LOCAL, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    return get_default_graph().get_collection(TRAINABLE, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives the variables their initial values."""
    from flowc.api.scopes import group, no_op

    if not var_list:
        return no_op(name)
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    return variables_initializer(local_variables())


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv div rdiv floordiv rfloordiv mod rmod pow rpow "
    "matmul rmatmul lt le gt ge and rand or ror xor rxor neg abs invert getitem"
)


def _delegated(method: str) -> Callable[..., Any]:
    def operator(self: Variable, *args: Any) -> Any:
        return getattr(self.value(), method)(*args)

    return operator


for _operator in _OPERATORS.split():
    setattr(Variable, f"__{_operator}__", _delegated(f"__{_operator}__"))
