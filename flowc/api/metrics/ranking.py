"""`tf.metrics`: precision and recall of the k best classes.

In: the right classes [batch, labels] (or [batch]), scores [batch, classes] or the best classes
[batch, k], weights [batch]. Out: (value, update), of f64. Invariant: a class is right where it is
among the labels of its row.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.selection import top_k
from flowc.api.arrays.shaping import expand_dims
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_any, reduce_sum
from flowc.api.metrics.accumulation import Measured, kept, metric_variable
from flowc.api.variables.variable_ops import assign_add
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


def _rows(labels: Any) -> Tensor:
    found = cast(as_tensor(labels), dtypes.i64)
    return expand_dims(found, 1) if found.shape.ndims == 1 else found


def _counted(name: str, values: Tensor, weights: Any) -> Measured:
    """How many of `values` [batch, n] hold: so far, and with the batch."""
    with name_scope(None, name) as scope:
        number = reduce_sum(cast(values, dtypes.f64), 1)
        if weights is not None:
            number = m.multiply(number, cast(weights, dtypes.f64))
        held = metric_variable([], dtypes.f64, scope)
        update = assign_add(held, reduce_sum(number))
        return held.value(), update


def _share(
    what: str,
    labels: Any,
    best: Tensor,
    k: int,
    class_id: int | None,
    weights: Any,
    collections: tuple[Any, Any],
    name: str | None,
) -> Measured:
    right, chosen = _rows(labels), cast(best, dtypes.i64)
    if right.shape.ndims not in (None, 2) or chosen.shape.ndims not in (None, 2):
        raise ValueError(
            "labels must be [batch] or [batch, n], and predictions [batch, classes]: found labels "
            f"{as_tensor(labels).shape} and the best classes {best.shape}"
        )
    suffix = f"_at_{k}" + ("" if class_id is None else f"_class{class_id}")
    with name_scope(name, what + suffix) as scope:
        equal = m.equal(expand_dims(right, 2), expand_dims(chosen, 1))
        if what == "recall":  # of the labels, how many are chosen
            asked, hits, wrong = right, reduce_any(equal, 2), "false_negative"
        else:  # of what is chosen, how much is right
            asked, hits, wrong = chosen, reduce_any(equal, 1), "false_positive"
        misses = m.logical_not(hits)
        if class_id is not None:
            of_class = m.equal(asked, class_id)
            hits, misses = m.logical_and(hits, of_class), m.logical_and(misses, of_class)
        good = _counted(f"true_positive{suffix}", hits, weights)
        bad = _counted(wrong + suffix, misses, weights)
        value = m.div(good[0], m.add(good[0], bad[0]), name=scope)
        update = m.div(good[1], m.add(good[1], bad[1]), name="update")
        return kept((value, update), *collections)


def recall_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of labels [batch] or [batch, n] (class numbers) among the k
    classes of the highest scores, of predictions [batch, classes]; float64 scalars. `class_id`: of
    one class. `weights`: [batch]. Raises `TypeError` for other dtypes, `ValueError` for shapes that
    do not fit."""
    best = top_k(predictions, k)[1]
    given = metrics_collections, updates_collections
    return _share("recall", labels, best, k, class_id, weights, given, name)


def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of labels among the k classes `predictions_idx` [batch, k] that
    are given. Other arguments as those of `recall_at_k`. Raises as it does."""
    given = metrics_collections, updates_collections
    return _share("recall", labels, as_tensor(predictions_idx), k, class_id, weights, given, name)


def precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of right ones among the k classes of the highest scores. Arguments
    as those of `recall_at_k`. Raises as it does."""
    best = top_k(predictions, k)[1]
    given = metrics_collections, updates_collections
    return _share("precision", labels, best, k, class_id, weights, given, name)


def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of right ones among the k classes `predictions_idx` [batch, k]
    that are given. Other arguments as those of `recall_at_k`. Raises as it does."""
    best = as_tensor(predictions_idx)
    given = metrics_collections, updates_collections
    return _share("precision", labels, best, k, class_id, weights, given, name)
