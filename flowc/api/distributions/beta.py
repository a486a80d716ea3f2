"""`tf.distributions.Beta`.

In: two concentrations, tensors that broadcast. Out: distributions of floats between 0 and 1.
"""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.filling import ones, ones_like
from flowc.api.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    BroadcastDistribution,
    equal_param_shapes,
)
from flowc.api.distributions.parameters import defined_above_one, new_seed, positive
from flowc.api.framework import assertions as check
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math import elementwise as m
from flowc.api.random.random_ops import random_gamma
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


class Beta(BroadcastDistribution):
    """Beta distributions of density `x^(c1 - 1) (1 - x)^(c0 - 1) / beta(c1, c0)`, where the numbers
    are `concentration1` and `concentration0`: floats of shapes that broadcast. Raises `ValueError`
    for other dtypes, two of them and None."""

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            told = "Concentration parameter must be positive."
            self._concentration1, self._concentration0 = (
                positive(as_tensor(value, name=what), validate_args, told)
                for what, value in (
                    ("concentration1", concentration1),
                    ("concentration0", concentration0),
                )
            )
            both = [self._concentration1, self._concentration0]
            dtype = check.assert_same_float_dtype(both)
            self._total = self._concentration1 + self._concentration0
        super().__init__(
            dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [*both, self._total], scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["concentration1", "concentration0"], sample_shape)

    @property
    def concentration1(self) -> Tensor:
        """That of 1."""
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        """The concentration of 0, `beta`."""
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        """Both, added."""
        return self._total

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return (self.total_concentration,)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        one, zero = (
            ones_like(self.total_concentration) * c
            for c in (self.concentration1, self.concentration0)
        )
        first = random_gamma([n], one, dtype=self.dtype, seed=seed)
        second = random_gamma([n], zero, dtype=self.dtype, seed=new_seed(seed, "beta"))
        return first / (first + second)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._checked(x)
        found = m.xlogy(self.concentration1 - 1.0, x)
        found += (self.concentration0 - 1.0) * m.log1p(-x)
        return found - self._log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        one = ones_like(self.total_concentration)
        x = self._checked(x) * one
        one = ones_like(x)
        return m.betainc(one * self.concentration1, one * self.concentration0, x)

    def _checked(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        below = ones([], self.dtype)
        checks = [
            check.assert_positive(x, message="sample must be positive"),
            check.assert_less(x, below, message="sample must be less than `1`."),
        ]
        return with_dependencies(checks, x)

    def _log_normalization(self) -> Tensor:
        parts = m.lgamma(self.concentration1) + m.lgamma(self.concentration0)
        return parts - m.lgamma(self.total_concentration)

    def _entropy(self) -> Tensor:
        return (
            self._log_normalization()
            - (self.concentration1 - 1.0) * m.digamma(self.concentration1)
            - (self.concentration0 - 1.0) * m.digamma(self.concentration0)
            + (self.total_concentration - 2.0) * m.digamma(self.total_concentration)
        )

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / (1.0 + self.total_concentration)

    def _mode(self) -> Tensor:
        found = (self.concentration1 - 1.0) / (self.total_concentration - 2.0)
        told = "Mode undefined when any concentration <= 1."
        both = [self.concentration1, self.concentration0]
        return defined_above_one(found, both, self.allow_nan_stats, told)

    @staticmethod
    def _divergence(a: Beta, b: Beta, name: str | None = None) -> Tensor:
        with name_scope(name, "kl_beta_beta", [*a._graph_parents, *b._graph_parents]):
            found = b._log_normalization() - a._log_normalization()
            for one, other in (
                (a.concentration1, b.concentration1),
                (a.concentration0, b.concentration0),
            ):
                found -= m.digamma(one) * (other - one)
            more = b.total_concentration - a.total_concentration
            return found + m.digamma(a.total_concentration) * more
