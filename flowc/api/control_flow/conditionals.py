"""`cond`.

In: Python functions that build a conditional's branches; each is called once. Out: tensors behind
nodes that are TensorFlow 1's, one for one. Invariant: what is made inside a function belongs to its
branch; what was made before it is brought in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.control_flow.tensor_array import flow_or_tensor, with_flows
from flowc.api.framework import nest
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building import control_nodes
from flowc.graph.building.contexts import CondContext
from flowc.graph.building.conversion import as_tensor
from flowc.graph.indexed_slices import IndexedSlices


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What `true_fn` returns where `pred`, a bool scalar, holds, else what `false_fn` returns.

    Only what a function makes is conditional: tensors made before it are computed in any case. Both
    return the same structure of tensors (or operations) of the same dtypes. A list of one is
    returned bare unless `strict`. Raises `TypeError` and `ValueError` for what does not fit."""
    true_fn = _branch_function(true_fn, fn1, "true_fn", "fn1")
    false_fn = _branch_function(false_fn, fn2, "false_fn", "fn2")
    with name_scope(name, "cond", [pred]):
        if isinstance(pred, bool):
            raise TypeError("'pred' must not be a Python bool.")
        pred, when_true, when_false = _predicate(pred)
        taken, given_true = _branch(CondContext(pred, when_true, 1), true_fn, "true_fn")
        other, given_false = _branch(CondContext(pred, when_false, 0), false_fn, "false_fn")
        if not strict:
            taken, other = _without_list_of_one(taken), _without_list_of_one(other)
        _check_same_results(taken, other)
        if not given_true:
            raise ValueError("'true_fn' and 'false_fn' must return at least one result.")
        _widen_rows_of_slices(taken, other, (given_true, given_false))
        for x, y in zip(given_true, given_false, strict=True):
            if x.base_dtype is not y.base_dtype:
                raise ValueError(
                    "Outputs of 'true_fn' and 'false_fn' must have the same type(s). Received "
                    f"{dtypes.name_of(x.dtype)} from 'true_fn' and {dtypes.name_of(y.dtype)} from "
                    "'false_fn'."
                )
        merged = [control_nodes.merge([y, x]) for x, y in zip(given_true, given_false)]
        result = with_flows(taken, merged)
        return result if strict else _without_list_of_one(result)


def _branch_function(
    given: Callable[[], Any] | None, older: Callable[[], Any] | None, name: str, older_name: str
) -> Callable[[], Any]:
    if older is not None and given is not None:
        raise TypeError(f"cond(): '{name}' and '{older_name}' may not be set simultaneously.")
    found = older if given is None else given
    if found is None:
        raise TypeError(f"cond(): '{name}' argument required")
    if not callable(found):
        raise TypeError(f"'{name}' must be callable.")
    return found


def _predicate(pred: Any) -> tuple[Tensor, Tensor, Tensor]:
    """(the predicate, a tensor that is alive where it holds, one that is where it does not)"""
    graph = get_default_graph()
    with graph.name_scope("Switch") as scope:
        data = as_tensor(pred, name="data")
        no, yes = control_nodes.switch(data, as_tensor(pred, name="pred"), scope)
    when_true = control_nodes.identity(yes, name="switch_t")
    when_false = control_nodes.identity(no, name="switch_f")
    with graph.name_scope("pred_id") as scope:
        given = as_tensor(pred, name="input")
    found = control_nodes.identity(given, name=scope)
    for tensor in (yes, when_true, when_false, found):
        graph.prevent_fetching(tensor.op)
    return found, when_true, when_false


def _branch(
    context: CondContext, function: Callable[[], Any], name: str
) -> tuple[Any, list[Tensor]]:
    """(what the function returned, the tensors of the branch behind it)"""
    with context.entered():
        returned = function()
        if returned is None:
            raise ValueError(f"'{name}' must have a return value.")
        given = [_branch_result(context, leaf) for leaf in nest.flatten(returned, expand=True)]
        context.leave_with(given)
    if context.outer_context is None:
        context.graph.add_to_collection("cond_context", context)
    return returned, given


def _branch_result(context: CondContext, value: Any) -> Tensor:
    if isinstance(value, Operation):
        return with_dependencies([value], context.pivot)
    return context.result(flow_or_tensor(value))


def _without_list_of_one(result: Any) -> Any:
    return result[0] if isinstance(result, list | tuple) and len(result) == 1 else result


def _check_same_results(taken: Any, other: Any) -> None:
    try:
        nest.assert_same_structure(taken, other, expand=True)
    except TypeError as error:
        raise TypeError(f"Incompatible return types of 'true_fn' and 'false_fn': {error}") from None
    except ValueError as error:
        raise ValueError(
            f"Incompatible return values of 'true_fn' and 'false_fn': {error}"
        ) from None


def _widen_rows_of_slices(taken: Any, other: Any, given: tuple[list[Tensor], ...]) -> None:
    """Casts the indices of IndexedSlices to i64 where they are so in one branch only."""
    at = 0
    for x, y in zip(nest.flatten(taken), nest.flatten(other), strict=True):
        if isinstance(x, IndexedSlices) and isinstance(y, IndexedSlices):
            rows = [tensors[at + 1] for tensors in given]
            if rows[0].base_dtype is not rows[1].base_dtype:
                for tensors, found in zip(given, rows):
                    tensors[at + 1] = cast(found, dtypes.i64)
        at += len(nest.flatten(x, expand=True))
