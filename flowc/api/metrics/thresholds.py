"""`tf.metrics`: what follows from counting right and wrong answers at several thresholds.

In: labels (true or not), predictions in [0, 1], weights that broadcast to them. Out: (value,
update). Raises `ValueError` for shapes that do not fit and curves of other names; a run raises
`InvalidArgumentError` for predictions outside [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import expand_dims, reshape
from flowc.api.framework.basics import cast, constant, identity
from flowc.api.framework.checks import Assert
from flowc.api.framework.raw_ops import named
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import argmax, argmin, cumsum, reduce_all, reduce_min, reduce_sum
from flowc.api.metrics.accumulation import (
    Measured,
    alike,
    broadcast_weights,
    in_collections,
    metric_variable,
)
from flowc.api.variables.variable_ops import assign_add
from flowc.api.variables.variable_scope import variable_scope
from flowc.graph import Tensor, get_default_graph

EPSILON = 1e-7  # keeps the ends of [0, 1] on the right side
_HITS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "true_negatives": (False, False),
    "false_positives": (False, True),
}
Counts = dict[str, Tensor]


def _spread(count: int) -> list[float]:
    """`count` thresholds over [0, 1], the ends a little outside."""
    inner = [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]
    return [0.0 - EPSILON, *inner, 1.0 + EPSILON]


def _counts(
    labels: Any, predictions: Any, thresholds: Sequence[float], weights: Any, which: Sequence[str]
) -> tuple[Counts, Counts]:
    """For each name, how often its answer came, at each threshold: so far, and with the batch."""
    given = cast(predictions, dtypes.f32)
    inside = [m.greater_equal(given, 0.0), m.less_equal(given, 1.0)]
    checks = [Assert(reduce_all(ok), ["predictions must be in [0, 1]", given]) for ok in inside]
    x, y, weights = alike(given, cast(labels, dtypes.bool_), weights)
    with get_default_graph().control_dependencies(checks):
        x_row, y_row = reshape(x, [1, -1]), reshape(y, [1, -1])
    above = m.greater(x_row, expand_dims(constant(np.array(thresholds, np.float32)), 1))
    factors = None
    if weights is not None:
        factors = reshape(broadcast_weights(weights, x), [1, -1])
    values, updates = {}, {}
    for name in which:
        label, found = _HITS[name]
        held = metric_variable([len(thresholds)], dtypes.f32, name)
        is_label = y_row if label else m.logical_not(y_row)
        hits = cast(m.logical_and(is_label, above if found else m.logical_not(above)), dtypes.f32)
        if factors is not None:
            hits = hits * factors
        values[name] = identity(held)
        updates[name] = assign_add(held, reduce_sum(hits, 1))
    return values, updates


def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Measured:
    """The area under the curve `ROC` or `PR`, from counts at `num_thresholds` thresholds.

    `summation_method`: `trapezoidal`, `careful_interpolation` (of PR), `minoring` or `majoring`.
    (value, update), float32 scalars; `labels`: bools, `predictions`: floats in [0, 1] of their
    shape. Raises `ValueError` for another curve or method and other shapes; a run raises
    `InvalidArgumentError` for other predictions.
    """
    with variable_scope(name, "auc", [labels, predictions]):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"Curve must be either ROC or PR. Curve {curve} is unknown.")
        if summation_method not in (
            "trapezoidal",
            "careful_interpolation",
            "minoring",
            "majoring",
        ):
            raise ValueError(f"Invalid summation_method: {summation_method}")
        if thresholds is None:
            levels = _spread(num_thresholds)
        else:
            levels = [0.0 - EPSILON, *sorted(thresholds), 1.0 + EPSILON]
        found = _counts(labels, predictions, levels, weights, list(_HITS))
        value, update = (
            _area(counts, curve, summation_method, last)
            for counts, last in zip(found, ("value", "update_op"))
        )
        return in_collections((value, update), metrics_collections, updates_collections)


def _area(counts: Counts, curve: str, method: str, name: str) -> Tensor:
    tp, fn = counts["true_positives"], counts["false_negatives"]
    tn, fp = counts["true_negatives"], counts["false_positives"]
    small = 1.0e-6
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn)
    found = m.div(tp + small, tp + fn + small)
    if curve == "ROC":
        x, y = m.div(fp, fp + tn + small), found
    else:
        x, y = found, m.div(tp + small, tp + fp + small)
    left, right = y[:-1], y[1:]
    if method == "minoring":
        height = m.minimum(left, right)
    elif method == "majoring":
        height = m.maximum(left, right)
    else:
        height = (left + right) / 2.0
    return reduce_sum(m.multiply(x[:-1] - x[1:], height), name=name)


def _interpolated(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """The area under precision over recall, by Davis and Goadrich, 2006: between two points, the
    counts are taken to grow linearly."""
    gained = tp[:-1] - tp[1:]
    found = tp + fp
    slope = m.div_no_nan(gained, m.maximum(found[:-1] - found[1:], 0))
    intercept = tp[1:] - m.multiply(slope, found[1:])
    both = m.logical_and(found[:-1] > 0, found[1:] > 0)
    ratio = m.div_no_nan(found[:-1], m.maximum(found[1:], 0))
    ratio = where(both, ratio, ones_like(found[1:]))
    parts = slope * (gained + intercept * m.log(ratio))
    shares = m.div_no_nan(parts, m.maximum(tp[1:] + fn[1:], 0))
    return reduce_sum(shares, name="interpolate_pr_auc")


def _at_each(what: str) -> str:
    return (
        f"(value, update): the {what} at each of `thresholds`, float32[thresholds]. Labels (true "
        "or not) and predictions in [0, 1] have one shape. Raises `ValueError` where the shapes "
        "differ; a run raises `InvalidArgumentError` for other predictions."
    )


def _at_thresholds(which: str) -> Callable[..., Measured]:
    scope = f"{which}_at_thresholds"

    def function(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Measured:
        with variable_scope(name, which, [predictions, labels]):
            values, updates = _counts(labels, predictions, thresholds, weights, [which])
            return in_collections(
                (values[which], updates[which]), metrics_collections, updates_collections
            )

    return named(function, scope, _at_each(which.replace("_", " ")))


true_positives_at_thresholds = _at_thresholds("true_positives")
true_negatives_at_thresholds = _at_thresholds("true_negatives")
false_positives_at_thresholds = _at_thresholds("false_positives")
false_negatives_at_thresholds = _at_thresholds("false_negatives")


def _share_at_thresholds(what: str, wrong: str) -> Callable[..., Measured]:
    scope = f"{what}_at_thresholds"

    def function(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Measured:
        with variable_scope(name, scope, [predictions, labels]):
            names = ["true_positives", wrong]
            found = _counts(labels, predictions, thresholds, weights, names)
            value, update = (
                m.div(c[names[0]], EPSILON + c[names[0]] + c[wrong], name=f"{what}_{last}")
                for c, last in zip(found, ("value", "update_op"))
            )
            return in_collections((value, update), metrics_collections, updates_collections)

    return named(function, scope, _at_each(what))


precision_at_thresholds = _share_at_thresholds("precision", "false_positives")
recall_at_thresholds = _share_at_thresholds("recall", "false_negatives")


def sensitivity_at_specificity(
    labels: Any,
    predictions: Any,
    specificity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of true labels found at the threshold whose specificity is
    nearest. Raises `ValueError` for a specificity outside [0, 1]."""
    _check_share(specificity, "specificity")

    def computed(c: Counts, last: str) -> Tensor:
        tn, fp = c["true_negatives"], c["false_positives"]
        at = argmin(m.abs(m.div(tn, tn + fp + EPSILON) - specificity), 0)
        hits, missed = _at(c["true_positives"], at), _at(c["false_negatives"], at)
        return m.div(hits, hits + missed + EPSILON, name=last)

    with variable_scope(name, "sensitivity_at_specificity", [predictions, labels]):
        found = _counts(labels, predictions, _spread(num_thresholds), weights, list(_HITS))
        value, update = (computed(c, n) for c, n in zip(found, ("value", "update_op")))
        return in_collections((value, update), metrics_collections, updates_collections)


def specificity_at_sensitivity(
    labels: Any,
    predictions: Any,
    sensitivity: float,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of false labels found at the last threshold whose sensitivity is
    nearest. Raises `ValueError` for a sensitivity outside [0, 1]."""
    _check_share(sensitivity, "sensitivity")

    def computed(c: Counts, last: str) -> Tensor:
        tp, fn = c["true_positives"], c["false_negatives"]
        distance = m.abs(m.div(tp, tp + fn + EPSILON) - sensitivity)
        nearest = cast(m.equal(distance, reduce_min(distance)), dtypes.i64)
        at = argmax(cumsum(nearest), 0)
        found, wrong = _at(c["true_negatives"], at), _at(c["false_positives"], at)
        return m.div(found, found + wrong + EPSILON, name=last)

    with variable_scope(name, "specificity_at_sensitivity", [predictions, labels]):
        found = _counts(labels, predictions, _spread(num_thresholds), weights, list(_HITS))
        value, update = (computed(c, n) for c, n in zip(found, ("value", "update_op")))
        return in_collections((value, update), metrics_collections, updates_collections)


def _at(counts: Tensor, index: Tensor) -> Tensor:
    return counts[cast(index, dtypes.i32)]


def _check_share(value: float, name: str) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"`{name}` must be in the range [0, 1]. Currently, `{name}` got {value}.")
