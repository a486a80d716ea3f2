"""`tf.distributions.Dirichlet` and `DirichletMultinomial`: of probabilities, and of what is counted
when classes are drawn by such.

In: concentrations [..., classes]. Out: distributions of vectors of floats.
"""

from __future__ import annotations

from typing import Any

from flowc import dtypes
from flowc.api.arrays.filling import one_hot, ones
from flowc.api.arrays.selection import where_v2
from flowc.api.arrays.shaping import concat, reshape
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED,
    Distribution,
    ReparameterizationType,
)
from flowc.api.distributions.parameters import (
    covariance_of,
    log_combinations,
    new_seed,
    positive,
    summing_to,
    whole_counts,
    with_event_size,
)
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math import elementwise as m
from flowc.api.math.reductions import reduce_all, reduce_sum
from flowc.api.math.special import lbeta
from flowc.api.random.random_ops import multinomial, random_gamma
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

_POSITIVE = "Concentration parameter must be positive."


class ConcentratedDistribution(Distribution):
    """What distributions of a concentration for each class share."""

    def __init__(
        self,
        concentration: Tensor,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: dict[str, Any],
        graph_parents: list[Tensor],
        scope: str,
    ) -> None:
        self._concentration = concentration
        with name_scope(scope):
            self._total = reduce_sum(concentration, -1)
        super().__init__(
            concentration.dtype, reparameterization_type, validate_args, allow_nan_stats,
            parameters, [concentration, *graph_parents], scope,
        )  # fmt: skip

    @property
    def concentration(self) -> Tensor:
        """That of each class."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """That of all classes."""
        return self._total

    def _batch_shape(self) -> Any:
        return self.total_concentration.shape

    def _batch_shape_tensor(self) -> Tensor:
        return shape_of(self.total_concentration)

    def _event_shape(self) -> Any:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return shape_of(self.concentration)[-1:]

    def _shares(self) -> Tensor:
        return self.concentration / self.total_concentration[..., None]


class Dirichlet(ConcentratedDistribution):
    """Dirichlet's distributions of probabilities, which sum to 1, of density `prod(x^(c - 1)) /
    beta(c)` with `c` the `concentration`: floats [..., classes]. Raises `ValueError` for scalars.
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration]) as scope:
            found = as_tensor(concentration, name="concentration")
            if validate_args:
                flat = "Concentration parameter must have >=1 dimensions."
                few = "Concentration parameter must have event_size >= 2."
                checks = [
                    check.assert_positive(found, message=_POSITIVE),
                    check.assert_rank_at_least(found, 1, message=flat),
                    check.assert_less(1, shape_of(found)[-1], message=few),
                ]
                found = with_dependencies(checks, found)
        super().__init__(
            found, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters, [], scope
        )

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            one, total = ones([], self.dtype), reduce_sum(x, -1)
            told = "sample last-dimension must sum to `1`"
            checks = [
                check.assert_positive(x, message="samples must be positive"),
                check.assert_near(one, total, message=told),
            ]
            x = with_dependencies(checks, x)
        powers = reduce_sum(m.xlogy(self.concentration - 1.0, x), -1)
        return powers - lbeta(self.concentration)

    def _classes(self) -> Tensor:
        return cast(self.event_shape_tensor()[0], self.dtype)

    def _entropy(self) -> Tensor:
        total = self.total_concentration
        parts = (self.concentration - 1.0) * m.digamma(self.concentration)
        spread = (total - self._classes()) * m.digamma(total)
        return lbeta(self.concentration) + spread - reduce_sum(parts, axis=-1)

    def _mean(self) -> Tensor:
        return self._shares()

    def _covariance(self) -> Tensor:
        x = self._scale() * self._mean()
        return covariance_of(x, x, self._variance())

    def _variance(self) -> Tensor:
        x = self._scale() * self._mean()
        return x * (self._scale() - x)

    def _scale(self) -> Tensor:
        return m.rsqrt(1.0 + self.total_concentration[..., None])

    def _mode(self) -> Tensor:
        room = self.total_concentration[..., None] - self._classes()
        found = (self.concentration - 1.0) / room
        if not self.allow_nan_stats:
            told = "Mode undefined when any concentration <= 1"
            one = ones([], self.dtype)
            return with_dependencies(
                [check.assert_less(one, self.concentration, message=told)], found
            )
        is_defined = reduce_all(self.concentration > 1.0, axis=-1, keepdims=True)
        return where_v2(is_defined, found, as_tensor(float("nan"), self.dtype, "nan"))

    @staticmethod
    def _divergence(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
        one, other = a.concentration, b.concentration
        with name_scope(name, "kl_dirichlet_dirichlet", [one, other]):
            of_total = m.digamma(reduce_sum(one, axis=-1, keepdims=True))
            parts = (one - other) * (m.digamma(one) - of_total)
            return reduce_sum(parts, axis=-1) - lbeta(one) + lbeta(other)


class DirichletMultinomial(ConcentratedDistribution):
    """How often each class is drawn in `total_count` draws by probabilities that are drawn from
    Dirichlet's distribution of `concentration` [..., classes]. `total_count`: floats [...], whole
    numbers. Raises `ValueError` for scalars."""

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[total_count, concentration]) as scope:
            self._count = as_tensor(total_count, name="total_count")
            found = as_tensor(concentration, name="concentration")
            if validate_args:
                self._count = whole_counts(self._count)
                found = positive(with_event_size(found), True, _POSITIVE)
        super().__init__(
            found, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._count], scope,
        )  # fmt: skip

    @property
    def total_count(self) -> Tensor:
        """How many draws."""
        return self._count

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = self.event_shape_tensor()[0]
        drawn = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        second = new_seed(seed, "dirichlet_multinomial")
        logits = reshape(m.log(drawn), [-1, classes])
        found = multinomial(logits, cast(self.total_count, dtypes.i32), second)
        times = reduce_sum(one_hot(found, classes), -2)
        shape = concat([[n], self.batch_shape_tensor(), [classes]], 0)
        return cast(reshape(times, shape), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            told = "counts last-dimension must sum to `self.total_count`"
            x = summing_to(self.total_count, x, told)
        ordered = lbeta(self.concentration + x) - lbeta(self.concentration)
        return ordered + log_combinations(self.total_count, x)

    def _mean(self) -> Tensor:
        return self.total_count * self._shares()

    def _covariance(self) -> Tensor:
        x = self._scale() * self._mean()
        return covariance_of(x, x, self._variance())

    def _variance(self) -> Tensor:
        scale = self._scale()
        x = scale * self._mean()
        return x * (self.total_count * scale - x)

    def _scale(self) -> Tensor:
        total = self.total_concentration[..., None]
        return m.sqrt((1.0 + total / self.total_count) / (1.0 + total))
