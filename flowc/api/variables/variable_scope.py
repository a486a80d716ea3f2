"""`get_variable` and the scopes that name what it makes and say what it shares.

In: names, shapes, initializers. Out: variables, the same one for the same name where `reuse` says
so. Invariant: a graph has at most one variable of a full name made by `get_variable`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api.framework.scopes import name_scope
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.new_variable import VariableRequest, get_single_variable, joined
from flowc.api.variables.partitioned_variables import PartitionedVariable, get_partitioned_variable
from flowc.api.variables.scope_state import (
    AUTO_REUSE,
    VariableAggregation,
    VariableScope,
    VariableSynchronization,
    get_variable_scope,
    scopes_of_default_graph,
)
from flowc.api.variables.variables import Variable
from flowc.graph import Graph, TensorShape, get_default_graph

_OPENED = ("flowc", "names of variable scopes")  # key of a collection that no file holds


def no_regularizer(_: Any) -> None:
    """A regularizer that keeps one of an outer scope away. None for every tensor. Raises
    nothing."""


@contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Sequence[Any] | None = None,
    initializer: Any = None,
    regularizer: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    constraint: Any = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Prefixes the names of variables (and of operations) with a name, or reopens a scope that was
    captured. What is given here is what `get_variable` takes where it is given nothing.

    `reuse`: True to get variables that exist, `AUTO_REUSE` to make those that do not; inherited.
    Raises `TypeError` for what is no name or scope, `ValueError` for another `reuse`, and for True
    without a name."""
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if not isinstance(name_or_scope, VariableScope | str | None):
        raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
    if not (reuse is None or reuse is AUTO_REUSE or isinstance(reuse, bool)):
        raise ValueError("The reuse parameter must be True or False or None.")
    if name_or_scope is None and reuse:
        raise ValueError("reuse=True cannot be used without a name_or_scope")
    outer = get_variable_scope()
    graph = get_default_graph()
    if isinstance(name_or_scope, VariableScope):
        full, base = name_or_scope.name, name_or_scope
        shown = full.split("/")[-1]
    else:
        shown = name_or_scope if name_or_scope is not None else default_name or ""
        local = _unused(graph, outer.name, shown) if name_or_scope is None else shown
        full, base = joined(outer.name, local), outer
    names = graph.get_collection_ref(_OPENED)
    names.append(full)
    before = list(names)

    def given(value: Any, inherited: Any) -> Any:
        return inherited if value is None else value

    getter = base.custom_getter if custom_getter is None else custom_getter
    if custom_getter is not None and base.custom_getter is not None:
        getter = partial(_getter_in_getter, custom_getter, base.custom_getter)
    held = scopes_of_default_graph()
    opened = name_scope(shown) if auxiliary_name_scope and shown else _no_scope(graph)
    with opened as scope:
        made = VariableScope(
            full,
            reuse or base.reuse or outer.reuse,
            given(initializer, base.initializer),
            given(regularizer, base.regularizer),
            given(caching_device, base.caching_device),
            given(partitioner, base.partitioner),
            getter,
            base.dtype if dtype is None else dtypes.as_dtype(dtype),
            given(use_resource, base.use_resource),
            given(constraint, base.constraint),
            base.original_name_scope if base is name_or_scope else scope,
        )
        held.append(made)
        try:
            yield made
        finally:
            held.pop()
            # Scopes inside count anew when this one is opened again.
            kept = before if base is name_or_scope else names
            names[:] = [n for n in kept if not n.startswith(f"{full}/")]


def variable_op_scope(
    values: Sequence[Any], name_or_scope: Any, default_name: str | None = None, **given: Any
) -> AbstractContextManager[VariableScope]:
    """`variable_scope` in the argument order of 2016. Raises as it does."""
    return variable_scope(name_or_scope, default_name, values, **given)


def _getter_in_getter(inner: Any, outer: Any, getter: Any, *args: Any, **kwargs: Any) -> Any:
    return inner(partial(outer, getter), *args, **kwargs)


@contextmanager
def _no_scope(graph: Graph) -> Iterator[str]:
    scope = graph.get_name_scope()
    yield f"{scope}/" if scope else ""


def _unused(graph: Graph, outer: str, name: str) -> str:
    opened = set(graph.get_collection(_OPENED))
    found, count = name, 0
    while joined(outer, found) in opened:
        count += 1
        found = f"{name}_{count}"
    return found


def get_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool | None = None,
    collections: Sequence[str] | None = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    use_resource: bool | None = None,
    custom_getter: Any = None,
    constraint: Callable[..., Any] | None = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """The variable of this name in the current `variable_scope`: a new one, or one that exists; a
    `PartitionedVariable` where there is a `partitioner`.

    `initializer`: a value, or a function of a shape and a dtype. `regularizer`: a function of the
    variable whose result joins the collection `regularization_losses`. `custom_getter(getter, name,
    **arguments)`: makes the variable, with `getter` or in another way. Raises `ValueError` where
    the variable exists and may not be shared, does not exist and must, or has another shape or
    dtype.
    """
    scope = get_variable_scope()
    request: dict[str, Any] = {
        "name": joined(scope.name, name),
        "shape": shape,
        "dtype": scope.dtype if dtype is None else dtypes.as_dtype(dtype),
        "initializer": scope.initializer if initializer is None else initializer,
        "regularizer": scope.regularizer if regularizer is None else regularizer,
        "reuse": scope.reuse,
        "trainable": trainable,
        "collections": collections,
        "caching_device": scope.caching_device if caching_device is None else caching_device,
        "partitioner": scope.partitioner if partitioner is None else partitioner,
        "validate_shape": validate_shape,
        "use_resource": scope.use_resource if use_resource is None else use_resource,
        "constraint": scope.constraint if constraint is None else constraint,
        "synchronization": synchronization,
        "aggregation": aggregation,
    }
    getter = scope.custom_getter if custom_getter is None else custom_getter
    if getter is not None and not callable(getter):
        raise ValueError(f"Passed a custom_getter which is not callable: {getter}")
    with get_default_graph().name_scope(None):
        return _found(**request) if getter is None else getter(_found, **request)


def _found(name: str, **given: Any) -> Variable | PartitionedVariable:
    """The variable that is asked for by its full name."""
    scope = get_variable_scope()
    request = VariableRequest(
        name,
        **{"reuse": scope.reuse, "dtype": scope.dtype, **given},
    )
    if request.shape is not None:
        request.shape = TensorShape(request.shape)
    is_scalar = request.shape is not None and request.shape.ndims == 0
    if request.partitioner is None or is_scalar:
        return get_single_variable(request)
    return get_partitioned_variable(request)


def get_local_variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = False,
    collections: Sequence[str] | None = None,
    **given: Any,
) -> Any:
    """`get_variable` of a variable that is not trained and stands among the local ones. Raises as
    it does."""
    kept_in = [*(collections or ()), GraphKeys.LOCAL_VARIABLES]
    return get_variable(name, shape, dtype, initializer, regularizer, False, kept_in, **given)
