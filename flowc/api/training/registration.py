"""The gradients that a program registers, and `custom_gradient`.

In: functions of an operation and the gradients of its outputs; functions that compute and say what
their gradient is. Out: what `gradients` calls. Invariant: an op type has one gradient for the whole
process, as in TensorFlow, and keeps it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar, cast

from flowc.api.framework import nest
from flowc.api.framework.basics import identity_n
from flowc.api.training.tensor_array_gradients import TENSOR_ARRAY_GRADIENTS
from flowc.api.variables.scope_state import get_variable_scope
from flowc.api.variables.variables import GLOBAL, Variable
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.graph.gradients.functions import function_gradients
from flowc.graph.gradients.registry import GradientRegistry

GRADIENTS = GradientRegistry({**TENSOR_ARRAY_GRADIENTS, **function_gradients(lambda: GRADIENTS)})

_Function = TypeVar("_Function", bound=Callable[..., Any])


class RegisterGradient:
    """A decorator for the gradient of an op type, or under a name for `gradient_override_map`.

    The function takes the operation and the gradient of each of its outputs, and gives that of each
    of its inputs: a tensor, `IndexedSlices` or None. Raises `TypeError` for a name that is no
    string, `KeyError` where the name has a gradient."""

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string")
        self._op_type = op_type

    def __call__(self, f: _Function) -> _Function:
        GRADIENTS.add(self._op_type, f)
        return f


def no_gradient(op_type: str) -> None:
    """Says that nothing flows back through operations of a type. Raises as `RegisterGradient`."""
    GRADIENTS.add(op_type, None)


def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A decorator for functions that say what their gradient is.

    `f` takes tensors and gives (its results, a function of the gradients of its results, which
    gives those of its arguments). Where it reads variables, that function takes them as
    `variables` and gives (the gradients of the arguments, a list of those of the variables). Raises
    `TypeError` where it does not take them and where `f` makes reference variables, `ValueError`
    for another number of gradients.
    """
    if f is None:
        return custom_gradient

    @functools.wraps(f)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        if kwargs:
            raise ValueError(
                "The custom_gradient decorator currently supports keywords arguments only when "
                "eager execution is enabled."
            )
        given = nest.map_structure(as_tensor, list(args))
        scope = get_variable_scope()
        before = {id(v) for v in [*scope.global_variables(), *scope.local_variables()]}
        result, gradient = f(*given)
        made = [*scope.global_variables(), *scope.local_variables()]
        if any(id(v) not in before and v.op.type != "VarHandleOp" for v in made):
            raise TypeError(
                "All variables used by a function wrapped with @custom_gradient must be "
                "`ResourceVariable`s. Ensure that no `variable_scope` is created with "
                "`use_resource=False`."
            )
        inputs = nest.flatten(given)
        results = [as_tensor(r) for r in nest.flatten(result)]
        variables = _variables_between(inputs, results)
        parameters = inspect.signature(gradient).parameters
        takes_rest = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        if variables and "variables" not in parameters and not takes_rest:
            raise TypeError(
                "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since "
                f"function uses variables: {variables}"
            )

        def back(_: Operation, *dys: Any) -> list[Any]:
            of_variables: Sequence[Any] = ()
            flowing = dys[: len(results)]
            if variables:
                of_inputs, of_variables = gradient(*flowing, variables=variables)
                if len(of_variables) != len(variables):
                    raise ValueError(
                        "Must return gradient for each variable from @custom_gradient grad_fn."
                    )
            else:
                of_inputs = gradient(*flowing)
            return [None] * len(results) + nest.flatten(of_inputs) + list(of_variables)

        name = GRADIENTS.add_custom(back)
        with get_default_graph().gradient_override_map({"IdentityN": name}):
            outputs = identity_n([*results, *inputs, *variables])
        return nest.pack_sequence_as(result, outputs[: len(results)])

    return decorated


def recompute_grad(f: _Function) -> _Function:
    """A decorator for functions whose values may be computed again for their gradient. flowc keeps
    them: its results are those of `f`, and so are its gradients. Raises nothing."""

    @functools.wraps(f)
    def kept(*args: Any, **kwargs: Any) -> Any:
        return f(*args, **kwargs)

    return cast(_Function, kept)


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f`, whose gradient is that of the identity: what flows to its results flows on to its
    arguments, as many tensors. Variables that it reads get none. Raises nothing."""

    @functools.wraps(f)
    def passing(*args: Any) -> Any:
        def back(*dys: Any, variables: Sequence[Variable] | None = None) -> Any:
            return dys if variables is None else (dys, [None] * len(variables))

        return f(*args), back

    return custom_gradient(passing)


def _variables_between(inputs: Sequence[Tensor], results: Sequence[Tensor]) -> list[Variable]:
    """The trainable variables that results are computed from, other than through the inputs."""
    seen = set(_behind(inputs, results))
    variables = get_default_graph().get_collection(GLOBAL)
    found = [v for v in variables if isinstance(v, Variable) and v.trainable and v.op in seen]
    return sorted(found, key=lambda v: v.name)


def _behind(inputs: Sequence[Tensor], results: Sequence[Tensor]) -> Iterator[Operation]:
    ends = {id(t) for t in inputs}
    seen: set[Operation] = set()
    stack = list(results)
    while stack:
        tensor = stack.pop()
        if id(tensor) not in ends and tensor.op not in seen:
            seen.add(tensor.op)
            stack.extend(tensor.op.inputs)
            yield tensor.op
