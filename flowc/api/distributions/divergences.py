"""`tf.distributions.kl_divergence`, and which function computes it for which two classes.

In: two distributions. Out: their divergence, over the batch. Invariant: a pair of classes has one
function, a registered one, or the `_divergence` of a class for two of it; that of the nearest
ancestors is taken.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from flowc.api.framework.checks import Assert
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_any
from flowc.graph import Tensor

Divergence = Callable[..., Tensor]
_FUNCTIONS: dict[tuple[type, type], Divergence] = {}


def _between(one: type, other: type) -> Divergence | None:
    """The function for just these two classes."""
    own = vars(one).get("_divergence") if one is other else None
    return _FUNCTIONS.get((one, other)) if own is None else own.__func__


def registered_divergence(one: type, other: type) -> Divergence | None:
    """The function for two classes: of their ancestors, the pair that is fewest steps away."""
    found: Divergence | None = None
    fewest: int | None = None
    for i, left in enumerate(inspect.getmro(one)):
        for j, right in enumerate(inspect.getmro(other)):
            function = _between(left, right)
            if function is not None and (fewest is None or i + j < fewest):
                found, fewest = function, i + j
    return found


class RegisterKL:
    """A decorator: the function `f(a, b, name=None)` computes the divergence of a distribution of
    class `dist_cls_a` from one of class `dist_cls_b`, a tensor of the batch's shape.

    Raises `TypeError` for what is no function, `ValueError` for a pair that has one."""

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Divergence) -> Divergence:
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        registered = _between(*self._key)
        if registered is not None:
            left, right = (cls.__name__ for cls in self._key)
            raise ValueError(f"KL({left} || {right}) has already been registered to: {registered}")
        _FUNCTIONS[self._key] = kl_fn
        return kl_fn


def kl_divergence(
    distribution_a: Any, distribution_b: Any, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """The Kullback-Leibler divergence KL(a || b) of two distributions, floats of the shape of their
    batches. Without `allow_nan_stats` a run raises `InvalidArgumentError` where one is NaN.

    Raises `NotImplementedError` where no function is registered for the two classes."""
    one, other = type(distribution_a), type(distribution_b)
    function = registered_divergence(one, other)
    if function is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{one.__name__} and distribution_b type {other.__name__}"
        )
    with name_scope("KullbackLeibler"):
        found = function(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return found
        told = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN "
            "values (and was called with allow_nan_stats=False). Values:"
        )
        is_number = m.logical_not(reduce_any(m.is_nan(found)))
        return with_dependencies([Assert(is_number, [told, found])], found)


def cross_entropy(ref: Any, other: Any, allow_nan_stats: bool = True) -> Tensor:
    """The entropy of `ref` and its divergence from `other`, added. Raises as `kl_divergence`."""
    with name_scope(None, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)
