"""`tf.distributions.Normal` and `Laplace`: of a centre and a width.

In: `loc` and `scale`, tensors that broadcast. Out: distributions of floats.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones_like, zeros_like
from flowc.api.arrays.selection import where_v2
from flowc.api.distributions.distribution import (
    FULLY_REPARAMETERIZED,
    BroadcastDistribution,
    equal_param_shapes,
)
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import identity
from flowc.api.framework.scopes import control_dependencies, name_scope
from flowc.api.math import elementwise as m
from flowc.api.random.random_ops import random_normal, random_uniform
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor
from flowc.graph.building.creation import output

# Beyond these, float32 and float64 do not tell the normal cdf from 0 (below) and 1 (above).
_LOG_CDF_BOUNDS = {dtypes.f32: (-10.0, 5.0), dtypes.f64: (-20.0, 8.0)}


class LocationScale(BroadcastDistribution):
    """What distributions of a centre and a width share."""

    def __init__(
        self, loc: Any, scale: Any, validate_args: bool, allow_nan_stats: bool, name: str,
        parameters: dict[str, Any],
    ) -> None:  # fmt: skip
        with name_scope(name, values=[loc, scale]) as scope:
            checks = [check.assert_positive(scale)] if validate_args else []
            with control_dependencies(checks):
                self._loc = identity(loc, name="loc")
                self._scale = identity(scale, name="scale")
            dtype = check.assert_same_float_dtype([self._loc, self._scale])
        super().__init__(
            dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, parameters,
            [self._loc, self._scale], scope,
        )  # fmt: skip

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return equal_param_shapes(["loc", "scale"], sample_shape)

    @property
    def loc(self) -> Tensor:
        """The centre."""
        return self._loc

    @property
    def scale(self) -> Tensor:
        """The width."""
        return self._scale

    def _batch_parameters(self) -> tuple[Tensor, ...]:
        return self.loc, self.scale

    def _z(self, x: Tensor) -> Tensor:
        with name_scope("standardize", values=[x]):
            return (x - self.loc) / self.scale

    def _mode(self) -> Tensor:
        return self._mean()


class Normal(LocationScale):
    """Normal distributions of mean `loc` and standard deviation `scale`, floats of shapes that
    broadcast. Raises `ValueError` for other dtypes or two of them."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Normal",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_normal(self._sample_shape(n), dtype=self.dtype, seed=seed)
        return drawn * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        log_area = 0.5 * math.log(2.0 * math.pi) + m.log(self.scale)
        return -0.5 * m.square(self._z(x)) - log_area

    def _cdf(self, x: Tensor) -> Tensor:
        return _normal_cdf(self._z(x))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _normal_log_cdf(self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return _normal_cdf(-self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return _normal_log_cdf(-self._z(x))

    def _quantile(self, x: Tensor) -> Tensor:
        return output("Ndtri", x) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        scale = self.scale * ones_like(self.loc)
        return 0.5 * math.log(2.0 * math.pi * math.e) + m.log(scale)

    def _mean(self) -> Tensor:
        return self.loc * ones_like(self.scale)

    def _stddev(self) -> Tensor:
        return self.scale * ones_like(self.loc)

    @staticmethod
    def _divergence(a: Normal, b: Normal, name: str | None = None) -> Tensor:
        with name_scope(name, "kl_normal_normal", [a.loc, b.loc]):
            other = m.square(b.scale)
            ratio = m.square(a.scale) / other
            apart = m.squared_difference(a.loc, b.loc) / (2.0 * other)
            return apart + 0.5 * (ratio - 1.0 - m.log(ratio))


class Laplace(LocationScale):
    """Laplace's distributions of mean `loc` and density `exp(-|x - loc| / scale) / (2 scale)`,
    floats of shapes that broadcast. Raises `ValueError` for other dtypes or two of them."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Laplace",
    ) -> None:
        super().__init__(loc, scale, validate_args, allow_nan_stats, name, dict(locals()))

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        # -1 itself would have an infinite logarithm.
        kind = self.dtype.numpy.type
        least = np.nextafter(kind(-1.0), kind(0.0))
        drawn = random_uniform(self._sample_shape(n), least, 1.0, self.dtype, seed)
        return self.loc - self.scale * m.sign(drawn) * m.log1p(-m.abs(drawn))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -m.abs(self._z(x)) - (math.log(2.0) + m.log(self.scale))

    def _cdf(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return 0.5 + 0.5 * m.sign(z) * (1.0 - m.exp(-m.abs(z)))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _laplace_log_cdf(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return _laplace_log_cdf(-self._z(x))

    def _entropy(self) -> Tensor:
        return math.log(2.0) + 1.0 + m.log(self.scale + zeros_like(self.loc))

    def _mean(self) -> Tensor:
        return self.loc + zeros_like(self.scale)

    def _stddev(self) -> Tensor:
        return math.sqrt(2.0) * self.scale + zeros_like(self.loc)


def _laplace_log_cdf(z: Tensor) -> Tensor:
    above = m.log1p(-0.5 * m.exp(-m.abs(z)))
    return where_v2(z < 0.0, z - math.log(2.0), above)


def _normal_cdf(z: Tensor) -> Tensor:
    """Each part by the function that keeps its small numbers: `erf` in the middle, else `erfc`."""
    bound = as_tensor(math.sqrt(0.5), z.dtype)
    w = z * bound
    size = m.abs(w)
    tail = m.erfc(size)
    return 0.5 * where_v2(
        size < bound, 1.0 + m.erf(w), where_v2(w > 0.0, 2.0 - tail, tail)
    )  # fmt: skip


def _normal_log_cdf(z: Tensor) -> Tensor:
    """Far above 0 as minus the other tail, far below by the tail's asymptotic series: Abramowitz
    and Stegun, 1964, 26.2.12, to its third term."""
    if z.base_dtype is None or z.base_dtype not in _LOG_CDF_BOUNDS:
        raise TypeError(f"x.dtype={z.dtype!r} is not supported.")
    low, high = _LOG_CDF_BOUNDS[z.base_dtype]
    # Each branch sees only numbers at which it is finite: else its gradient would be NaN.
    below = m.minimum(z, low)
    square = m.square(below)
    series = 1.0 - 1.0 / square + 3.0 / m.square(square) - 15.0 / (m.square(square) * square)
    tail = -0.5 * square - m.log(-below) - 0.5 * math.log(2.0 * math.pi) + m.log(series)
    middle = m.log(_normal_cdf(m.maximum(z, low)))
    return where_v2(z > high, -_normal_cdf(-z), where_v2(z > low, middle, tail))
