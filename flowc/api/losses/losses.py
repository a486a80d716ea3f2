"""`tf.losses`: each loss of elements, weighted and reduced.

In: labels and predictions of one shape, weights. Out: a tensor, also kept in the collection
`losses`. Every function raises `ValueError` for labels or predictions that are None, shapes that
differ, weights that do not broadcast and another reduction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros_like
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import rank, squeeze
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework.basics import cast, stop_gradient
from flowc.api.framework.scopes import name_scope
from flowc.api.losses.collection import add_loss
from flowc.api.losses.weighting import (
    LossReduction,
    assert_broadcastable,
    compute_weighted_loss,
    num_present,
)
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import one_of, reduce_sum
from flowc.api.nn import losses as nn
from flowc.api.nn.activations import relu
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor

_MEAN = LossReduction.SUM_BY_NONZERO_WEIGHTS
_LOSSES = GraphKeys.LOSSES


@contextmanager
def _pair(
    scope: str | None, name: str, given: Any, labels: Any, other: str = "predictions"
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """(the name scope, predictions, labels), both of floats and of one shape."""
    for what, value in (("labels", labels), (other, given)):
        if value is None:
            raise ValueError(f"Argument `{what}` must not be None.")
    with name_scope(scope, name, [given, labels]) as opened:
        x, y = cast(given, dtypes.f32), cast(labels, dtypes.f32)
        x.shape.assert_is_compatible_with(y.shape)
        yield opened, x, y


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """`|predictions - labels|`, weighted, reduced and raising as `mean_squared_error`.

    Labels and predictions are of one shape."""
    with _pair(scope, "absolute_difference", predictions, labels) as (opened, x, y):
        losses = m.abs(m.subtract(x, y))
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """`(predictions - labels)²`, of numbers of one shape, which are taken as float32; times
    `weights` that broadcast to them, and by `reduction` their mean over weights other than 0,
    another `Reduction`, or (`NONE`) the losses themselves.

    Raises `ValueError` for labels or predictions that are None, shapes that differ, weights that do
    not broadcast and another reduction."""
    with _pair(scope, "mean_squared_error", predictions, labels) as (opened, x, y):
        losses = m.squared_difference(x, y)
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
    dim: int | None = None,
) -> Tensor:
    """1 less the dot product along `axis`, of vectors of length 1; weighted, reduced and raising as
    `mean_squared_error`, and `ValueError` without an axis."""
    axis = one_of(axis, "axis", dim, "dim")
    if axis is None:
        raise ValueError("You must specify argument `axis`.")
    with _pair(scope, "cosine_distance_loss", predictions, labels) as (opened, x, y):
        losses = 1 - reduce_sum(m.multiply(x, y), axis=(axis,), keepdims=True)
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """`max(0, 1 - labels * logits)`, with labels 0 and 1 taken for -1 and 1; weighted, reduced and
    raising as `mean_squared_error`. Labels and logits are of one shape."""
    with _pair(scope, "hinge_loss", logits, labels, "logits") as (opened, x, y):
        ones = ones_like(y)
        signs = m.subtract(2 * y, ones)
        losses = relu(m.subtract(ones, m.multiply(signs, x)))
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """Half the squared error up to `delta`, and linear in the error beyond; weighted, reduced and
    raising as `mean_squared_error`. Labels and predictions are of one shape."""
    with _pair(scope, "huber_loss", predictions, labels) as (opened, x, y):
        distance = m.abs(m.subtract(x, y))
        near = m.minimum(distance, delta)
        far = m.subtract(distance, near)
        half = as_tensor(0.5, dtype=near.dtype)
        losses = m.add(m.multiply(half, m.multiply(near, near)), m.multiply(delta, far))
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """`-labels * log(predictions) - (1 - labels) * log(1 - predictions)`, with `epsilon` added to
    what the logarithms are of; weighted, reduced and raising as `mean_squared_error`. Labels and
    predictions are of one shape."""
    with _pair(scope, "log_loss", predictions, labels) as (opened, x, y):
        of_ones = -m.multiply(y, m.log(x + epsilon))
        losses = of_ones - m.multiply(1 - y, m.log(1 - x + epsilon))
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
) -> Tensor:
    """The mean over pairs of elements of a row of the squared difference between the distance of
    the predictions and that of the labels, a float32 scalar. Raises as `mean_squared_error`."""
    with _pair(scope, "mean_pairwise_squared_error", predictions, labels) as (_, x, y):
        factors = cast(weights, dtypes.f32)
        with get_default_graph().control_dependencies(assert_broadcastable(factors, y)):
            errors = m.subtract(x, y)
            axes = range_(1, rank(errors))
            squares = reduce_sum(m.square(errors), axis=axes, keepdims=True)
            count = num_present(errors, factors, per_row=True)
            of_squares = 2.0 * m.div_no_nan(squares, m.maximum(count - 1, 0), name="value")
            total = reduce_sum(errors, axis=axes, keepdims=True)
            squared = m.square(total)
            pairs = m.maximum(m.multiply(count, count - 1), 0)
            of_sums = 2.0 * m.div_no_nan(squared, pairs, name="value")
            loss = reduce_sum(m.multiply(of_squares - of_sums, factors))
            any_present = m.greater(reduce_sum(count), 0)
            loss = where(any_present, loss, zeros_like(loss), name="value")
        add_loss(loss, loss_collection)
        return loss


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """The logistic loss of each class, of labels and logits of one shape; weighted, reduced and
    raising as `mean_squared_error`. `label_smoothing`: how far labels are moved towards 1/2."""
    _need("multi_class_labels", multi_class_labels)
    _need("logits", logits)
    with name_scope(scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels]) as opened:
        x = as_tensor(logits)
        y = cast(multi_class_labels, x.dtype)
        x.shape.assert_is_compatible_with(y.shape)
        if label_smoothing > 0:
            y = y * (1 - label_smoothing) + 0.5 * label_smoothing
        losses = nn.sigmoid_cross_entropy_with_logits(labels=y, logits=x, name="xentropy")
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """The cross entropy of softmax(logits) [batch, classes] and the labels' distributions, weighted
    and reduced as `mean_squared_error`, with a weight for each row, and raising as it does.
    `label_smoothing`: how far the labels are moved towards 1 / classes."""
    _need("onehot_labels", onehot_labels)
    _need("logits", logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels]) as opened:
        x = as_tensor(logits)
        y = cast(onehot_labels, x.dtype)
        x.shape.assert_is_compatible_with(y.shape)
        if label_smoothing > 0:
            classes = cast(shape_of(y)[1], x.dtype)
            y = y * (1.0 - label_smoothing) + label_smoothing / classes
        y = stop_gradient(y, name="labels_stop_gradient")
        losses = nn.softmax_cross_entropy_with_logits_v2(labels=y, logits=x, name="xentropy")
        return compute_weighted_loss(losses, weights, opened, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = _LOSSES,
    reduction: str = _MEAN,
) -> Tensor:
    """The cross entropy of softmax(logits) [batch, classes] and class numbers [batch]; a last size
    of 1 of labels and weights may stand there or not. Weighted and reduced as `mean_squared_error`,
    with a weight for each row, and raising as it does."""
    _need("labels", labels)
    _need("logits", logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels]) as opened:
        y, x, w = as_tensor(labels), as_tensor(logits), as_tensor(weights)
        y = _without_last(y, x.shape.ndims)
        w = _without_last(w, None if y.shape.ndims is None else y.shape.ndims + 1)
        losses = nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x, name="xentropy")
        return compute_weighted_loss(losses, w, opened, loss_collection, reduction)


def _without_last(x: Tensor, of_rank: int | None) -> Tensor:
    """`x` without its last axis of size 1, where it has this rank."""
    if of_rank is None or x.shape.ndims != of_rank or not of_rank or x.shape[-1].value != 1:
        return x
    return squeeze(x, [-1])


def _need(name: str, value: Any) -> None:
    if value is None:
        raise ValueError(f"Argument `{name}` must not be None.")
