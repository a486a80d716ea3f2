"""`tf.distributions.Gamma` and `Exponential`.

In: `concentration` and `rate`, tensors that broadcast. Out: distributions of positive floats.
"""

from __future__ import annotations

from typing import Any

from flowc.api.arrays.filling import ones
from flowc.api.arrays.shaping import concat
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    BroadcastDistribution,
    equal_param_shapes,
)
from flowc.api.distributions.parameters import defined_above_one, positive
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import identity
from flowc.api.framework.scopes import control_dependencies, name_scope
from flowc.api.math import elementwise as m
from flowc.api.random.random_ops import TINY, random_gamma, random_uniform
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


class Gamma(BroadcastDistribution):
    """Gamma distributions of density `rate^a x^(a - 1) exp(-rate x) / gamma(a)`, where `a` is the
    `concentration`; floats of shapes that broadcast. Raises `ValueError` for other dtypes or two
    of them."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[concentration, rate]) as scope:
            checks = []
            if validate_args:
                checks = [check.assert_positive(concentration), check.assert_positive(rate)]
            with control_dependencies(checks):
                self._concentration = identity(concentration, name="concentration")
                self._rate = identity(rate, name="rate")
            dtype = check.assert_same_float_dtype([self._concentration, self._rate])
        super().__init__(
            dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._concentration, self._rate], scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["concentration", "rate"], sample_shape)

    @property
    def concentration(self) -> Tensor:
        """The shape parameter."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """One by the scale."""
        return self._rate

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self.concentration, self.rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma([n], self.concentration, self.rate, self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._checked(x)
        return m.xlogy(self.concentration - 1.0, x) - self.rate * x - self._log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._checked(x)
        return m.igamma(self.concentration, self.rate * x)

    def _checked(self, x: Tensor) -> Tensor:
        check.assert_same_float_dtype([x], self.dtype)
        return positive(x, self.validate_args)

    def _log_normalization(self) -> Tensor:
        return m.lgamma(self.concentration) - self.concentration * m.log(self.rate)

    def _entropy(self) -> Tensor:
        a = self.concentration
        return a - m.log(self.rate) + m.lgamma(a) + (1.0 - a) * m.digamma(a)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / m.square(self.rate)

    def _stddev(self) -> Tensor:
        return m.sqrt(self.concentration) / self.rate

    def _mode(self) -> Tensor:
        found = (self.concentration - 1.0) / self.rate
        told = "mode not defined when any concentration <= 1"
        return defined_above_one(found, [self.concentration], self.allow_nan_stats, told)

    @staticmethod
    def _divergence(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
        """Penny, KL-divergences of normal, gamma, Dirichlet and Wishart densities, 2001."""
        with name_scope(name, "kl_gamma_gamma", [*a._batch_parameters(), *b._batch_parameters()]):
            one, other = a.concentration, b.concentration
            return (
                (one - other) * m.digamma(one)
                + m.lgamma(other)
                - m.lgamma(one)
                + other * m.log(a.rate)
                - other * m.log(b.rate)
                + one * (b.rate / a.rate - 1.0)
            )


class Exponential(Gamma):
    """Exponential distributions of density `rate exp(-rate x)`, floats of the shape of `rate`.
    Raises `ValueError` for other dtypes."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Exponential",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[rate]) as scope:
            rate = as_tensor(rate, name="rate")
        super().__init__(ones([], rate.dtype), rate, validate_args, allow_nan_stats, scope)
        self._parameters = parameters

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["rate"], sample_shape)

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return self._log_prob(x) - m.log(self.rate)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        # 0 itself would have an infinite logarithm.
        shape = concat([[n], shape_of(self.rate)], 0)
        drawn = random_uniform(shape, TINY[self.dtype], 1.0, self.dtype, seed)
        return -m.log(drawn) / self.rate
