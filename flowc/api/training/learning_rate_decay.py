"""Learning rates that fall with the global step.

In: the first rate, the step (a tensor or variable), how the rate falls. Out: a scalar tensor of the
rate's dtype. Every function raises `ValueError` without a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from flowc import dtypes
from flowc.api.arrays.selection import where_v2
from flowc.api.control_flow.cases import case
from flowc.api.control_flow.conditionals import cond
from flowc.api.framework.basics import cast, constant
from flowc.api.framework.scopes import name_scope
from flowc.api.math.elementwise import (
    add,
    ceil,
    cos,
    divide,
    equal,
    exp,
    floor,
    log,
    minimum,
    multiply,
    negative,
    sqrt,
)
from flowc.api.math.elementwise import pow as power_of
from flowc.api.random.random_ops import random_normal
from flowc.dtypes import DType
from flowc.graph import Tensor
from flowc.graph.building.conversion import as_tensor


@contextmanager
def _schedule(
    name: str | None, default: str, rate: Any, step: Any
) -> Iterator[tuple[str, Tensor, DType]]:
    """A scope for a schedule: its name, the first rate as a tensor, and its dtype."""
    if step is None:
        raise ValueError(f"global_step is required for {default}: None values not supported.")
    with name_scope(name, default) as scope:
        first = as_tensor(rate, name="initial_learning_rate")
        assert first.dtype is not None
        yield scope, first, first.dtype


def exponential_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * decay_rate ** (global_step / decay_steps)`; with `staircase` the exponent is
    a whole number. A scalar in the dtype of the rate. Raises `ValueError` where the step is
    None."""
    with _schedule(name, "ExponentialDecay", learning_rate, global_step) as (scope, first, dtype):
        steps, rate = cast(decay_steps, dtype), cast(decay_rate, dtype)
        exponent = cast(global_step, dtype) / steps
        if staircase:
            exponent = floor(exponent)
        return multiply(first, power_of(rate, exponent, name="Pow"), name=scope)


def natural_exp_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate * exp(-decay_rate * global_step / decay_steps)`. Arguments and errors as
    `exponential_decay`."""
    rate = exp(negative(decay_rate))
    return exponential_decay(learning_rate, global_step, decay_steps, rate, staircase, name)


def inverse_time_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    decay_rate: Any,
    staircase: bool = False,
    name: str | None = None,
) -> Tensor:
    """`learning_rate / (1 + decay_rate * global_step / decay_steps)`. Arguments and errors as
    `exponential_decay`."""
    with _schedule(name, "InverseTimeDecay", learning_rate, global_step) as (scope, first, dtype):
        steps, rate = cast(decay_steps, dtype), cast(decay_rate, dtype)
        passed = cast(global_step, dtype) / steps
        if staircase:
            passed = floor(passed)
        one = cast(constant(1), dtype)
        return divide(first, add(one, multiply(rate, passed, "Mul"), "Add"), scope)


def polynomial_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    end_learning_rate: Any = 0.0001,
    power: Any = 1.0,
    cycle: bool = False,
    name: str | None = None,
) -> Tensor:
    """From `learning_rate` to `end_learning_rate` by a power of the part of the steps that is left;
    with `cycle` over again, over longer and longer intervals. A scalar in the dtype of the rate.
    Raises `ValueError` where the step is None."""
    with _schedule(name, "PolynomialDecay", learning_rate, global_step) as (scope, first, dtype):
        last, exponent = cast(end_learning_rate, dtype), cast(power, dtype)
        step, steps = cast(global_step, dtype), cast(decay_steps, dtype)
        if cycle:
            rounds = where_v2(equal(step, 0, "Equal"), 1.0, ceil(step / decay_steps), "SelectV2")
            steps = multiply(steps, rounds, "Mul")
        else:
            step = minimum(step, steps, "Minimum")
        left = step / steps
        span = first - last
        return add(multiply(span, power_of(1 - left, exponent, name="Pow"), "Mul"), last, scope)


def piecewise_constant(
    x: Any, boundaries: Sequence[Any], values: Sequence[Any], name: str | None = None
) -> Tensor:
    """`values[k]` while `x <= boundaries[k]`, the last value beyond the last boundary.

    Raises `ValueError` for counts that do not fit, and for dtypes that differ."""
    if len(boundaries) != len(values) - 1:
        raise ValueError("The length of boundaries should be 1 less than the length of values")
    step = as_tensor(x)
    limits = [_limit(b, step) for b in boundaries]
    found = [as_tensor(v) for v in values]
    for value in found[1:]:
        if value.base_dtype is not found[0].base_dtype:
            raise ValueError(
                f"Values must have elements all with the same dtype ({found[0].dtype!r} vs "
                f"{value.dtype!r})."
            )
    with name_scope(name, "PiecewiseConstant"):
        giving: list[Callable[[], Tensor]] = [partial(_given, v) for v in found]
        pairs = [(step <= limits[0], giving[0]), (step > limits[-1], giving[-1])]
        for low, high, give in zip(limits[:-1], limits[1:], giving[1:-1]):
            pairs.append(((step > low) & (step <= high), give))
        return case(pairs, default=giving[0], exclusive=True)


piecewise_constant_decay = piecewise_constant


def _given(value: Tensor) -> Tensor:
    return value


def _limit(boundary: Any, step: Tensor) -> Tensor:
    """A boundary in the dtype of the step: one of i32 goes with steps of i64."""
    limit = as_tensor(boundary)
    if limit.base_dtype is step.base_dtype:
        return limit
    if limit.base_dtype is dtypes.i32 and step.base_dtype is dtypes.i64:
        return cast(limit, dtypes.i64)
    raise ValueError(
        f"Boundaries ({limit.dtype!r}) must have the same dtype as x ({step.dtype!r})."
    )


def cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Half a cosine from `learning_rate` to `alpha * learning_rate`, by Loshchilov and Hutter,
    2016. A scalar in the dtype of the rate. Raises `ValueError` where the step is None."""
    with _schedule(name, "CosineDecay", learning_rate, global_step) as (_, first, dtype):
        steps = cast(decay_steps, dtype)
        part = minimum(cast(global_step, dtype), steps, "Minimum") / steps
        return multiply(first, (1 - alpha) * _half_cosine(part) + alpha, "Mul")


def _half_cosine(part: Tensor) -> Tensor:
    """From 1 to 0 while `part` goes from 0 to 1."""
    return 0.5 * (1.0 + cos(constant(math.pi) * part))


def cosine_decay_restarts(
    learning_rate: Any,
    global_step: Any,
    first_decay_steps: Any,
    t_mul: Any = 2.0,
    m_mul: Any = 1.0,
    alpha: Any = 0.0,
    name: str | None = None,
) -> Tensor:
    """Cosine decays one after another: each is `t_mul` times as long as the one before, and starts
    from `m_mul` times its rate (SGDR, by Loshchilov and Hutter, 2016). A scalar in the dtype of the
    rate. Raises `ValueError` where the step is None."""
    with _schedule(name, "SGDRDecay", learning_rate, global_step) as (scope, first, dtype):
        steps, floor_rate = cast(first_decay_steps, dtype), cast(alpha, dtype)
        longer, smaller = cast(t_mul, dtype), cast(m_mul, dtype)
        passed = cast(global_step, dtype) / steps
        number, part = cond(
            equal(longer, 1.0), lambda: _equal_restarts(passed), lambda: _restarts(passed, longer)
        )
        height = power_of(smaller, number, name="pow")
        decayed = 0.5 * height * (1.0 + cos(constant(math.pi) * part))
        return multiply(first, (1 - floor_rate) * decayed + floor_rate, scope)


def _equal_restarts(passed: Tensor) -> tuple[Tensor, Tensor]:
    """(number of the restart, part of its interval), for intervals of one length."""
    number = floor(passed)
    return number, passed - number


def _restarts(passed: Tensor, longer: Tensor) -> tuple[Tensor, Tensor]:
    """The same for intervals that grow by a factor: a geometric series."""
    number = floor(log(1.0 - passed * (1.0 - longer)) / log(longer))
    before = (1.0 - power_of(longer, number, name="pow")) / (1.0 - longer)
    return number, (passed - before) / power_of(longer, number, name="pow")


def linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """`(alpha + linear) * cosine + beta` times the rate, with `num_periods` periods of the cosine
    (Bello and others, 2017). A float scalar. Raises `ValueError` without a `global_step`."""
    with _schedule(name, "LinearCosineDecay", learning_rate, global_step) as (scope, first, dtype):
        numbers = [cast(n, dtype) for n in (decay_steps, num_periods, alpha, beta)]
        return _linear_cosine(first, cast(global_step, dtype), numbers, lambda line, _: line, scope)


def noisy_linear_cosine_decay(
    learning_rate: Any,
    global_step: Any,
    decay_steps: Any,
    initial_variance: Any = 1.0,
    variance_decay: Any = 0.55,
    num_periods: Any = 0.5,
    alpha: Any = 0.0,
    beta: Any = 0.001,
    name: str | None = None,
) -> Tensor:
    """`linear_cosine_decay` with noise on the line, whose variance falls with the step. Raises as
    it does."""
    with _schedule(name, "NoisyLinearCosineDecay", learning_rate, global_step) as found:
        scope, first, dtype = found
        steps = cast(decay_steps, dtype)
        variance, decay = cast(initial_variance, dtype), cast(variance_decay, dtype)
        numbers = [steps, *(cast(n, dtype) for n in (num_periods, alpha, beta))]

        def with_noise(line: Tensor, step: Tensor) -> Tensor:
            deviation = sqrt(variance / power_of(1.0 + step, decay, name="Pow"))
            return line + random_normal(line.shape, stddev=deviation, dtype=dtype)

        return _linear_cosine(first, cast(global_step, dtype), numbers, with_noise, scope)


def _linear_cosine(
    first: Tensor,
    global_step: Tensor,
    numbers: Sequence[Tensor],
    changed: Callable[[Tensor, Tensor], Tensor],
    scope: str,
) -> Tensor:
    """`numbers`: steps, periods, alpha, beta; `changed`: the line as it is used."""
    steps, periods, alpha, beta = numbers
    step = minimum(global_step, steps, "Minimum")
    line = changed((steps - step) / steps, step)
    passed = step / steps
    wave = _half_cosine(2.0 * periods * passed)
    return multiply(first, (alpha + line) * wave + beta, scope)
