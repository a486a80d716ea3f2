"""What metrics have in common: local variables that grow, and weights that fit.

In: values of a batch. Out: (what the variables say, the same after this batch). Invariant: the
variables are local ones, of the collection `metric_variables` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros
from flowc.api.arrays.shaping import expand_dims, squeeze
from flowc.api.framework.basics import cast
from flowc.api.losses.weighting import assert_broadcastable
from flowc.api.math.elementwise import div_no_nan, maximum
from flowc.api.variables.graph_keys import GraphKeys
from flowc.api.variables.variables import Variable
from flowc.dtypes import DType
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor

Measured = tuple[Tensor, Tensor]  # the value, and the operation that updates it


def metric_variable(shape: Sequence[int | None], dtype: DType, name: str) -> Variable:
    """A variable of zeros that a metric sums up in."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
        name=name,
    )


def kept(measured: Measured, values: Any, updates: Any) -> Measured:
    """A metric, added to the collections of values and of updates that the caller named."""
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
    """Predictions, labels and weights of one rank: a last size of 1 is taken away or added. Raises
    `ValueError` for shapes that differ."""
    rank, other = predictions.shape.ndims, labels.shape.ndims
    if rank is not None and other is not None:
        if rank == other + 1 and predictions.shape[-1].value in (1, None):
            predictions = squeeze(predictions, [-1])
        elif other == rank + 1 and labels.shape[-1].value in (1, None):
            labels = squeeze(labels, [-1])
    predictions.shape.assert_is_compatible_with(labels.shape)
    return predictions, labels, None if weights is None else fitted(weights, predictions)


def fitted(weights: Any, values: Tensor) -> Tensor:
    """Weights of the rank of `values`, or of rank 0."""
    found = as_tensor(weights)
    rank, wanted = found.shape.ndims, values.shape.ndims
    if rank in (0, None) or wanted is None:
        return found
    if rank == wanted + 1:
        return squeeze(found, [-1])
    return expand_dims(found, -1) if rank == wanted - 1 else found


def broadcast_weights(weights: Any, values: Tensor) -> Tensor:
    """The weight of each of `values`, as f32. Raises as `compute_weighted_loss`."""
    factors = cast(fitted(weights, values), dtypes.f32)
    with get_default_graph().control_dependencies(assert_broadcastable(factors, values)):
        return factors * ones_like(values, dtypes.f32)
