"""`tf.metrics`: means over all batches: of values, of errors, of right answers.

In: values, or labels and predictions of one shape; weights that broadcast to them. Out: (value,
update): two tensors, the second of which adds the batch. The arguments `metrics_collections` and
`updates_collections` name collections that they join. Raises `ValueError` for shapes that do not
fit.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import zeros_like
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import size
from flowc.api.framework.basics import cast
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_sum
from flowc.api.metrics.accumulation import (
    Measured,
    alike,
    broadcast_weights,
    in_collections,
    metric_variable,
    ratio,
)
from flowc.api.variables.variable_ops import assign_add
from flowc.api.variables.variable_scope import variable_scope
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean of all values so far, a float32 scalar, and the tensor that adds a
    batch and gives the new mean. `weights` broadcast to `values`.

    The value and the update join the collections that the arguments name. Raises `ValueError` for
    weights of another shape."""
    with variable_scope(name, "mean", [values]):
        x = cast(values, dtypes.f32)
        total = metric_variable([], dtypes.f32, "total")
        count = metric_variable([], dtypes.f32, "count")
        if weights is None:
            number = cast(size(x), dtypes.f32)
        else:
            factors = broadcast_weights(weights, x)
            x, number = m.multiply(x, factors), reduce_sum(factors)
        new_total = assign_add(total, reduce_sum(x))
        with get_default_graph().control_dependencies([x]):
            new_count = assign_add(count, number)
        found = ratio(total, count, "value"), ratio(new_total, new_count, "update_op")
        return in_collections(found, metrics_collections, updates_collections)


def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean of all batches, element by element, float32 in their shape.
    Arguments and errors as `mean`."""
    with variable_scope(name, "mean", [values]):
        x = cast(values, dtypes.f32)
        total = metric_variable(x.shape, dtypes.f32, "total_tensor")
        count = metric_variable(x.shape, dtypes.f32, "count_tensor")
        number = broadcast_weights(1.0 if weights is None else weights, x)
        if weights is not None:
            x = m.multiply(x, number)
        new_total = assign_add(total, x)
        with get_default_graph().control_dependencies([x]):
            new_count = assign_add(count, number)
        found = ratio(total, count, "value"), ratio(new_total, new_count, "update_op")
        return in_collections(found, metrics_collections, updates_collections)


def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): how often the predictions equal the labels, of one shape. Other arguments as
    those of `mean`. Raises `ValueError` where the shapes differ."""
    x, y, weights = alike(as_tensor(predictions), as_tensor(labels), weights)
    right = cast(m.equal(cast(x, y.dtype), y), dtypes.f32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


def _errors(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    return alike(cast(predictions, dtypes.f32), cast(labels, dtypes.f32), weights)


def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean of `|predictions - labels|`. Arguments and errors as `accuracy`."""
    x, y, weights = _errors(labels, predictions, weights)
    errors = m.abs(m.subtract(x, y))
    chosen = name or "mean_absolute_error"
    return mean(errors, weights, metrics_collections, updates_collections, chosen)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean of `(predictions - labels)²`. Arguments and errors as
    `accuracy`."""
    x, y, weights = _errors(labels, predictions, weights)
    errors = m.squared_difference(y, x)
    chosen = name or "mean_squared_error"
    return mean(errors, weights, metrics_collections, updates_collections, chosen)


def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the square root of the mean of `(predictions - labels)²`. Arguments and
    errors as `accuracy`."""
    chosen = name or "root_mean_squared_error"
    value, update = mean_squared_error(labels, predictions, weights, name=chosen)
    return in_collections((m.sqrt(value), m.sqrt(update)), metrics_collections, updates_collections)


def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean of `|predictions - labels| / normalizer`, 0 where the normalizer,
    of the same shape, is. Arguments and errors as `accuracy`."""
    x, y, weights = _errors(labels, predictions, weights)
    scale = cast(normalizer, dtypes.f32)
    x.shape.assert_is_compatible_with(scale.shape)
    errors = m.div(m.abs(m.subtract(y, x)), scale)
    errors = where(m.equal(scale, 0.0), zeros_like(y), errors)
    chosen = name or "mean_relative_error"
    return mean(errors, weights, metrics_collections, updates_collections, chosen)


def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): 1 less the mean dot product along `dim`, of vectors of length 1. Arguments
    and errors as `accuracy`."""
    x, y, weights = _errors(labels, predictions, weights)
    products = reduce_sum(m.multiply(x, y), axis=[dim], keepdims=True)
    value, update = mean(products, weights, name=name or "mean_cosine_distance")
    found = m.subtract(1.0, value), m.subtract(1.0, update)
    return in_collections(found, metrics_collections, updates_collections)


def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of values below `threshold`. Arguments and errors as `mean`."""
    below = cast(m.less(values, threshold), dtypes.f32)
    chosen = name or "percentage_below_threshold"
    return mean(below, weights, metrics_collections, updates_collections, chosen)
