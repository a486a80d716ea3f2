"""`tf.py_func`, `tf.numpy_function`, `tf.py_function`: functions of Python in a graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowc import dtypes
from flowc.api.framework.scopes import name_scope
from flowc.dtypes import DType
from flowc.graph import Operation, Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor
from flowc.ops.control.python_functions import register


def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor | list[Tensor] | Operation:
    """What `func` returns for the arrays of `inp`: a tensor where `Tout` is a dtype, a list of them
    where it is a list; the operation where that is empty.

    Static shapes are unknown: `set_shape` tells them. `stateful`: whether calls with equal inputs
    may give different values, or have effects; else a run may leave calls out. The function must be
    in the process that runs the graph. A run raises what `func` does, in TensorFlow's classes
    (`InvalidArgumentError` for a `TypeError` or `ValueError`, `UnimplementedError` for a
    `NotImplementedError`, mostly `UnknownError`), and `InvalidArgumentError` for arrays of another
    dtype.
    """
    return _call("PyFunc" if stateful else "PyFuncStateless", func, inp, Tout, name)


def py_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    name: str | None = None,
) -> Tensor | list[Tensor] | Operation:
    """`py_func` whose function gets arrays that have `numpy()`, and returns numbers or arrays,
    which become those of the dtypes where these hold what they are.

    The function computes with NumPy: operations that it makes are none of the graph, and nothing
    flows back through it. A run raises what `func` does, in TensorFlow's classes, and
    `InvalidArgumentError` for what is of no such dtype.
    """
    return _call("EagerPyFunc", func, inp, Tout, name)


def _call(
    op_type: str, func: Callable[..., Any], inp: Sequence[Any], Tout: Any, name: str | None
) -> Tensor | list[Tensor] | Operation:
    if not callable(func):
        found = f"Received func={func} of type {type(func)}."
        raise ValueError(f"Expected func to be callable. {found}")
    several = isinstance(Tout, list | tuple)
    declared: list[DType] = [dtypes.as_dtype(t) for t in (Tout if several else [Tout])]
    graph = get_default_graph()
    kept = register(func)
    graph.host_functions.append(kept)
    with name_scope(name, op_type, list(inp)) as scope:
        inputs = [as_tensor(value, None, f"input_{i}") for i, value in enumerate(inp)]
        attrs: dict[str, Any] = {
            "token": kept.token.encode(),
            "Tin": tuple(t.base_dtype for t in inputs),
            "Tout": tuple(declared),
        }
        if op_type == "EagerPyFunc":
            attrs["is_async"] = False
        types = [(t, None) for t in declared]
        op = graph.add_operation(op_type, inputs, attrs, scope, output_types=types)
    if not declared:
        return op
    return list(op.outputs) if several else op.outputs[0]


def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: Any,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor | list[Tensor] | Operation:
    """`py_func`, under its newer name. Arguments and errors as it has."""
    return py_func(func, inp, Tout, stateful, name)
