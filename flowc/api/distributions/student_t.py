"""`tf.distributions.StudentT`.

In: degrees of freedom, a centre and a width, tensors that broadcast. Out: distributions of floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flowc.api.arrays.filling import fill, ones, ones_like
from flowc.api.arrays.selection import where_v2
from flowc.api.arrays.shaping import concat
from flowc.api.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    BroadcastDistribution,
    equal_param_shapes,
)
from flowc.api.distributions.parameters import defined_above_one, new_seed
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import identity
from flowc.api.framework.scopes import control_dependencies, name_scope
from flowc.api.math import elementwise as m
from flowc.api.math.special import lbeta
from flowc.api.random.random_ops import random_gamma, random_normal
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


class StudentT(BroadcastDistribution):
    """Student's distributions of `df` degrees of freedom, moved by `loc` and widened by `scale`,
    floats of shapes that broadcast. Raises `ValueError` for other dtypes or two of them."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentT",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[df, loc, scale]) as scope:
            checks = [check.assert_positive(df)] if validate_args else []
            with control_dependencies(checks):
                self._df = identity(df, name="df")
            self._loc = identity(loc, name="loc")
            self._scale = identity(scale, name="scale")
            dtype = check.assert_same_float_dtype([self._df, self._loc, self._scale])
        super().__init__(
            dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._df, self._loc, self._scale], scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["df", "loc", "scale"], sample_shape)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def loc(self) -> Tensor:
        """The centre."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The width."""
        return self._scale

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self.df, self.loc, self.scale

    def _ones(self) -> Tensor:
        return ones(self.batch_shape_tensor(), self.dtype)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        normal = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        df = self.df * self._ones()
        second = new_seed(seed, "student_t")
        squares = random_gamma([n], 0.5 * df, 0.5, self.dtype, second)
        return normal * m.rsqrt(squares / df) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / self.scale
        half = 0.5 * self.df
        log_area = (
            m.log(m.abs(self.scale))
            + 0.5 * m.log(self.df)
            + 0.5 * math.log(math.pi)
            + m.lgamma(half)
            - m.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * m.log1p(y**2.0 / self.df) - log_area

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / m.abs(self.scale)
        tail = 0.5 * _tails(0.5 * self.df, self.df / (m.square(y) + self.df))
        return where_v2(y < 0.0, tail, 1.0 - tail)

    def _entropy(self) -> Tensor:
        one = self._ones()[..., None]
        halves = concat([one * self.df[..., None], one], -1) / 2.0
        between = m.digamma(0.5 * (self.df + 1.0)) - m.digamma(0.5 * self.df)
        return (
            m.log(m.abs(self.scale))
            + 0.5 * m.log(self.df)
            + lbeta(halves)
            + 0.5 * (self.df + 1.0) * between
        )

    def _mean(self) -> Tensor:
        return self._above_one(self.loc * self._ones(), "mean")

    def _variance(self) -> Tensor:
        # The inner choice keeps a NaN out of the gradient.
        room = where_v2(self.df > 2.0, self.df - 2.0, ones_like(self.df))
        found = self._ones() * m.square(self.scale) * self.df / room
        infinite = fill(self.batch_shape_tensor(), as_tensor(np.inf, self.dtype))
        return self._above_one(where_v2(self.df > 2.0, found, infinite), "variance")

    def _above_one(self, value: Tensor, what: str) -> Tensor:
        told = f"{what} not defined for components of df <= 1"
        return defined_above_one(value, [self.df], self.allow_nan_stats, told)

    def _mode(self) -> Tensor:
        return identity(self.loc)


def _tails(half_df: Tensor, share: Tensor) -> Tensor:
    """The incomplete beta function, of which TensorFlow asks equal shapes."""
    a = half_df * ones_like(share)
    return m.betainc(a, 0.5 * ones_like(a), share * ones_like(a))
