"""How losses of elements become one loss: weights and reductions.

In: a loss for each element, weights that broadcast to them. Out: a tensor, also kept in a
collection. Invariant: weights have rank 0, or the rank of the losses with equal sizes or 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros_like
from flowc.api.arrays.filling import range as range_
from flowc.api.arrays.selection import where
from flowc.api.arrays.shaping import rank, size
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast
from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope, no_op
from flowc.api.losses.collection import add_loss
from flowc.api.math.elementwise import div_no_nan, equal, logical_or, multiply
from flowc.api.math.reductions import reduce_all, reduce_sum
from flowc.api.variables.graph_keys import GraphKeys
from flowc.graph import Operation, Tensor, get_default_graph
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
        with get_default_graph().control_dependencies(assert_broadcastable(weights, values)):
            kind = values.dtype
            elements = cast(values, dtypes.f32)
            factors = cast(weights, dtypes.f32)
            weighted = multiply(elements, factors)
            loss = _reduced(weighted, elements, factors, reduction)
            loss = cast(loss, kind)
        add_loss(loss, loss_collection)
        return loss


def _reduced(weighted: Tensor, losses: Tensor, weights: Tensor, reduction: str) -> Tensor:
    if reduction == LossReduction.NONE:
        return weighted
    total = reduce_sum(weighted)
    if reduction == LossReduction.SUM:
        return total
    if reduction == LossReduction.MEAN:
        count = reduce_sum(ones_like(losses) * weights)
    elif reduction == LossReduction.SUM_OVER_BATCH_SIZE:
        with name_scope("num_elements") as scope:
            count = cast(size(losses, name=scope), dtypes.f32)
    else:
        count = num_present(losses, weights)
    total = reduce_sum(total)  # TensorFlow sums the sum
    return div_no_nan(total, count, name="value")


def num_present(values: Tensor, weights: Tensor, per_row: bool = False) -> Tensor:
    """How many elements have a weight that is not zero: of all, or of each row, with the other axes
    kept as size 1."""
    with name_scope("num_present") as scope:
        present = where(equal(weights, 0.0), zeros_like(weights), ones_like(weights))
        present = broadcast_weights(present, values)
        axes = range_(1, rank(present)) if per_row else None
        return reduce_sum(present, axis=axes, keepdims=per_row, name=scope)


def broadcast_weights(weights: Tensor, values: Tensor) -> Tensor:
    """The weight of each of `values`, in their dtype. Raises as `compute_weighted_loss`."""
    with name_scope("broadcast_weights") as scope:
        sizes, wanted = weights.shape, values.shape
        if sizes.is_fully_defined() and wanted.is_fully_defined() and sizes == wanted:
            return weights
        with get_default_graph().control_dependencies(assert_broadcastable(weights, values)):
            return multiply(weights, ones_like(values), name=scope)


def assert_broadcastable(weights: Any, values: Tensor) -> list[Operation]:
    """What must run before a computation with weights that broadcast to `values`. Raises
    `ValueError` where they are known not to."""
    with name_scope("assert_broadcastable") as scope:
        with name_scope("weights") as own:
            factors = as_tensor(weights, name=own)
            found = shape_of(factors, name="shape")
            own_rank = rank(factors, name="rank")
        with name_scope("values"):
            needed = shape_of(values, name="shape")
            needed_rank = rank(values, name="rank")
        count, wanted = factors.shape.ndims, values.shape.ndims
        if count == 0:
            return [no_op(name="static_scalar_check_success")]
        said = ["weights can not be broadcast to values.", "weights.shape=", found, needed]
        if count is None or wanted is None:
            is_scalar = equal(0, own_rank, name="is_scalar")
            is_same = equal(needed_rank, own_rank, name="is_same_rank")
            may_be = cond(is_same, lambda: _fits(found, needed), lambda: is_same)
            return [Assert(logical_or(is_scalar, may_be, "is_valid_shape"), said, name=scope)]
        pairs = list(zip(factors.shape.as_list(), values.shape.as_list()))
        if count != wanted or any(w not in (1, v, None) and v is not None for w, v in pairs):
            raise ValueError(
                f"weights can not be broadcast to values. values.rank={wanted}. "
                f"weights.rank={count}. values.shape={values.shape}. "
                f"weights.shape={factors.shape}. Received weights={factors}, values={values}"
            )
        if all(w == 1 or (w == v and w is not None) for w, v in pairs):
            return [no_op(name="static_dims_check_success")]
        return [Assert(_fits(found, needed), said, name=scope)]


def _fits(sizes: Tensor, needed: Tensor) -> Tensor:
    """Whether each size is the one that is needed, or 1."""
    return reduce_all(logical_or(equal(sizes, needed), equal(sizes, np.int32(1))))
