"""Native kernel: how the incomplete gamma function and gamma numbers change with the parameter.

In: a and x, element by element. Out: d P(a, x) / da, or d x / da where P(a, x) stays (`SAMPLE`).
Invariant: P is the regularised lower function, as a power series for x <= max(1, a), else by the
continued fraction of Q = 1 - P; each is differentiated term by term. Source: Abramowitz and Stegun
6.5.29, 6.5.31.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts and functions by dtype.
    f64: Any = None
    digamma_f64: Any = None
    exp_f64: Any = None
    lgamma_f64: Any = None
    log_f64: Any = None

UNIT = 64  # elements that a worker takes at a time
SAMPLE = 0
TERMS = 2000
EXACT = 1.1e-16
LARGE = 4.5e15


def by_series(a, x):
    """Inlined: the series 1 + x / (a + 1) + ..., and its derivative."""
    r = a
    term = f64(1)
    total = f64(1)
    term_da = f64(0)
    total_da = f64(0)
    terms = 0
    going = True
    while going:
        terms += 1
        r += 1
        factor = x / r
        term_da = factor * term_da - x / (r * r) * term
        total_da += term_da
        term *= factor
        total += term
        change = term_da if term_da > 0 else -term_da
        size = total_da if total_da > 0 else -total_da
        going = change > size * EXACT and terms < TERMS
    return total, total_da


def by_fraction(a, x):
    """Inlined: the continued fraction, and its derivative."""
    y = 1 - a
    z = x + y + 1
    c = f64(0)
    p2 = f64(1)
    q2 = x
    p1 = x + 1
    q1 = z * x
    total = p1 / q1
    dp2 = f64(0)
    dq2 = f64(0)
    dp1 = f64(0)
    dq1 = -x
    total_da = -total * dq1 / q1
    terms = 0
    going = True
    while going:
        terms += 1
        c += 1
        y += 1
        z += 2
        yc = y * c
        p = p1 * z - p2 * yc
        q = q1 * z - q2 * yc
        dp = dp1 * z - p1 - dp2 * yc + p2 * c
        dq = dq1 * z - q1 - dq2 * yc + q2 * c
        if q != 0:
            total = p / q
            before = total_da
            total_da = (dp - total * dq) / q
            change = total_da - before
            going = (change > EXACT or -change > EXACT) and terms < TERMS
        p2 = p1
        p1 = p
        q2 = q1
        q1 = q
        dp2 = dp1
        dp1 = dp
        dq2 = dq1
        dq1 = dq
        if p > LARGE or -p > LARGE:
            scale = f64(1) / f64(LARGE)
            p2 *= scale
            p1 *= scale
            q2 *= scale
            q1 *= scale
            dp2 *= scale
            dp1 *= scale
            dq2 *= scale
            dq1 *= scale
    return total, total_da


def gamma_derivative(a_given, x_given, out, n, begin, end):
    last = end * UNIT if end * UNIT < n else n
    for i in range(begin * UNIT, last):
        a = f64(a_given[i])
        x = f64(x_given[i])
        found = f64(0)
        if not (x >= 0 and a > 0):
            found = (x - x) / f64(0)
        elif x > 0:
            if x > 1 and x > a:
                total, total_da = by_fraction(a, x)
                slope = log_f64(x) - digamma_f64(a)
                found = total_da + total * slope
                if SAMPLE == 1:
                    found = found * x
                else:
                    found = -found * exp_f64(a * log_f64(x) - x - lgamma_f64(a))
            else:
                total, total_da = by_series(a, x)
                slope = log_f64(x) - digamma_f64(a + 1)
                found = total_da + total * slope
                if SAMPLE == 1:
                    found = -found * x / a
                else:
                    found = found * exp_f64(a * log_f64(x) - x - lgamma_f64(a + 1))
        out[i] = found
