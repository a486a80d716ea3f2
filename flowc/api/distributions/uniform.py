"""`tf.distributions.Uniform`: of the numbers between two.

In: `low` and `high`, tensors that broadcast. Out: distributions of floats.
"""

from __future__ import annotations

import math
from typing import Any

from flowc.api.arrays.filling import ones, ones_like, zeros, zeros_like
from flowc.api.arrays.selection import where_v2
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.arrays.static_values import broadcast_dynamic_shape
from flowc.api.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    BroadcastDistribution,
    equal_param_shapes,
)
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import identity
from flowc.api.framework.scopes import control_dependencies, name_scope
from flowc.api.math import elementwise as m
from flowc.api.random.random_ops import random_uniform
from flowc.graph import Tensor


class Uniform(BroadcastDistribution):
    """Uniform distributions over [low, high), floats of shapes that broadcast. Raises `ValueError`
    for other dtypes or two of them."""

    def __init__(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Uniform",
    ) -> None:
        parameters = dict(locals())
        with name_scope(name, values=[low, high]) as scope:
            told = "uniform not defined when low >= high."
            checks = [check.assert_less(low, high, message=told)] if validate_args else []
            with control_dependencies(checks):
                self._low = identity(low, name="low")
                self._high = identity(high, name="high")
            dtype = check.assert_same_float_dtype([self._low, self._high])
        super().__init__(
            dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._low, self._high], scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["low", "high"], sample_shape)

    @property
    def low(self) -> Tensor:
        """The least number."""
        return self._low

    @property
    def high(self) -> Tensor:
        """The number that all are below."""
        return self._high

    def range(self, name: str = "range") -> Tensor:
        """`high - low`."""
        with self._name_scope(name):
            return self.high - self.low

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self.low, self.high

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_uniform(self._sample_shape(n), dtype=self.dtype, seed=seed)
        return self.low + self.range() * drawn

    def _prob(self, x: Tensor) -> Tensor:
        x = x * ones(self.batch_shape_tensor(), x.dtype)
        outside = m.logical_or(x < self.low, x >= self.high)
        density = where_v2(outside, zeros_like(x), ones_like(x) / self.range())
        return where_v2(m.is_nan(x), x, density)

    def _cdf(self, x: Tensor) -> Tensor:
        sizes = broadcast_dynamic_shape(shape_of(x), self.batch_shape_tensor())
        none, all_ = zeros(sizes, self.dtype), ones(sizes, self.dtype)
        below = where_v2(x < self.low, none, (x * all_ - self.low) / self.range())
        return where_v2(x >= self.high, all_, below)

    def _entropy(self) -> Tensor:
        return m.log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2.0

    def _variance(self) -> Tensor:
        return m.square(self.range()) / 12.0

    def _stddev(self) -> Tensor:
        return self.range() / math.sqrt(12.0)
