"""`get_variable` and the scopes that name what it makes and say what it shares.

In: names, shapes, initializers. Out: variables, the same one for the same name where `reuse` says
so. Invariant: a graph has at most one variable of a full name made by `get_variable`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from flowc import dtypes
from flowc.api.framework.scopes import name_scope
from flowc.api.variables.initializers import GlorotUniform, Zeros
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Graph, TensorShape, get_default_graph

_VARIABLES = ("flowc", "variables by name")  # keys of collections that no file holds
_SCOPE = ("flowc", "variable scope")
_OPENED = ("flowc", "names of variable scopes")


class _AutoReuse:
    def __repr__(self) -> str:
        return "AUTO_REUSE"


AUTO_REUSE = _AutoReuse()


@dataclass(slots=True)
class VariableScope:
    """What `get_variable` does inside a `variable_scope` block."""

    name: str = ""
    reuse: Any = None
    initializer: Any = None
    dtype: DType = dtypes.f32
    use_resource: bool | None = None
    original_name_scope: str = ""

    def reuse_variables(self) -> None:
        """From now on, `get_variable` in this scope returns variables that exist."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        self.initializer = initializer


def get_variable_scope() -> VariableScope:
    """The innermost scope of this graph; the outermost has no name."""
    held = get_default_graph().get_collection_ref(_SCOPE)
    if not held:
        held.append(VariableScope())
    return held[-1]


@contextmanager
def variable_scope(
    name_or_scope: Any,
    default_name: str | None = None,
    values: Sequence[Any] | None = None,
    initializer: Any = None,
    reuse: Any = None,
    dtype: Any = None,
    use_resource: bool | None = None,
    auxiliary_name_scope: bool = True,
) -> Iterator[VariableScope]:
    """Prefixes the names of variables (and of operations) with a name, or reopens a scope that was
    captured.

    `reuse`: True to get variables that exist, `AUTO_REUSE` to make those that do not; inherited.
    Raises `TypeError` for what is no name or scope, `ValueError` for another `reuse`."""
    if name_or_scope is None and default_name is None:
        raise TypeError("If default_name is None then name_or_scope is required")
    if not isinstance(name_or_scope, VariableScope | str | None):
        raise TypeError("VariableScope: name_or_scope must be a string or VariableScope.")
    if reuse not in (True, False, None) and reuse is not AUTO_REUSE:
        raise ValueError("The reuse parameter must be True or False or None.")
    outer = get_variable_scope()
    graph = get_default_graph()
    if isinstance(name_or_scope, VariableScope):
        full, base = name_or_scope.name, name_or_scope
        shown = full.split("/")[-1]
    else:
        shown = name_or_scope if name_or_scope is not None else default_name or ""
        local = _unused(graph, outer.name, shown) if name_or_scope is None else shown
        full, base = _joined(outer.name, local), outer
    graph.get_collection_ref(_OPENED).append(full)
    held = graph.get_collection_ref(_SCOPE)
    opened = name_scope(shown) if auxiliary_name_scope and shown else _no_scope(graph)
    with opened as scope:
        made = VariableScope(
            full,
            reuse or base.reuse or outer.reuse,
            base.initializer if initializer is None else initializer,
            base.dtype if dtype is None else dtypes.as_dtype(dtype),
            base.use_resource if use_resource is None else use_resource,
            scope,
        )
        held.append(made)
        try:
            yield made
        finally:
            held.pop()


@contextmanager
def _no_scope(graph: Graph) -> Iterator[str]:
    scope = graph.get_name_scope()
    yield f"{scope}/" if scope else ""


def _joined(outer: str, name: str) -> str:
    return f"{outer}/{name}" if outer and name else outer or name


def _unused(graph: Graph, outer: str, name: str) -> str:
    opened = set(graph.get_collection(_OPENED))
    found, count = name, 0
    while _joined(outer, found) in opened:
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
) -> Variable:
    """The variable of this name in the current `variable_scope`: a new one, or one that exists.

    `initializer`: a value, or a function of a shape and a dtype. Raises `ValueError` where the
    variable exists and may not be shared, does not exist and must, or has another shape or dtype.
    """
    graph = get_default_graph()
    scope = get_variable_scope()
    full = _joined(scope.name, name)
    kind = scope.dtype if dtype is None else dtypes.as_dtype(dtype)
    made: list[dict[str, Variable]] = graph.get_collection_ref(_VARIABLES)
    if not made:
        made.append({})
    wanted = None if shape is None else TensorShape(shape)
    if full in made[0]:
        return _shared(made[0][full], full, wanted, kind, scope.reuse)
    if scope.reuse is True:
        raise ValueError(
            f"Variable {full} does not exist, or was not created with tf.get_variable(). Did you "
            "mean to set reuse=tf.AUTO_REUSE in VarScope?"
        )
    chosen = scope.initializer if initializer is None else initializer
    value, value_dtype = _initial_value(full, wanted, kind, chosen)
    with graph.name_scope(None):
        variable = Variable(
            value,
            trainable=trainable,
            collections=collections,
            validate_shape=validate_shape,
            name=full,
            dtype=value_dtype,
            constraint=constraint,
            use_resource=scope.use_resource if use_resource is None else use_resource,
        )
    made[0][full] = variable
    if regularizer is not None:
        with graph.colocate_with(variable.op), graph.name_scope(f"{full}/Regularizer/"):
            loss = regularizer(variable)
        if loss is not None:
            graph.add_to_collection("regularization_losses", loss)
    return variable


def _shared(
    found: Variable, name: str, shape: TensorShape | None, dtype: DType, reuse: Any
) -> Variable:
    if not reuse:
        raise ValueError(
            f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
            "reuse=tf.AUTO_REUSE in VarScope?"
        )
    if shape is not None and not shape.is_compatible_with(found.shape):
        raise ValueError(
            f"Trying to share variable {name}, but specified shape {shape} and found shape "
            f"{found.shape}."
        )
    if dtype is not found.dtype:
        raise ValueError(
            f"Trying to share variable {name}, but specified dtype {dtype.name} and found dtype "
            f"{found.dtype.name}."
        )
    return found


def _initial_value(
    name: str, shape: TensorShape | None, dtype: DType, initializer: Any
) -> tuple[Any, DType | None]:
    """(a value or a function that makes it, the dtype that it must have)"""
    if initializer is not None and not callable(initializer):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return initializer, None
    if initializer is None:
        if shape is None:
            raise ValueError(
                f"Variable {name} did not get an initializer, so its `shape` argument must be "
                "specified."
            )
        initializer = _default_initializer(name, dtype)
    if inspect.isclass(initializer):
        initializer = initializer()
    if shape is not None and shape.is_fully_defined():
        return lambda: initializer(shape.as_list(), dtype=dtype), dtype
    if shape is not None:
        raise ValueError(f"Variable {name}: the initializer needs a complete shape, found {shape}")
    return initializer, None


def _default_initializer(name: str, dtype: DType) -> Callable[..., Any]:
    if dtype.kind in ("float", "complex"):
        return GlorotUniform()
    if dtype.kind in ("int", "uint", "bool"):
        return Zeros()
    raise ValueError(f"An initializer for variable {name} of {dtype} is required.")
