"""What metrics have in common: local variables that grow, and weights that fit.

In: values of a batch. Out: (what the variables say, the same after this batch). Invariant: the
variables are local ones, of the collection `metric_variables` too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros
from flowc.api.arrays.shaping import expand_dims, squeeze
from flowc.api.arrays.shaping import rank as rank_of
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast
from flowc.api.losses.weighting import assert_broadcastable
from flowc.api.math.elementwise import div_no_nan, equal, maximum, subtract
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor

Measured = tuple[Tensor, Tensor]  # the value, and the operation that updates it


def metric_variable(shape: Any, dtype: DType, name: str) -> Variable:
    """A variable of zeros that a metric sums up in."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
    )


def in_collections(measured: Measured, values: Any, updates: Any) -> Measured:
    """The metric itself, its value and its update added to the collections that are named."""
    graph = get_default_graph()
    for collections, tensor in zip((values, updates), measured, strict=True):
        if collections:
            graph.add_to_collections(collections, tensor)
    return measured


def ratio(count: Any, total: Any, name: str) -> Tensor:
    """`count / total`, 0 where there is nothing."""
    return div_no_nan(count, maximum(total, 0), name=name)


def alike(
    predictions: Tensor, labels: Tensor, weights: Any
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Predictions, labels and weights of one rank: a last size of 1 is taken away or added, by the
    run where only it knows the ranks. Raises `ValueError` for shapes that differ."""
    rank, other = predictions.shape.ndims, labels.shape.ndims
    if rank is None or other is None:
        more = subtract(rank_of(predictions), rank_of(labels))
        predictions = _without_last(predictions, lambda: equal(1, more))
        labels = _without_last(labels, lambda: equal(-1, more))
    elif rank == other + 1:
        predictions = _without_last(predictions)
    elif other == rank + 1:
        labels = _without_last(labels)
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels, None if weights is None else fitted(weights, predictions)


def _without_last(x: Tensor, where: Callable[[], Tensor] | None = None) -> Tensor:
    """`x` without its last axis, if its size may be 1: where a condition holds, if there is one."""
    if x.shape.ndims is not None and (x.shape.ndims == 0 or x.shape[-1].value not in (1, None)):
        return x
    if where is None:
        return squeeze(x, [-1])
    return cond(where(), lambda: squeeze(x, [-1]), lambda: x)


def fitted(weights: Any, values: Tensor) -> Tensor:
    """Weights of the rank of `values`, or of rank 0."""
    found = as_tensor(weights)
    rank, wanted = found.shape.ndims, values.shape.ndims
    if rank == 0:
        return found
    if rank is None or wanted is None:
        own = rank_of(found)
        more = subtract(own, rank_of(values))

        def fit() -> Tensor:
            return cond(equal(more, -1), lambda: expand_dims(found, [-1]), lambda: found)

        def adjust() -> Tensor:
            return cond(equal(more, 1), lambda: _without_last(found), fit)

        return cond(equal(own, 0), lambda: found, adjust)
    if rank == wanted + 1:
        return squeeze(found, [-1])
    return expand_dims(found, -1) if rank == wanted - 1 else found


def broadcast_weights(weights: Any, values: Tensor) -> Tensor:
    """The weight of each of `values`, as f32. Raises as `compute_weighted_loss`."""
    factors = cast(fitted(weights, values), dtypes.f32)
    with get_default_graph().control_dependencies(assert_broadcastable(factors, values)):
        return factors * ones_like(values, dtypes.f32)
