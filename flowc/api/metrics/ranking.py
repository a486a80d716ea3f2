"""`tf.metrics`: precision, recall and average precision of the k best classes.

In: the right classes [..., labels] (or [...], or a `SparseTensor`) of i64, scores [..., classes] or
the best classes [..., k], weights [...]. Out: (value, update), of f64. Invariant: the labels of a
row are a set; a class is right where it is among them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.selection import top_k, where
from flowc.api.arrays.shaping import expand_dims, size
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast
from flowc.api.framework.composites import SparseTensor
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import cumsum, reduce_any, reduce_sum
from flowc.api.metrics.accumulation import Measured, in_collections, metric_variable
from flowc.api.sparse.sparse_ops import sparse_to_dense
from flowc.api.variables.variable_ops import assign_add
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

_NONE = np.iinfo(np.int64).min  # fills the rows of labels that are sparse


def _rows(labels: Any, chosen: Tensor, classes: Any = None) -> Tensor:
    """Labels [..., n], `_NONE` where a sparse row is shorter; those from `classes` on are -1."""
    sparse = isinstance(labels, SparseTensor)
    given = labels.values if sparse else as_tensor(labels)
    if given.dtype is not dtypes.i64:
        raise TypeError(
            f"labels must be numbers of classes of int64. Found: {dtypes.name_of(given.dtype)}"
        )
    if classes is not None:
        given = where(m.greater_equal(given, classes), -ones_like(given), given)
    if sparse:
        given = sparse_to_dense(labels.indices, labels.dense_shape, given, _NONE)
        given.set_shape([None] * (labels.shape.ndims or chosen.shape.ndims or 2))
    rank, wanted = given.shape.ndims, chosen.shape.ndims
    if rank is not None and rank + 1 == wanted:
        given, rank = expand_dims(given, -1), wanted
    if rank is None or wanted is None or rank != wanted:
        raise ValueError(
            "labels must be [...] or [..., n], and predictions [..., classes]: found labels "
            f"{labels.shape if sparse else as_tensor(labels).shape} and the best classes "
            f"{chosen.shape}"
        )
    given.shape[:-1].assert_is_compatible_with(chosen.shape[:-1])
    return given


def _pairs(right: Tensor, chosen: Tensor) -> Tensor:
    """[..., n, k]: which of the labels is which of the chosen ones."""
    return m.equal(expand_dims(right, -1), expand_dims(chosen, -2))


def _is_in_set(right: Tensor) -> Tensor:
    """[..., n]: the first of equal labels, and nothing that only fills a row."""
    places = range_(shape_of(right)[-1])
    earlier = m.greater(expand_dims(places, 1), expand_dims(places, 0))
    again = reduce_any(m.logical_and(_pairs(right, right), earlier), -1)
    return m.logical_and(m.logical_not(again), m.not_equal(right, _NONE))


def _weighted(values: Tensor, weights: Any) -> Tensor:
    factors = cast(weights, dtypes.f64)
    known = factors.shape.ndims
    if known and values.shape.ndims is not None:
        sizes = zip(factors.shape.as_list(), values.shape.as_list(), strict=False)
        if known != values.shape.ndims or any(w not in (1, None, v) and v for w, v in sizes):
            raise ValueError(
                f"weights can not be broadcast to values. values.shape={values.shape}. "
                f"weights.shape={factors.shape}."
            )
    return m.multiply(values, factors)


def _counted(name: str, values: Tensor, weights: Any) -> Measured:
    """How many of `values` [..., n] hold: so far, and with the batch."""
    with name_scope(None, name) as scope:
        number = reduce_sum(cast(values, dtypes.f64), -1)
        if weights is not None:
            number = _weighted(number, weights)
        held = metric_variable([], dtypes.f64, scope)
        update = assign_add(held, reduce_sum(number))
        return held.value(), update


def _best(predictions: Any, k: int) -> tuple[Tensor, Tensor]:
    """The k classes of the highest scores, and the number of classes."""
    scores = as_tensor(predictions)
    return top_k(scores, k)[1], cast(shape_of(scores)[-1], dtypes.i64)


def _share(
    what: str,
    labels: Any,
    best: Any,
    k: int | None,
    class_id: int | None,
    weights: Any,
    collections: tuple[Any, Any],
    name: str | None,
    classes: Any = None,
) -> Measured:
    suffix = f"_at_{'k' if k is None else k}" + ("" if class_id is None else f"_class{class_id}")
    with name_scope(name, what + suffix) as scope:
        chosen = cast(best, dtypes.i64)
        right = _rows(labels, chosen, classes)
        equal = _pairs(right, chosen)
        if what == "recall":  # of the labels, how many are chosen
            among = _is_in_set(right)
            hits = m.logical_and(reduce_any(equal, -1), among)
            misses = m.logical_and(m.logical_not(hits), among)
            asked, wrong = right, "false_negative"
        else:  # of what is chosen, how much is right
            asked, hits, wrong = chosen, reduce_any(equal, -2), "false_positive"
            misses = m.logical_not(hits)
        if class_id is not None:
            of_class = m.equal(asked, class_id)
            hits, misses = m.logical_and(hits, of_class), m.logical_and(misses, of_class)
        good = _counted(f"true_positive{suffix}", hits, weights)
        bad = _counted(wrong + suffix, misses, weights)
        value = m.div(good[0], m.add(good[0], bad[0]), name=scope)
        update = m.div(good[1], m.add(good[1], bad[1]), name="update")
        return in_collections((value, update), *collections)


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
    """(value, update): the share of labels [...] or [..., n] (numbers of classes, int64, also as a
    `SparseTensor`) among the k classes of the highest scores, of predictions [..., classes];
    float64 scalars. `class_id`: of one class. `weights`: [...]. Raises `TypeError` for labels of
    other dtypes, `ValueError` for shapes that do not fit."""
    best, classes = _best(predictions, k)
    given = metrics_collections, updates_collections
    return _share("recall", labels, best, k, class_id, weights, given, name, classes)


def recall_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of labels among the k classes `predictions_idx` [..., k] that
    are given; `k` is for the names alone. Other arguments as those of `recall_at_k`. Raises as it
    does."""
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
    best, classes = _best(predictions, k)
    given = metrics_collections, updates_collections
    return _share("precision", labels, best, k, class_id, weights, given, name, classes)


def precision_at_top_k(
    labels: Any,
    predictions_idx: Any,
    k: int | None = None,
    class_id: int | None = None,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the share of right ones among the k classes `predictions_idx` [..., k]
    that are given; `k` is for the names alone. Other arguments as those of `recall_at_k`. Raises as
    it does."""
    best = as_tensor(predictions_idx)
    given = metrics_collections, updates_collections
    return _share("precision", labels, best, k, class_id, weights, given, name)


sparse_precision_at_k = precision_at_k


def average_precision_at_k(
    labels: Any,
    predictions: Any,
    k: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Measured:
    """(value, update): the mean over rows of the average precision of the k classes of the highest
    scores: the precision of the best i classes, summed over each i whose class is right, divided by
    the number of labels (by k where they are more). Float64 scalars; NaN from a row without labels.

    `labels`: int64[...] or [..., n], also as a `SparseTensor`; negative ones and those that are no
    class of `predictions` [..., classes] do not count. `weights`: [...]. Raises `ValueError` for k
    less than 1 and shapes that do not fit, `TypeError` for labels of other dtypes.
    """
    if k < 1:
        raise ValueError(f"Invalid k={k}. `k` should be >= 1.")
    with name_scope(name, f"average_precision_at_{k}") as scope:
        best, classes = _best(predictions, k)
        chosen = cast(best, dtypes.i64)
        right = _rows(labels, chosen, classes)
        average = _average_precision(right, chosen, k, isinstance(labels, SparseTensor))
        if weights is None:
            most = cast(size(average), dtypes.f64)
        else:
            average = _weighted(average, weights)
            most = reduce_sum(_weighted(ones_like(average), weights))
        sums = []
        for part, of_batch in (("max", most), ("total", reduce_sum(average))):
            with name_scope(None, part) as inner:
                held = metric_variable([], dtypes.f64, inner)
                sums.append((held.value(), assign_add(held, of_batch, name="update")))
        (top, top_then), (total, total_then) = sums
        value = m.div_no_nan(total, top, name="mean")
        update = m.div_no_nan(total_then, top_then, name=scope)
        return in_collections((value, update), metrics_collections, updates_collections)


sparse_average_precision_at_k = average_precision_at_k


def _average_precision(right: Tensor, chosen: Tensor, k: int, is_set: bool) -> Tensor:
    """[...]: of each row."""
    with name_scope(None, "average_precision"):
        relevant = cast(reduce_any(_pairs(right, chosen), -2), dtypes.f64)
        places = cumsum(ones_like(relevant), axis=-1)
        precision = m.divide(cumsum(relevant, axis=-1), places)
        counted = _is_in_set(right) if is_set else m.greater_equal(right, 0)
        number = m.minimum(reduce_sum(cast(counted, dtypes.f64), -1), float(k))
        return m.divide(reduce_sum(m.multiply(precision, relevant), -1), number)
