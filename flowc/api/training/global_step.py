"""The global step: one integer variable a graph, in the collection `global_step`, that optimizers
count up.

In: a graph (default: the default graph). Out: the variable or tensor, and its value in a session.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.training.slots import base_dtype
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.initializers import zeros_initializer
from flowc.api.variables.variable_scope import get_variable
from flowc.api.variables.variables import Variable
from flowc.graph import Graph, Tensor, get_default_graph

_READ = ("flowc", "read of the global step")


def global_step(sess: Any, global_step_tensor: Any) -> int:
    """The step's value in a session. An int. Raises `FailedPreconditionError` where it has no value
    yet."""
    return int(sess.run(global_step_tensor))


def get_global_step(graph: Graph | None = None) -> Any:
    """The variable or tensor that counts steps, None where there is none. Raises `TypeError` for
    one that is no integer scalar."""
    graph = get_default_graph() if graph is None else graph
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(found) > 1:
        return None
    if not found and GraphKeys.GLOBAL_STEP not in graph:
        return None
    step = found[0] if found else graph.get_tensor_by_name(f"{GraphKeys.GLOBAL_STEP}:0")
    assert_global_step(step)
    return step


def create_global_step(graph: Graph | None = None) -> Variable:
    """A new step, an i64 scalar that starts at 0. Raises `ValueError` where the graph has one."""
    graph = get_default_graph() if graph is None else graph
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.i64,
            initializer=zeros_initializer(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
        )


def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """The graph's step; a new one where it has none. Raises `TypeError` where what stands there is
    no integer scalar."""
    found = get_global_step(graph)
    return create_global_step(graph) if found is None else found


def assert_global_step(global_step_tensor: Any) -> None:
    """Raises `TypeError` for what is no variable or tensor of one integer."""
    step = global_step_tensor
    if not isinstance(step, Variable | Tensor):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {step}.')
    if not base_dtype(step).is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {step.dtype!s}')
    if step.shape.ndims != 0 and step.shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {step.shape}')


def read_of_global_step(graph: Graph) -> Tensor | None:
    """The step's value as a tensor, also before the variable has one; the same tensor each time.
    None where the graph has no step."""
    held = graph.get_collection_ref(_READ)
    if not held:
        step = get_global_step(graph)
        if step is None:
            return None
        with graph.as_default(), graph.name_scope(None), graph.name_scope(f"{step.op.name}/"):
            value = step.initialized_value() if isinstance(step, Variable) else step
            held.append(value + 0)
    return held[0]
