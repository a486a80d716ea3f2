"""Special functions and polynomials, elementwise or along the last axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from flowc.api.framework.scopes import name_scope
from flowc.api.math import elementwise
from flowc.api.math.elementwise import unary
from flowc.api.math.reductions import reduce_sum
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor

bessel_j0, bessel_j1 = unary("BesselJ0"), unary("BesselJ1")
bessel_k0, bessel_k0e = unary("BesselK0"), unary("BesselK0e")
bessel_k1, bessel_k1e = unary("BesselK1"), unary("BesselK1e")
bessel_y0, bessel_y1 = unary("BesselY0"), unary("BesselY1")
dawsn, expint, spence = unary("Dawsn"), unary("Expint"), unary("Spence")
fresnel_cos, fresnel_sin = unary("FresnelCos"), unary("FresnelSin")


def lbeta(x: Any, name: str | None = None) -> Tensor:
    """log(|Beta(x)|) along the last axis: the sum of log-gammas less the log-gamma of the sum.

    `x`: floats [..., n]; the result: [...]. Raises `TypeError` for other dtypes."""
    with name_scope(name, "lbeta", [x]):
        tensor = as_tensor(x, name="x")
        sums = reduce_sum(elementwise.lgamma(tensor), -1)
        return sums - elementwise.lgamma(reduce_sum(tensor, -1))


def polyval(coeffs: Sequence[Any], x: Any, name: str | None = None) -> Tensor:
    """The polynomial in `x` whose coefficients, the highest first, are tensors that broadcast with
    it. Raises `ValueError` where `coeffs` is no list."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    with name_scope(name, "polyval", [x, *coeffs]):
        at = as_tensor(x, name="x")
        if not coeffs:
            return elementwise.subtract(at, at)
        terms = [as_tensor(c, name="coeff") for c in coeffs]
        found = terms[0]
        for term in terms[1:]:
            found = term + found * at
        return found


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """The inverse of `erfc`, for numbers of (0, 2). Floats of any shape. Raises `TypeError` for
    other dtypes."""
    with name_scope(name, "erfcinv", [x]):
        return -elementwise.ndtri(0.5 * as_tensor(x, name="start")) * np.sqrt(0.5)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0. Floats or complex numbers of any shape. Raises `TypeError` for
    other dtypes."""
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        tensor = as_tensor(x, name="x")
        return elementwise.div_no_nan(as_tensor(1, tensor.dtype, "one"), tensor, name=scope)
