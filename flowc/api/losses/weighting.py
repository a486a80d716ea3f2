"""How losses of elements become one loss: weights and reductions.

In: a loss for each element, weights that broadcast to them. Out: a tensor, also kept in a
collection. Invariant: weights have rank 0, or the rank of the losses with equal sizes or 1.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros_like
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.arrays.shaping import size
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope
from flowc.api.losses.collection import add_loss
from flowc.api.math.elementwise import div_no_nan, equal, logical_or, multiply
from flowc.api.math.reductions import reduce_all, reduce_sum
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Tensor, get_default_graph
from flowc.graph.building.conversion import as_tensor


class LossReduction:
    """How the weighted losses of all elements become one.

    `NONE`: not at all. `SUM`: their sum. `MEAN`: the sum divided by that of the weights.
    `SUM_OVER_BATCH_SIZE`: the sum divided by the number of elements. `SUM_BY_NONZERO_WEIGHTS`: the
    sum divided by the number of elements whose weight is not zero. `validate` raises `ValueError`
    for anything else.
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        return (
            cls.NONE,
            cls.SUM,
            cls.MEAN,
            cls.SUM_OVER_BATCH_SIZE,
            cls.SUM_OVER_NONZERO_WEIGHTS,
            cls.SUM_BY_NONZERO_WEIGHTS,
        )

    @classmethod
    def validate(cls, key: str) -> None:
        """Raises `ValueError` for what is no reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid LossReduction Key {key}. Key should be one of {cls.all()}.")


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = LossReduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """`losses` times `weights`, reduced, in the dtype of the losses.

    Raises `ValueError` for another reduction, and for weights that do not broadcast to the losses;
    where only a run knows, the run raises `InvalidArgumentError`.
    """
    LossReduction.validate(reduction)
    with name_scope(scope, "weighted_loss", [losses, weights]):
        values = as_tensor(losses)
        with checked_weights(weights, values):
            kind = values.dtype
            elements = cast(values, dtypes.f32)
            factors = cast(weights, dtypes.f32)
            weighted = multiply(elements, factors)
            loss = _reduced(weighted, factors, reduction)
            loss = cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


def _reduced(weighted: Tensor, weights: Tensor, reduction: str) -> Tensor:
    if reduction == LossReduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == LossReduction.SUM:
        return total
    if reduction == LossReduction.MEAN:
        count = reduce_sum(ones_like(weighted) * weights)
    elif reduction == LossReduction.SUM_OVER_BATCH_SIZE:
        count = cast(size(weighted), dtypes.f32)
    else:
        count = num_present(weighted, weights)
    return div_no_nan(total, count, name="value")


def num_present(values: Tensor, weights: Tensor, axis: Any = None, keep: bool = False) -> Tensor:
    """How many elements have a weight that is not zero (along `axis`)."""
    with name_scope("num_present"):
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        if weights.shape.ndims == 0 and axis is None:
            return present * cast(size(values), dtypes.f32)
        return reduce_sum(present * ones_like(values, dtypes.f32), axis=axis, keepdims=keep)


def checked_weights(weights: Any, values: Tensor) -> AbstractContextManager[Any]:
    """Operations made inside compute with weights that broadcast to `values`. Raises `ValueError`
    where they are known not to."""
    factors = weights if isinstance(weights, Tensor) else as_tensor(weights, name="weights")
    rank, wanted = factors.shape.ndims, values.shape.ndims
    if rank in (0, None) or wanted is None:
        return nullcontext()
    pairs = list(zip(factors.shape.as_list(), values.shape.as_list()))
    if rank != wanted or any(w not in (1, v, None) and v is not None for w, v in pairs):
        raise ValueError(
            f"weights can not be broadcast to values. values.rank={wanted}. weights.rank={rank}. "
            f"values.shape={values.shape}. weights.shape={factors.shape}. Received "
            f"weights={factors}, values={values}"
        )
    if all(w == 1 or (w == v and w is not None) for w, v in pairs):
        return nullcontext()
    found, needed = shape_of(factors), shape_of(values)
    fits = reduce_all(logical_or(equal(found, needed), equal(found, np.int32(1))))
    said = ["weights can not be broadcast to values.", "weights.shape=", found, needed]
    return get_default_graph().control_dependencies([Assert(fits, said)])
