"""One variable by its full name: a new one, or the one that the graph has.

In: what `get_variable` was asked for, completed by its scope. Out: the variable. Invariant: what a
graph has by a name is kept in a collection that no file holds.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api.variables.initializers import GlorotUniform, Initializer, PartitionInfo, Zeros
from flowc.api.variables.scope_state import VariableAggregation, VariableSynchronization
from flowc.api.variables.variables import Variable
from flowc.dataclass import dataclass
from flowc.dtypes import DType
from flowc.graph import get_default_graph

_VARIABLES = ("flowc", "variables by name")


@dataclass(slots=True)
class VariableRequest:
    """What `get_variable` was asked for, with a full name. `part`: of a partitioned variable, the
    part that this one is."""

    name: str
    shape: Any = None
    dtype: DType = dtypes.f32
    initializer: Any = None
    regularizer: Any = None
    reuse: Any = None
    trainable: bool | None = None
    collections: Sequence[str] | None = None
    caching_device: Any = None
    partitioner: Any = None
    validate_shape: bool = True
    use_resource: bool | None = None
    constraint: Any = None
    synchronization: Any = VariableSynchronization.AUTO
    aggregation: Any = VariableAggregation.NONE
    part: PartitionInfo | None = None


def joined(outer: str, name: str) -> str:
    """The full name of `name` inside the scope `outer`."""
    return f"{outer}/{name}" if outer and name else outer or name


def variables_by_name() -> dict[str, Any]:
    """The variables that `get_variable` made in the default graph; partitioned ones too."""
    held: list[dict[str, Any]] = get_default_graph().get_collection_ref(_VARIABLES)
    if not held:
        held.append({})
    return held[0]


def get_single_variable(request: VariableRequest) -> Variable:
    """The variable of a full name. Raises `ValueError` as `get_variable`."""
    name, made = request.name, variables_by_name()
    if name in made:
        return _shared(made[name], request)
    if f"{name}/part_0" in made:
        raise ValueError(
            f"No partitioner was provided, but a partitioned version of the variable was found: "
            f"{name}/part_0. Perhaps a variable of the same name was already created with "
            "partitioning?"
        )
    check_may_be_new(request)
    value, dtype = _initial_value(request)
    variable = Variable(
        value,
        trainable=request.trainable,
        collections=request.collections,
        validate_shape=request.validate_shape,
        caching_device=request.caching_device,
        name=name,
        dtype=dtype,
        constraint=request.constraint,
        use_resource=request.use_resource,
        synchronization=request.synchronization,
        aggregation=request.aggregation,
    )
    made[name] = variable
    if request.regularizer is not None:
        _regularize(variable, name, request.regularizer)
    return variable


def check_may_be_new(request: VariableRequest) -> None:
    if request.reuse is True:
        raise ValueError(
            f"Variable {request.name} does not exist, or was not created with tf.get_variable(). "
            "Did you mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )


def _regularize(variable: Variable, name: str, regularizer: Callable[..., Any]) -> None:
    graph = get_default_graph()
    with graph.colocate_with(variable.op), graph.name_scope(f"{name}/Regularizer/"):
        loss = regularizer(variable)
    if loss is not None:
        graph.add_to_collection("regularization_losses", loss)


def _shared(found: Variable, request: VariableRequest) -> Variable:
    name, shape, dtype = request.name, request.shape, request.dtype
    if not request.reuse:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if shape is not None and not shape.is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{found.shape}."
        )
    kept = found.dtype.base_dtype
    if dtype is not kept:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}."
        )
    return found


def _initial_value(request: VariableRequest) -> tuple[Any, DType | None]:
    """(a value or a function that makes it, the dtype that it must have)"""
    shape = request.shape
    initializer: Any = request.initializer
    if initializer is not None and not callable(initializer):
        if shape is not None and request.part is None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return initializer, None
    if initializer is None:
        if shape is None:
            raise ValueError(
                f"Variable {request.name} did not get an initializer, so its `shape` argument "
                "must be specified."
            )
        initializer = _default_initializer(request.name, request.dtype)
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is None:
        if isinstance(initializer, Initializer):
            raise ValueError(
                f"Variable {request.name}: an initializer needs the variable's `shape`; only a "
                "function without arguments or a value goes without."
            )
        return initializer, None
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new variable ({request.name}) must be fully defined, but instead was "
            f"{shape}: the initializer needs all sizes."
        )
    made = partial(initializer, shape.as_list(), dtype=request.dtype)
    if request.part is not None and "partition_info" in inspect.signature(initializer).parameters:
        made = partial(made, partition_info=request.part)
    return made, request.dtype


def _default_initializer(name: str, dtype: DType) -> Callable[..., Any]:
    if dtype.kind in ("float", "complex"):
        return GlorotUniform()
    if dtype.kind in ("int", "uint", "bool", "string"):
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required.")
