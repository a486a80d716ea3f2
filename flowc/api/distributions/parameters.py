"""Parameters of distributions: made tensors, derived from each other, and checked by runs.

In: what a distribution is made with. Out: tensors, which a run gives only where the checks hold.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from flowc import dtypes
from flowc.api.arrays.filling import ones
from flowc.api.arrays.selection import where_v2
from flowc.api.arrays.shaping import shape as shape_of
from flowc.api.framework import assertions as check
from flowc.api.framework.basics import cast
from flowc.api.framework.scopes import name_scope, with_dependencies
from flowc.api.math import elementwise as m
from flowc.api.math.linear_algebra import set_diag
from flowc.api.math.reductions import matmul, reduce_sum
from flowc.api.nn.activations import sigmoid, softmax
from flowc.dtypes import DType
from flowc.graph import Operation, Tensor
from flowc.graph.building.conversion import as_tensor

# Whole numbers as integers as wide as the float.
_INTEGERS = {dtypes.f16: dtypes.i16, dtypes.f32: dtypes.i32, dtypes.f64: dtypes.i64}


def new_seed(seed: int | None, salt: str) -> int | None:
    """The seed of a second draw: TensorFlow's, so that samples are its own."""
    if seed is None:
        return None
    digest = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digest[:8], 16) & 0x7FFFFFFF


def logits_and_probs(
    logits: Any, probs: Any, validate_args: bool, name: str, classes: bool = False
) -> tuple[Tensor, Tensor]:
    """Both, from the one that is given: log-odds and probabilities, or with `classes`, logarithms
    and probabilities of the classes of the last dimension.

    Raises `ValueError` where both or none are given, `TypeError` for what is no float."""
    with name_scope(name, values=[probs, logits]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            logits = _floats(logits, "logits")
            if classes and validate_args:
                logits = with_event_size(logits)
            return logits, (softmax if classes else sigmoid)(logits, name="probs")
        probs = _floats(probs, "probs")
        if validate_args:
            probs = _valid_probs(probs, classes)
        with name_scope("logits"):
            found = m.log(probs)
            return (found if classes else found - m.log1p(-1.0 * probs)), probs


def _floats(value: Any, name: str) -> Tensor:
    found = as_tensor(value, name=name)
    if found.dtype is None or not found.dtype.is_floating:
        raise TypeError(f"{name} must having floating type.")
    return found


def _valid_probs(probs: Tensor, classes: bool) -> Tensor:
    with name_scope("validate_probs"):
        one = as_tensor(1.0, probs.dtype)
        checks = [check.assert_non_negative(probs)]
        if classes:
            probs = with_event_size(probs)
            total = reduce_sum(probs, -1)
            checks.append(check.assert_near(total, one, message="probs does not sum to 1."))
        else:
            told = "probs has components greater than 1."
            checks.append(check.assert_less_equal(probs, one, message=told))
        return with_dependencies(checks, probs)


def with_event_size(parameter: Tensor) -> Tensor:
    """A parameter whose last dimension is that of classes, at least two of them. Raises
    `ValueError` where it is known to be otherwise."""
    few = "A categorical-distribution parameter must have at least 2 events."
    flat = "A categorical-distribution parameter must have at least 1 dimension."
    shape = parameter.shape
    if shape.ndims == 0:
        raise ValueError(flat)
    known = None if shape.ndims is None else shape[-1].value
    if known is not None:
        if known < 2:
            raise ValueError(few)
        return parameter
    checks = [
        check.assert_rank_at_least(parameter, 1, message=flat),
        check.assert_greater_equal(shape_of(parameter)[-1], 2, message=few),
    ]
    return with_dependencies(checks, parameter)


def positive(value: Tensor, is_checked: bool, message: str | None = None) -> Tensor:
    """`value`, above 0 where it is checked."""
    if not is_checked:
        return value
    return with_dependencies([check.assert_positive(value, message=message)], value)


def _whole(x: Tensor, message: str) -> Operation:
    assert x.base_dtype is not None
    return check.assert_equal(x, cast(cast(x, _INTEGERS[x.base_dtype]), x.dtype), message=message)


def whole_counts(value: Any) -> Tensor:
    """Whole numbers from 0, as integers or floats: a run raises `InvalidArgumentError` for
    others."""
    with name_scope("embed_check_nonnegative_integer_form", values=[value]):
        x = as_tensor(value, name="x")
        checks = [check.assert_non_negative(x, message=f"'{x}' must be non-negative.")]
        if not _is_integer(x):
            checks.append(_whole(x, f"'{x}' cannot contain fractional components."))
        return with_dependencies(checks, x)


def whole_numbers_of(value: Any, dtype: DType) -> Tensor:
    """Whole numbers from 0 that `dtype` holds: a run raises `InvalidArgumentError` for others."""
    x = as_tensor(value, name="x")
    checks = [check.assert_non_negative(x, message="Elements must be non-negative.")]
    if not _is_integer(x):
        checks.append(_whole(x, f"Elements must be {dtype.name}-equivalent."))
    if dtype == dtypes.bool_:
        one = as_tensor(1, x.dtype)
        checks.append(check.assert_less_equal(x, one, message="Elements cannot exceed 1."))
    return with_dependencies(checks, x)


def _is_integer(x: Tensor) -> bool:
    return x.dtype is not None and x.dtype.is_integer


def defined_above_one(
    value: Tensor, parameters: list[Tensor], allow_nan: bool, message: str
) -> Tensor:
    """A statistic that is defined where all `parameters` are above 1; elsewhere NaN, or an
    `InvalidArgumentError` of the run."""
    if not allow_nan:
        one = ones([], value.dtype)
        return with_dependencies(
            [check.assert_less(one, p, message=message) for p in parameters], value
        )
    is_defined = parameters[0] > 1.0
    for other in parameters[1:]:
        is_defined = m.logical_and(is_defined, other > 1.0)
    return where_v2(is_defined, value, as_tensor(np.nan, value.dtype, "nan"))


def log_combinations(total: Tensor, found: Tensor) -> Tensor:
    """The logarithm of the number of ways to draw so many of each class."""
    return m.lgamma(total + 1.0) - reduce_sum(m.lgamma(found + 1.0), axis=-1)


def summing_to(total: Tensor, found: Tensor, message: str) -> Tensor:
    """Counts of classes, which sum to `total`: a run raises `InvalidArgumentError` for others."""
    found = whole_counts(found)
    return with_dependencies(
        [check.assert_equal(total, reduce_sum(found, -1), message=message)], found
    )


def covariance_of(one: Tensor, other: Tensor, variance: Tensor) -> Tensor:
    """The covariance of counts that share one total: minus an outer product, and the variance on
    the diagonal."""
    return set_diag(-matmul(one[..., None], other[..., None, :]), variance)
