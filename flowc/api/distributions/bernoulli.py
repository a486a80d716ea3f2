"""`tf.distributions.Bernoulli`.

In: log-odds or probabilities of 1. Out: distributions of 0 and 1.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import ones_like
from flowc.api.distributions.distribution import (
    NOT_REPARAMETERIZED,
    BroadcastDistribution,
    equal_param_shapes,
)
from flowc.api.distributions.parameters import logits_and_probs, whole_numbers_of
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise as m
from flowc.api.nn.activations import softplus
from flowc.api.nn.losses import sigmoid_cross_entropy_with_logits
from flowc.api.random.random_ops import random_uniform
from flowc.graph import Tensor


class Bernoulli(BroadcastDistribution):
    """Distributions of 0 and 1, as numbers of `dtype`, of log-odds `logits` or of probabilities
    `probs` of 1: floats of any shape, one of the two. Raises `ValueError` where both or none are
    given, `TypeError` for what is no float."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.i32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args, scope)
        super().__init__(
            dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._logits, self._probs], scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["logits"], sample_shape)

    @property
    def logits(self) -> Tensor:
        """The log-odds of 1."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self._probs

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return (self.logits,)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_uniform(self._sample_shape(n), dtype=self.probs.dtype, seed=seed)
        return cast(drawn < self.probs, self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = whole_numbers_of(x, dtypes.bool_)
        event, logits = cast(x, self.logits.dtype), self.logits
        if not event.shape.is_fully_defined() or event.shape != logits.shape:
            event, logits = ones_like(logits) * event, ones_like(event) * logits
        return -sigmoid_cross_entropy_with_logits(labels=event, logits=logits)

    def _entropy(self) -> Tensor:
        return -self.logits * (m.sigmoid(self.logits) - 1.0) + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return identity(self.probs)

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return cast(self.probs > 0.5, self.dtype)

    @staticmethod
    def _divergence(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
        with name_scope(name, "kl_bernoulli_bernoulli", [a.logits, b.logits]):
            of_one = softplus(-b.logits) - softplus(-a.logits)
            of_zero = softplus(b.logits) - softplus(a.logits)
            return m.sigmoid(a.logits) * of_one + m.sigmoid(-a.logits) * of_zero
