"""`case` and `switch_case`: one of several functions, as conditionals inside each other.

In: predicates with functions, or functions by number. Out: what the function that runs returns.
Invariant: the nodes are TensorFlow 1's, one for one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api.arrays.shaping import stack
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast, constant
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import equal, less_equal
from flowc.api.math.reductions import reduce_sum
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function beside the first predicate that holds returns, else what `default` does.

    Without a default, one predicate must hold; with `exclusive`, at most one may: a run that finds
    it otherwise raises `InvalidArgumentError`. Raises `TypeError` for bad pairs. Predicates are
    bool scalars, what functions return tensors of one dtype.
    """
    predicates, actions = _checked_pairs(pred_fn_pairs)
    with name_scope(name, "case", predicates):
        if default is None:
            default, predicates, actions = _last_as_default(predicates, actions)
        function = default
        for predicate, action in reversed(list(zip(predicates, actions, strict=True))):
            function = partial(cond, predicate, action, function, strict=strict)
        if not exclusive:
            return function()
        with get_default_graph().control_dependencies(
            [_assert_at_most(predicates, 1, "Input error: exclusive=True")]
        ):
            return function()


def _checked_pairs(pairs: Any) -> tuple[list[Tensor], list[Callable[[], Any]]]:
    if not isinstance(pairs, list | tuple | dict):
        raise TypeError(f"'pred_fn_pairs' must be a list, tuple, or dict. Received: {type(pairs)}")
    if isinstance(pairs, OrderedDict):
        pairs = list(pairs.items())
    elif isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda item: item[0].name)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'pred_fn_pairs' must be a 2-tuple. Received {pair}.")
        predicate, action = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.base_dtype is not dtypes.bool_:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(action):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    if not pairs:
        raise ValueError("'pred_fn_pairs' must have at least one pair.")
    return [p for p, _ in pairs], [f for _, f in pairs]


def _last_as_default(
    predicates: list[Tensor], actions: list[Callable[[], Any]]
) -> tuple[Callable[[], Any], list[Tensor], list[Callable[[], Any]]]:
    *others, last = predicates
    *other_actions, action = actions

    def default() -> Any:
        several = (
            f"Implementation error: selected default action #{len(others)} was called, but some of "
            "other predicates are True: "
        )
        none = (
            "Input error: None of conditions evaluated as True:",
            stack(predicates, name="preds_c"),
        )
        checks = [_assert_at_most(others, 0, several), Assert(last, none)]
        with get_default_graph().control_dependencies(checks):
            return action()

    return default, others, other_actions


def _assert_at_most(predicates: Sequence[Tensor], count: int, message: str) -> Operation:
    stacked = stack(predicates, name="preds_c")
    found = reduce_sum(cast(stacked, dtypes.i32), name="num_true_conds")
    condition = less_equal(found, constant(count, name="n_true_conds"))
    names = ", ".join(p.name for p in predicates)
    text = f"{message}: more than {count} conditions ({names}) evaluated as True:"
    return Assert(condition, [text, stacked], summarize=len(predicates))


def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """What function number `branch_index` returns; for a number outside, what `default` returns,
    or the last function where there is no default.

    Written as conditionals, one inside the other. Raises `TypeError` and `ValueError` for what does
    not fit."""
    if not (isinstance(branch_index, Tensor) or hasattr(branch_index, "_as_tensor")):
        raise TypeError(f"'branch_index' must be a Tensor, got {type(branch_index)}")
    index = as_tensor(branch_index, name="branch_index")
    if index.dtype is None or index.dtype.kind not in ("int", "uint"):
        raise TypeError(f"'branch_index' must be an integer Tensor, got {index.dtype}")
    functions = _numbered(branch_fns)
    if default is not None:
        functions.append(default)
    with name_scope(name, "switch_case", [index]):
        function = functions[-1]
        for number, action in reversed(list(enumerate(functions[:-1]))):
            function = partial(_cond_on_number, index, number, action, function)
        return function()


def _cond_on_number(
    index: Tensor, number: int, action: Callable[[], Any], otherwise: Callable[[], Any]
) -> Any:
    return cond(equal(index, number), action, otherwise)


def _numbered(branch_fns: Any) -> list[Callable[[], Any]]:
    if not isinstance(branch_fns, list | tuple | dict):
        raise TypeError("'branch_fns' must be a list, tuple, or dict")
    if not branch_fns:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    pairs: list[Any] = list(branch_fns.items() if isinstance(branch_fns, Mapping) else branch_fns)
    if all(callable(f) for f in pairs):
        pairs = list(enumerate(pairs))
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in 'branch_fns' must be a 2-tuple. Received {pair}.")
        key, function = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(function):
            raise TypeError(f"fn for key {key} must be callable.")
    keys = sorted(key for key, _ in pairs)
    if keys != list(range(len(keys))):
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(keys)}) but found "
            f"{{{','.join(map(str, keys))}}}"
        )
    return [f for _, f in sorted(pairs, key=lambda pair: pair[0])]
