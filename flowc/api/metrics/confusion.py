"""`tf.metrics`: counts of right and wrong answers, precision and recall, intersection over union.

In: labels and predictions of one shape, weights that broadcast to them. Out: (value, update).
Raises `ValueError` for shapes that do not fit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowc import dtypes
from flowc.api.arrays.blocks import diag_part
from flowc.api.arrays.filling import ones, ones_like
from flowc.api.arrays.selection import scatter_nd, where
from flowc.api.arrays.shaping import reshape, size, stack
from flowc.api.framework.assertions import assert_less, assert_non_negative
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.raw_ops import named
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_max, reduce_mean, reduce_sum
from flowc.api.metrics.accumulation import (
    Measured,
    alike,
    broadcast_weights,
    in_collections,
    metric_variable,
    ratio,
)
from flowc.api.variables.variable_ops import assign_add, scatter_add
from flowc.api.variables.variable_scope import variable_scope
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: int | None = None,
    dtype: Any = dtypes.i32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """How often each label [row] was predicted as each class [column]: `dtype`[classes, classes],
    of class numbers [n] and [n], and of weights [n] where given. `num_classes`: the largest number
    plus 1, if None. Raises `ValueError` where the shapes differ; a run raises
    `InvalidArgumentError` for a number out of range."""
    with name_scope(name, "confusion_matrix", [predictions, labels]):
        x, y, _ = alike(as_tensor(predictions), as_tensor(labels), None)
        x, y = cast(x, dtypes.i64), cast(y, dtypes.i64)
        checks = [assert_non_negative(y, message="`labels` contains negative values")]
        y = with_dependencies(checks, y)
        checks = [assert_non_negative(x, message="`predictions` contains negative values")]
        x = with_dependencies(checks, x)
        if num_classes is None:
            count: Any = m.maximum(reduce_max(x), reduce_max(y)) + 1
        else:
            count = cast(num_classes, dtypes.i64)
            y = with_dependencies([assert_less(y, count, message="`labels` out of bound")], y)
            checks = [assert_less(x, count, message="`predictions` out of bound")]
            x = with_dependencies(checks, x)
        kind = dtypes.as_dtype(dtype)
        values = ones_like(x, kind) if weights is None else cast(weights, kind)
        return scatter_nd(stack([y, x], axis=1), values, stack([count, count]))


def _truths(labels: Any, predictions: Any, weights: Any) -> tuple[Tensor, Tensor, Any]:
    return alike(cast(predictions, dtypes.bool_), cast(labels, dtypes.bool_), weights)


_ARGUMENTS = (
    "a float32 scalar, of labels and predictions (bools, or 0 and other numbers) of one shape. "
    "Gives (value, update). Raises `ValueError` where the shapes differ."
)


def _counter(scope: str, label: bool, prediction: bool, doc: str) -> Callable[..., Measured]:
    def function(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Measured:
        with variable_scope(name, scope, [predictions, labels]):
            x, y, weights = _truths(labels, predictions, weights)
            hits = m.logical_and(m.equal(y, label), m.equal(x, prediction))
            count = metric_variable([], dtypes.f32, "count")
            values = cast(hits, dtypes.f32)
            if weights is not None:
                values = m.multiply(values, broadcast_weights(weights, values))
            found = identity(count), assign_add(count, reduce_sum(values))
            return in_collections(found, metrics_collections, updates_collections)

    return named(function, scope, f"{doc}, {_ARGUMENTS}")


true_positives = _counter("true_positives", True, True, "How often a true label is found")
true_negatives = _counter("true_negatives", False, False, "How often a false label is found")
false_positives = _counter("false_positives", False, True, "How often a false label is missed")
false_negatives = _counter("false_negatives", True, False, "How often a true label is missed")


def _share(scope: str, others: Callable[..., Measured], doc: str) -> Callable[..., Measured]:
    def function(
        labels: Any,
        predictions: Any,
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Measured:
        with variable_scope(name, scope, [predictions, labels]):
            x, y, weights = _truths(labels, predictions, weights)
            hits = true_positives(y, x, weights)
            wrong = others(y, x, weights)
            value, update = (
                where(m.greater(h + w, 0), m.div(h, h + w), 0.0, name)
                for h, w, name in zip(hits, wrong, ("value", "update_op"))
            )
            return in_collections((value, update), metrics_collections, updates_collections)

    return named(function, scope, f"{doc}, {_ARGUMENTS}")


precision = _share("precision", false_positives, "The share of right ones among what is found")
recall = _share("recall", false_negatives, "The share of true labels that are found")


def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean over classes of intersection over union, a float32 scalar; the
    update is the confusion matrix. Labels and predictions are class numbers of one shape. Raises
    `ValueError` where the shapes differ."""
    with variable_scope(name, "mean_iou", [predictions, labels]):
        x, y, weights = alike(as_tensor(predictions), as_tensor(labels), weights)
        x, y = (reshape(t, [-1]) for t in (x, y))
        if weights is not None:
            weights = reshape(weights, [-1])
        total = metric_variable([num_classes] * 2, dtypes.f64, "total_confusion_matrix")
        now = confusion_matrix(y, x, num_classes, dtypes.f64, weights=weights)
        update = assign_add(total, now)
        return in_collections((_mean_iou(total), update), metrics_collections, updates_collections)


def _mean_iou(matrix: Any) -> Tensor:
    of_rows = cast(reduce_sum(matrix, 0), dtypes.f32)
    of_columns = cast(reduce_sum(matrix, 1), dtypes.f32)
    hits = cast(diag_part(matrix), dtypes.f32)
    union = of_rows + of_columns - hits
    classes = reduce_sum(cast(m.not_equal(union, 0), dtypes.f32))
    union = where(m.greater(union, 0), union, ones_like(union))
    total = reduce_sum(m.div(hits, union))
    return where(m.greater(classes, 0), total / classes, 0.0)


def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean over classes of how often a label is found, a float32 scalar; the
    update is that of each class. Labels and predictions are class numbers of one shape. Raises
    `ValueError` where the shapes differ."""
    with variable_scope(name, "mean_accuracy", [predictions, labels]):
        y = cast(labels, dtypes.i64)
        x, y, weights = alike(as_tensor(predictions), y, weights)
        x, y = (reshape(t, [-1]) for t in (x, y))
        total = metric_variable([num_classes], dtypes.f32, "total")
        count = metric_variable([num_classes], dtypes.f32, "count")
        number = ones([size(y)], dtypes.f32)
        right = cast(m.equal(cast(x, y.dtype), y), dtypes.f32)
        if weights is not None:
            factors = reshape(cast(weights, dtypes.f32), [-1])
            right, number = right * factors, number * factors
        new_total, new_count = scatter_add(total, y, number), scatter_add(count, y, right)
        shares = m.div_no_nan(count, m.maximum(total, 0))
        value = reduce_mean(shares, name="mean_accuracy")
        update = ratio(new_count, new_total, "update_op")
        return in_collections((value, update), metrics_collections, updates_collections)
