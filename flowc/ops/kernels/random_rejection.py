"""Native kernels of random numbers that are drawn until they fit: gamma, Poisson, binomial.

In: a key, a counter, parameters of distributions. Out: `samples` numbers of each of `kinds`
distributions, [samples, kinds]. Invariant: number i of TensorFlow's order, distribution by
distribution, starts 256 i counters on, so that none depends on the others. Sources: Marsaglia and
Tsang, "A simple method for generating gamma variables" (2000); Knuth's product of uniform numbers;
Hoermann, "The transformed rejection method for generating Poisson random variables" (1993) and "The
generation of binomial random variates" (1993); Kachitvichyanukul and Schmeiser, "Binomial random
variate generation" (1988).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.random import normal_pair_f64, philox_words

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts, bit casts and functions by dtype.
    u32: Any = None
    u64: Any = None
    f64: Any = None
    bits_f64: Any = None
    exp_f64: Any = None
    floor_f64: Any = None
    lgamma_f64: Any = None
    log_f64: Any = None
    log1p_f64: Any = None
    pow_f64: Any = None
    sqrt_f64: Any = None

UNIT = 64  # numbers that a worker takes at a time
MANY = 10  # means from which on binomial numbers are drawn until they fit
APART = 42  # counters from one binomial number to the next, where they are few
RESERVED = 256  # counters from one number to the next


def uniform_f64(w0: Any, w1: Any) -> Any:
    """A part of the kernels: a number in [0, 1) of two words."""
    word = (u64(w0 & u32(0xFFFFF)) << u64(32)) | u64(w1)
    return bits_f64(u64(word | u64(0x3FF0000000000000))) - f64(1)


def gamma(
    key: Any, counter: Any, alpha: Any, _shape: Any, out: Any,
    samples: int, kinds: int, begin: int, end: int,
) -> None:  # fmt: skip
    last = end * UNIT if end * UNIT < samples * kinds else samples * kinds
    for i in range(begin * UNIT, last):
        kind = i // samples
        a = f64(alpha[kind])
        step = i * RESERVED
        small = a < 1
        d = a + (f64(2) / f64(3) if small else f64(-1) / f64(3))
        c = f64(1) / f64(3) / sqrt_f64(d)
        # Numbers come in pairs, of which the second one is taken first.
        normals = 0
        uniforms = 0
        first_normal = f64(0)
        first_uniform = f64(0)
        found = f64(0)
        drawing = True
        if a == 1:
            w0, w1, w2, w3 = philox_words(key, counter, u64(step))
            found = uniform_f64(w2, w3)
            found = -log1p_f64(-found)
            drawing = False
        while drawing:
            x = first_normal
            if normals == 0:
                w0, w1, w2, w3 = philox_words(key, counter, u64(step))
                step += 1
                first_normal, x = normal_pair_f64(w0, w1, w2, w3)
                normals = 2
            normals -= 1
            v = 1 + c * x
            if v > 0:
                v = v * v * v
                u = first_uniform
                if uniforms == 0:
                    w0, w1, w2, w3 = philox_words(key, counter, u64(step))
                    step += 1
                    first_uniform = uniform_f64(w0, w1)
                    u = uniform_f64(w2, w3)
                    uniforms = 2
                uniforms -= 1
                fits = u < 1 - f64(0.0331) * (x * x) * (x * x)
                if not fits:
                    fits = log_f64(u) < f64(0.5) * x * x + d * (1 - v + log_f64(v))
                if fits:
                    found = d * v
                    drawing = False
                    if small:
                        u = first_uniform
                        if uniforms == 0:
                            w0, w1, w2, w3 = philox_words(key, counter, u64(step))
                            u = uniform_f64(w2, w3)
                        found *= pow_f64(u, f64(1) / a)
            if not a > 0:
                drawing = False
        out[(i - kind * samples) * kinds + kind] = found


def poisson(
    key: Any, counter: Any, rates: Any, _shape: Any, out: Any,
    samples: int, kinds: int, begin: int, end: int,
) -> None:  # fmt: skip
    last = end * UNIT if end * UNIT < samples * kinds else samples * kinds
    for i in range(begin * UNIT, last):
        kind = i // samples
        rate = f64(rates[kind])
        step = i * RESERVED
        uniforms = 0
        first = f64(0)
        u = f64(0)
        found = f64(0)
        drawing = True
        if not (rate >= 0 and rate < f64(1e300)):
            found = rate - rate if rate < 0 else rate
            drawing = False
        few = rate < 10
        least = exp_f64(-rate)
        product = f64(1)
        log_rate = log_f64(rate)
        b = f64(0.931) + f64(2.53) * sqrt_f64(rate)
        a = f64(-0.059) + f64(0.02483) * b
        inverse = f64(1.1239) + f64(1.1328) / (b - f64(3.4))
        while drawing:
            for turn in range(2):
                if turn == 0 or not few:
                    before = u
                    u = first
                    if uniforms == 0:
                        w0, w1, w2, w3 = philox_words(key, counter, u64(step))
                        step += 1
                        first = uniform_f64(w0, w1)
                        u = uniform_f64(w2, w3)
                        uniforms = 2
                    uniforms -= 1
            if few:
                product = product * u
                if product <= least:
                    drawing = False
                else:
                    found += 1
            else:
                v = u
                centred = before - f64(0.5)
                shifted = f64(0.5) - (centred if centred > 0 else -centred)
                k = floor_f64((2 * a / shifted + b) * centred + rate + f64(0.43))
                found = k
                if shifted >= f64(0.07) and v <= f64(0.9277) - f64(3.6224) / (b - 2):
                    drawing = False
                elif k >= 0 and not (shifted < f64(0.013) and v > shifted):
                    s = log_f64(v * inverse / (a / (shifted * shifted) + b))
                    t = k * log_rate - rate - lgamma_f64(k + 1)
                    drawing = s > t
        out[(i - kind * samples) * kinds + kind] = found


def stirling_tail(k: Any) -> Any:
    """A part of the kernels: what Stirling's formula for the logarithm of k! leaves."""
    n = k + 1
    if k <= 9:
        tail = lgamma_f64(n) - (k + f64(0.5)) * log_f64(n) + n - f64(0.9189385332046727)
    else:
        square = n * n
        tail = (f64(1) / 12 - (f64(1) / 360 - f64(1) / 1260 / square) / square) / n
    return tail


def binomial(
    key: Any, counter: Any, counts: Any, probs: Any, means: Any, _shape: Any, out: Any,
    samples: int, kinds: int, begin: int, end: int,
) -> None:  # fmt: skip
    last = end * UNIT if end * UNIT < samples * kinds else samples * kinds
    for i in range(begin * UNIT, last):
        kind = i // samples
        count = counts[kind]
        prob = probs[kind]
        few = means[kind] < MANY
        step = i * (APART if few else RESERVED)
        uniforms = 0
        first = f64(0)
        u = f64(0)
        total = f64(0)
        found = f64(0)
        known = count - count == 0 and prob - prob == 0
        drawing = known and count > 0 and prob > 0
        if not known:
            found = (count - count) + (prob - prob)
        inverse_log = log1p_f64(-prob)
        spread = sqrt_f64(count * prob * (1 - prob))
        b = f64(1.15) + f64(2.53) * spread
        a = f64(-0.0873) + f64(0.0248) * b + f64(0.01) * prob
        alpha = (f64(2.83) + f64(5.1) / b) * spread
        ratio = prob / (1 - prob)
        m = floor_f64((count + 1) * prob)
        while drawing:
            for turn in range(2):
                if turn == 0 or not few:
                    before = u
                    u = first
                    if uniforms == 0:
                        w0, w1, w2, w3 = philox_words(key, counter, u64(step))
                        step += 1
                        first = uniform_f64(w0, w1)
                        u = uniform_f64(w2, w3)
                        uniforms = 2
                    uniforms -= 1
            if few:
                total -= floor_f64(-(log_f64(u) / inverse_log))
                if total > count:
                    drawing = False
                else:
                    found += 1
            else:
                v = u
                centred = before - f64(0.5)
                shifted = f64(0.5) - (centred if centred > 0 else -centred)
                k = floor_f64((2 * a / shifted + b) * centred + (count * prob + f64(0.5)))
                found = k
                if shifted >= f64(0.07) and v <= f64(0.92) - f64(4.2) / b:
                    drawing = False
                elif k >= 0 and k <= count:
                    s = log_f64(v * alpha / (a / (shifted * shifted) + b))
                    t = (m + f64(0.5)) * log_f64((m + 1) / (ratio * (count - m + 1)))
                    t += (count + 1) * log_f64((count - m + 1) / (count - k + 1))
                    t += (k + f64(0.5)) * log_f64(ratio * (count - k + 1) / (k + 1))
                    tail = stirling_tail(m)
                    t += tail
                    tail = stirling_tail(count - m)
                    t += tail
                    tail = stirling_tail(k)
                    t -= tail
                    tail = stirling_tail(count - k)
                    t -= tail
                    drawing = s > t
        out[(i - kind * samples) * kinds + kind] = found
