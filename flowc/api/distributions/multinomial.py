"""`tf.distributions.Multinomial`: how often each class is drawn.

In: how many draws, and logarithms or probabilities of classes. Out: distributions of vectors of
floats, which are counts.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import one_hot, ones_like
from flowc.api.arrays.shaping import concat, expand_dims, reshape, transpose
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.control_flow.functional import map_fn
from flowc.api.distributions.distribution import NOT_REPARAMETERIZED, Distribution
from flowc.api.distributions.parameters import (
    covariance_of,
    log_combinations,
    logits_and_probs,
    summing_to,
    whole_counts,
)
from flowc.api.framework.basics import cast, identity
from flowc.api.framework.scopes import name_scope
from flowc.api.math.reductions import reduce_sum
from flowc.api.nn.activations import log_softmax
from flowc.api.random.random_ops import multinomial
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


class Multinomial(Distribution):
    """How often each class is drawn in `total_count` draws, by unnormalised logarithms `logits` or
    by probabilities `probs`: floats [..., classes], one of the two; `total_count`: floats [...],
    whole numbers. Raises `ValueError` where both or none are given, `TypeError` for what is no
    float."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, logits, probs]) as scope:
            self._count = as_tensor(total_count, name="total_count")
            if validate_args:
                self._count = whole_counts(self._count)
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args, scope, classes=True
            )
            self._expected = self._count[..., None] * self._probs
        super().__init__(
            self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._count, self._logits, self._probs], scope,
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """How many draws."""
        return self._count

    @property
    def logits(self) -> Tensor:
        """The unnormalised logarithms of probabilities."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probabilities."""
        return self._probs

    def _batch_shape(self) -> Any:
        return self._expected.shape.with_rank_at_least(1)[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return shape_of(self._expected)[:-1]

    def _event_shape(self) -> Any:
        return self._expected.shape.with_rank_at_least(1)[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return shape_of(self._expected)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        """Each of the batch draws for itself: their counts may differ."""
        classes = self.event_shape_tensor()[0]
        draws = cast(self.total_count, dtypes.i32)
        draws = ones_like(self.logits[..., 0], draws.dtype) * draws
        logits = ones_like(draws[..., None], self.logits.dtype) * self.logits

        def drawn(row: Any) -> Tensor:
            found = multinomial(expand_dims(row[0], 0), row[1], seed)
            return reduce_sum(one_hot(reshape(found, [n, -1]), classes, dtype=self.dtype), axis=-2)

        rows = [reshape(logits, [-1, classes]), n * reshape(draws, [-1])]
        found = transpose(map_fn(drawn, rows, dtype=self.dtype), [1, 0, 2])
        return reshape(found, concat([[n], self.batch_shape_tensor(), [classes]], 0))

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            x = summing_to(self.total_count, x, "counts must sum to `self.total_count`")
        found = reduce_sum(x * log_softmax(self.logits), -1)
        return found + log_combinations(self.total_count, x)

    def _all_probs(self) -> Tensor:
        return self.probs * ones_like(self.total_count)[..., None]

    def _mean(self) -> Tensor:
        return identity(self._expected)

    def _variance(self) -> Tensor:
        return self._expected - self._expected * self._all_probs()

    def _covariance(self) -> Tensor:
        return covariance_of(self._expected, self._all_probs(), self._variance())
