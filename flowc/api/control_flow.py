"""`while_loop`, `cond`, `case` and `switch_case`.

In: Python functions that build a loop's condition and body, or a conditional's branches; each is
called once. Out: tensors behind nodes that are TensorFlow 1's, one for one. Invariant: what is made
inside a function belongs to its loop or branch; what was made before it is brought in.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api import nest
from flowc.api.arrays import stack
from flowc.api.basics import cast, constant
from flowc.api.conversion import as_tensor
from flowc.api.elementwise import equal, less_equal, logical_and
from flowc.api.reductions import reduce_sum
from flowc.api.scopes import name_scope, with_dependencies
from flowc.api.tensor_array import TensorArray
from flowc.graph import Operation, Tensor, TensorShape, control_nodes, get_default_graph
from flowc.graph.contexts import CondContext, WhileContext, at_least_as_specific


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: Any,
    shape_invariants: Any = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    name: str | None = None,
    maximum_iterations: Any = None,
    return_same_structure: bool = False,
) -> Any:
    """Repeats `body` of the loop variables while `cond` of them holds; gives their last values.

    `loop_vars`: a list or tuple of tensors, TensorArrays, or nested structures of them; `cond` and
    `body` take one argument each of its items. `shape_invariants`: the same structure of
    `TensorShape`s, for variables whose shape changes. One variable alone is returned bare, unless
    `return_same_structure`. Raises `TypeError` and `ValueError` for functions, structures, dtypes
    and shapes that do not fit.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not isinstance(parallel_iterations, int) or parallel_iterations < 1:
        raise TypeError("'parallel_iterations' must be a positive integer.")
    with name_scope(name, "while", nest.flatten(loop_vars, expand=True)):
        if not loop_vars:
            raise ValueError("'loop_vars' must be provided.")
        limit = None
        if maximum_iterations is not None:
            limit = as_tensor(maximum_iterations, name="maximum_iterations")
            bare = len(loop_vars) == 1 and not return_same_structure
            cond, body, loop_vars = _limited(cond, body, loop_vars, limit, bare)
            if shape_invariants is not None:
                invariant = shape_invariants[0] if bare else shape_invariants
                shape_invariants = (TensorShape([]), invariant)
        graph = get_default_graph()
        context = WhileContext(graph, parallel_iterations, back_prop, swap_memory, limit)
        if context.outer_context is None:
            graph.add_to_collection("while_context", context)
        loop = _Loop(context, loop_vars, shape_invariants)
        with context.entered():
            result, exits = loop.build(cond, body)
        packed = _with_flows(result, exits)
        if limit is not None:
            return packed[1]
        if return_same_structure or len(exits) > 1:
            return packed
        return packed[0]


def _limited(
    cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, limit: Tensor, bare: bool
) -> tuple[Callable[..., Any], Callable[..., Any], Any]:
    """The same loop with a counter of its iterations before the loop variables."""
    if limit.shape.ndims != 0:
        raise ValueError(f"'maximum_iterations' must be a scalar. Received shape: {limit.shape}")
    counter = constant(0, limit.dtype, name="iteration_counter")
    if bare:
        return (
            lambda i, value: logical_and(i < limit, cond(value)),
            lambda i, value: (i + 1, body(value)),
            (counter, loop_vars[0]),
        )
    return (
        lambda i, values: logical_and(i < limit, cond(*values)),
        lambda i, values: (i + 1, body(*values)),
        (counter, loop_vars),
    )


class _Loop:
    """A loop that is being built. `leaves`: what the caller's loop variables are made of; `given`:
    the tensors behind them; `invariants`: the static shapes that these keep."""

    def __init__(self, context: WhileContext, loop_vars: Any, shape_invariants: Any) -> None:
        self.context = context
        self.structure = nest.map_structure(_loop_variable, loop_vars)
        self.leaves = nest.flatten(self.structure, expand=True)
        self.given = [_flow_or_tensor(leaf) for leaf in self.leaves]
        if shape_invariants is None:
            stated = nest.map_structure(lambda v: _invariant(v, None), self.structure)
        else:
            stated = nest.map_structure(_invariant, self.structure, shape_invariants)
        self.invariants = [s for shapes in nest.flatten(stated) for s in shapes.shapes]

    def build(self, cond: Callable[..., Any], body: Callable[..., Any]) -> tuple[Any, list[Tensor]]:
        """(what the body returned, the variables after the loop)"""
        context = self.context
        entered = context.enter_variables(self.given, self.invariants)
        merged = [control_nodes.merge([x, x]) for x in entered]
        context.pivot_for_pred = merged[0]
        condition = as_tensor(cond(*self._packed(merged)))
        pivot = context.pivot = control_nodes.loop_cond(condition)
        switched = [control_nodes.switch_beside(x, pivot) for x in merged]
        inside = [control_nodes.identity(taken) for _, taken in switched]
        context.pivot_for_body = inside[0]
        arguments = self._packed(inside)
        result = body(*arguments)
        if not nest.is_nested(result):
            result = [result]
        nest.assert_same_structure(list(arguments), list(result), expand=True)
        flat = [_flow_or_tensor(leaf) for leaf in nest.flatten(result, expand=True)]
        for variable, value in zip(merged, flat, strict=True):
            _close_loop(variable, value)
        context.loop_exits = [control_nodes.exit(left) for left, _ in switched]
        context.leave_with(context.loop_exits)
        return result, context.loop_exits

    def _packed(self, tensors: Sequence[Tensor]) -> Any:
        values = [_like(leaf, t) for leaf, t in zip(self.leaves, tensors, strict=True)]
        return nest.pack_sequence_as(self.structure, values, expand=True)


class _Shapes:
    """The invariants of the tensors that one leaf is made of."""

    def __init__(self, shapes: Sequence[TensorShape]) -> None:
        self.shapes = list(shapes)


def _loop_variable(value: Any) -> Any:
    if isinstance(value, TensorArray | nest.Composite):
        return value
    return as_tensor(value)


def _flow_or_tensor(value: Any) -> Tensor:
    return value.flow if isinstance(value, TensorArray) else as_tensor(value)


def _like(leaf: Any, tensor: Tensor) -> Any:
    return leaf.with_flow(tensor) if isinstance(leaf, TensorArray) else tensor


def _with_flows(structure: Any, tensors: Sequence[Tensor]) -> Any:
    """`structure` of other tensors; where it has TensorArrays, the tensors are their flows."""
    leaves = nest.flatten(structure, expand=True)
    values = [_like(leaf, t) for leaf, t in zip(leaves, tensors, strict=True)]
    return nest.pack_sequence_as(structure, values, expand=True)


def _invariant(value: Any, shape: Any) -> _Shapes:
    if shape is not None and not isinstance(shape, TensorShape):
        raise TypeError(
            f"'shape' must be one of TypeSpec, TensorShape or None. Received: {type(shape)}"
        )
    if isinstance(value, nest.Composite):
        return _Shapes(value.component_invariants(shape))
    return _Shapes([_flow_or_tensor(value).shape if shape is None else shape])


def _close_loop(merged: Tensor, value: Tensor) -> None:
    """Makes `value` what a loop variable is in the next iteration."""
    entered = merged.op.inputs[0].op.inputs[0]
    if value.dtype is not merged.dtype:
        before, after = ("unknown" if t.dtype is None else t.dtype.name for t in (merged, value))
        raise TypeError(
            f"Input tensor '{entered.name}' enters the loop with dtype {before}, but has dtype "
            f"{after} after one iteration ('{value.name}')."
        )
    following = control_nodes.next_iteration(value)
    if not at_least_as_specific(following.shape, merged.shape):
        raise ValueError(
            f"Input tensor '{entered.name}' enters the loop with shape {entered.shape}, but has "
            f"shape {following.shape} after one iteration. To allow the shape to vary across "
            "iterations, use the `shape_invariants` argument of tf.while_loop to specify a "
            "less-specific shape."
        )
    merged.op.update_input(1, following)


def cond(
    pred: Any,
    true_fn: Callable[[], Any] | None = None,
    false_fn: Callable[[], Any] | None = None,
    strict: bool = False,
    name: str | None = None,
    fn1: Callable[[], Any] | None = None,
    fn2: Callable[[], Any] | None = None,
) -> Any:
    """What `true_fn` returns where `pred` holds, else what `false_fn` returns.

    Only what a function makes is conditional: tensors made before it are computed in any case. Both
    return the same structure of tensors (or operations) of the same dtypes. A list of one is
    returned bare unless `strict`. Raises `TypeError` and `ValueError` for what does not fit.
    """
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
        for x, y in zip(given_true, given_false, strict=True):
            if x.dtype is not y.dtype:
                names = ["unknown" if t.dtype is None else t.dtype.name for t in (x, y)]
                raise ValueError(
                    "Outputs of 'true_fn' and 'false_fn' must have the same type(s). Received "
                    f"{names[0]} from 'true_fn' and {names[1]} from 'false_fn'."
                )
        merged = [control_nodes.merge([y, x]) for x, y in zip(given_true, given_false)]
        result = _with_flows(taken, merged)
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
    found = control_nodes.identity(as_tensor(pred, name="input"), name="pred_id")
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
    return context.result(_flow_or_tensor(value))


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


def case(
    pred_fn_pairs: Any,
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function beside the first predicate that holds returns, else what `default` does.

    Without a default, one predicate must hold; with `exclusive`, at most one may: a run that finds
    it otherwise raises `InvalidArgumentError`. Raises `TypeError` for bad pairs.
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
        if predicate.dtype is not dtypes.bool_:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(action):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    if not pairs:
        raise ValueError("'pred_fn_pairs' must have at least one pair.")
    return [p for p, _ in pairs], [f for _, f in pairs]


def _last_as_default(
    predicates: list[Tensor], actions: list[Callable[[], Any]]
) -> tuple[Callable[[], Any], list[Tensor], list[Callable[[], Any]]]:
    from flowc.api.checks import Assert

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
    from flowc.api.checks import Assert

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
