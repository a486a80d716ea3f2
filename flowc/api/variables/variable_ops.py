"""Functions of variables: assignments, changes of rows, collections, initialisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.selection import gather, setdiff1d
from flowc.api.arrays.shaping import stack
from flowc.api.framework.basics import constant
from flowc.api.framework.raw_ops import named, snake_case
from flowc.api.framework.scopes import group, name_scope, no_op
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.resource_variables import ResourceVariable
from flowc.api.variables.saved_collections import variables_of
from flowc.api.variables.variable_nodes import assign_to, scatter_to
from flowc.api.variables.variables import GLOBAL, LOCAL, TRAINABLE, Variable
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.creation import output
from flowc.graph.building.subscripts import boolean_mask
from flowc.graph.indexed_slices import IndexedSlices


def assign(
    ref: Any,
    value: Any,
    validate_shape: bool = True,
    use_locking: bool = True,
    name: str | None = None,
) -> Any:
    """Gives a variable another value, of its dtype. Returns the variable's new value. Raises
    `AttributeError` for what is no variable, `TypeError` for another dtype, `ValueError` for
    another shape, unless `validate_shape` is False."""
    if isinstance(ref, ResourceVariable):
        return ref.assign(value, name=name)
    return assign_to(reference_of(ref), value, use_locking, name, validate_shape)


def assign_add(ref: Any, value: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Adds `value` to a variable of its dtype and shape. Returns the variable's new value. Raises
    `AttributeError` for what is no variable, `TypeError` for another dtype, `ValueError` for
    another shape."""
    if isinstance(ref, ResourceVariable):
        return ref.assign_add(value)
    return output("AssignAdd", reference_of(ref), value, name=name, use_locking=use_locking)


def assign_sub(ref: Any, value: Any, use_locking: bool = False, name: str | None = None) -> Any:
    """Subtracts `value` from a variable of its dtype and shape. Returns the variable's new value.
    Raises as `assign_add`."""
    if isinstance(ref, ResourceVariable):
        return ref.assign_sub(value)
    return output("AssignSub", reference_of(ref), value, name=name, use_locking=use_locking)


def _scatter(kind: str, locks: bool) -> Callable[..., Any]:
    def function(
        ref: Any, indices: Any, updates: Any, use_locking: bool = locks, name: str | None = None
    ) -> Any:
        if isinstance(ref, Variable):
            return ref.scatter(kind, indices, updates, use_locking, name)
        return scatter_to(reference_of(ref), kind, indices, updates, use_locking, name)

    doc = (
        f"TensorFlow's `Scatter{kind}`: changes the rows of a variable at `indices` (int32 or "
        "int64) by `updates` of its dtype, a row for each index. Returns the variable's new "
        "value. Raises `AttributeError` for what is no variable, `ValueError` for updates of "
        "another shape; a run raises `InvalidArgumentError` for an index out of range."
    )
    return named(function, f"scatter_{snake_case(kind)}", doc)


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


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """`a` without the rows at `mask_indices`, a vector of integers. `a`: `IndexedSlices`, which the
    result is, too. Raises `AttributeError` for anything else."""
    with name_scope(name, "sparse_mask", [a.values, mask_indices]) as scope:
        rows, places = setdiff1d(a.indices, mask_indices)
        values = gather(a.values, places, name=scope)
        return IndexedSlices(values, rows, a.dense_shape)


def is_variable_initialized(ref: Any) -> Tensor:
    """A bool scalar: whether a variable has a value yet. Raises `AttributeError` for what is no
    variable."""
    if isinstance(ref, Variable):
        return ref._has_value()
    return output("IsVariableInitialized", reference_of(ref))


def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """The value of an integer variable before it grows by one; a run raises `OutOfRangeError` where
    it is at the limit. Raises `AttributeError` for what is no variable."""
    if isinstance(ref, ResourceVariable):
        return ref.count_up_to(limit)
    return output("CountUpTo", reference_of(ref), limit=limit, name=name)


def global_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the default graph's collection `GLOBAL_VARIABLES`, where they are unless
    made local, in the order of their making; with `scope`, a regular expression, those whose name
    it matches from the start. Raises nothing."""
    return variables_of(get_default_graph(), GLOBAL, scope)


def local_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the collection `LOCAL_VARIABLES`, such as metrics' counters; `scope` as for
    `global_variables`. A list. Raises nothing."""
    return variables_of(get_default_graph(), LOCAL, scope)


def trainable_variables(scope: str | None = None) -> list[Variable]:
    """The variables that optimizers change, those made with `trainable=True`; `scope` as for
    `global_variables`. A list. Raises nothing."""
    return variables_of(get_default_graph(), TRAINABLE, scope)


def model_variables(scope: str | None = None) -> list[Variable]:
    """The variables in the collection `MODEL_VARIABLES`; `scope` as for `global_variables`. A list.
    Raises nothing."""
    return variables_of(get_default_graph(), GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Variable]:
    """The variables of which an `ExponentialMovingAverage` keeps averages; `scope` as for
    `global_variables`. A list. Raises nothing."""
    return variables_of(get_default_graph(), GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """An operation that gives the variables their initial values; one that does nothing where there
    are none. Raises nothing for a list of variables."""
    if not var_list:
        return no_op(name)
    return group(*[v.initializer for v in var_list], name=name)


def global_variables_initializer() -> Operation:
    """An operation that gives the global variables made so far their initial values. An
    `Operation`. Raises nothing."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """An operation that gives the local variables made so far their initial values. An `Operation`.
    Raises nothing."""
    return variables_initializer(local_variables())


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Tensor | None:
    """A tensor whose run raises `FailedPreconditionError` where a variable has no value yet; None
    where there are no variables. An empty list stands for all of them."""
    chosen = _chosen(var_list or None)
    if not chosen:
        return None
    ranks = []
    for variable in chosen:
        with get_default_graph().colocate_with(variable.op):
            ranks.append(output("Rank", variable))
    return ranks[0] if len(ranks) == 1 else stack(ranks)


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """The names of the variables (global and local ones, if None) that have no value yet: a vector
    of strings. Raises nothing."""
    chosen = _chosen(var_list)
    graph = get_default_graph()
    with name_scope(name), graph.device("/cpu:0"):
        if not chosen:
            return constant([], dtypes.string)
        missing = output("LogicalNot", stack([is_variable_initialized(v) for v in chosen]))
        names = constant(np.array([v.op.name for v in chosen], dtype=object))
        return boolean_mask(names, missing)


def _chosen(var_list: Sequence[Variable] | None) -> list[Variable]:
    return [*global_variables(), *local_variables()] if var_list is None else list(var_list)


def reference_of(ref: Any) -> Tensor:
    """Raises `AttributeError` for what is no variable: TensorFlow asks it for a variable's."""
    found = ref._ref() if isinstance(ref, Variable) else ref
    if not isinstance(found, Tensor) or not found.is_ref:
        kind = type(ref).__name__
        raise AttributeError(
            f"'{kind}' object has no attribute 'assign': only variables can be assigned to, which "
            f"{ref!r} is not"
        )
    return found
