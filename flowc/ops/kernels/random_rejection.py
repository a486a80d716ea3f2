"""Native kernels of random numbers that are drawn until they fit: gamma, Poisson, binomial,
truncated normal.

In: a key, a counter, parameters of distributions. Out: `samples` numbers of each of `kinds`
distributions, [samples, kinds]. Invariant: number i of TensorFlow's order, distribution by
distribution, starts 256 i counters on, so that none depends on the others. Sources: Marsaglia and
Tsang, "A simple method for generating gamma variables" (2000); Knuth's product of uniform numbers;
Hoermann, "The transformed rejection method for generating Poisson random variables" (1993) and "The
generation of binomial random variates" (1993); Kachitvichyanukul and Schmeiser, "Binomial random
variate generation" (1988); Robert, "Simulation of truncated normal variables" (1995).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowc.ops.kernels.random import normal_pair_f32, normal_pair_f64, philox_words
from flowc.ops.kernels.status import fail

if TYPE_CHECKING:
    # Globals that the compiler gives to kernels: casts, bit casts and functions by dtype.
    u32: Any = None
    u64: Any = None
    f32: Any = None
    f64: Any = None
    bits_f32: Any = None
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
# Of truncated normal numbers (`Native.constants`): whether they are of 64 bits, whether those of a
# kind stand apart, and how many in a row may not fit.
WIDE = False
BY_SAMPLE = False
MOST_TRIES = 1000


def uniform_f64(w0: Any, w1: Any) -> Any:
    """Inlined: a number in [0, 1) of two words."""
    word = (u64(w0 & u32(0xFFFFF)) << u64(32)) | u64(w1)
    return bits_f64(u64(word | u64(0x3FF0000000000000))) - f64(1)


def next_uniform(key: Any, counter: Any, step: int, held: int, first: Any) -> Any:
    """Inlined: a number in [0, 1), and what the next one is drawn from: the counter's
    step, how many numbers are held, and the one that is. Numbers come in pairs, of which the second
    one is taken first."""
    u = first
    if held == 0:
        w0, w1, w2, w3 = philox_words(key, counter, u64(step))
        step += 1
        first = uniform_f64(w0, w1)
        u = uniform_f64(w2, w3)
        held = 2
    held -= 1
    return u, step, held, first


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
        if not d > 0:
            found = c
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
                u, step, uniforms, first_uniform = next_uniform(
                    key, counter, step, uniforms, first_uniform
                )
                fits = u < 1 - f64(0.0331) * (x * x) * (x * x)
                if not fits:
                    fits = log_f64(u) < f64(0.5) * x * x + d * (1 - v + log_f64(v))
                if fits:
                    found = d * v
                    drawing = False
                    if small:
                        u, step, uniforms, first_uniform = next_uniform(
                            key, counter, step, uniforms, first_uniform
                        )
                        found *= pow_f64(u, f64(1) / a)
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
            found = f64(0) if rate < 0 else rate
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
                    u, step, uniforms, first = next_uniform(key, counter, step, uniforms, first)
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
    """Inlined: what Stirling's formula for the logarithm of k! leaves."""
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
                    u, step, uniforms, first = next_uniform(key, counter, step, uniforms, first)
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


def uniform_f32(word: Any) -> Any:
    """Inlined: a number in [0, 1) of one word."""
    return f64(bits_f32(u32((word & u32(0x7FFFFF)) | u32(0x3F800000))) - f32(1))


def four_numbers(w0: Any, w1: Any, w2: Any, w3: Any, normal: Any) -> Any:
    """Inlined: uniform or normal numbers from four random words: four f32, or two f64 (then c and d
    are 0)."""
    a = f64(0)
    b = f64(0)
    c = f64(0)
    d = f64(0)
    if WIDE:
        if normal:
            a, b = normal_pair_f64(w0, w1, w2, w3)
        else:
            a = uniform_f64(w0, w1)
            b = uniform_f64(w2, w3)
    elif normal:
        x, y = normal_pair_f32(w0, w1)
        a = f64(x)
        b = f64(y)
        x, y = normal_pair_f32(w2, w3)
        c = f64(x)
        d = f64(y)
    else:
        a = uniform_f32(w0)
        b = uniform_f32(w1)
        c = uniform_f32(w2)
        d = uniform_f32(w3)
    return a, b, c, d


def truncated_between(
    key: Any, counter: Any, means: Any, deviations: Any, lower: Any, upper: Any, _shape: Any,
    out: Any, status: Any, samples: int, total: int, kinds: int, begin: int, end: int,
) -> None:  # fmt: skip
    """Normal numbers between two ends, `samples` of each kind but the last, kind after kind: where
    one stops drawing, the next one begins, so that one worker draws all."""
    size = 2 if WIDE else 4
    step = 0
    for kind in range(kinds):
        mean = f64(means[kind])
        deviation = f64(deviations[kind])
        low = f64(lower[kind])
        high = f64(upper[kind])
        if not (deviation > 0 and low < high and (low - low == 0 or high - high == 0)):
            fail(status, 1, kind, 0, 0)
            return
        if (low < 0 and low - low != 0) or high < mean:
            other = low
            low = high
            high = other
            deviation = -deviation
        least = (low - mean) / deviation
        most = (high - mean) / deviation
        root = sqrt_f64(least * least + 4)
        cutoff = 2 * exp_f64(f64(0.5) + least * (least - root) / 4) / (least + root)
        from_normal = (least < f64(-1.3) and most >= 0) or (most > f64(1.3) and least <= 0)
        from_uniform = not from_normal and most - least < cutoff
        slope = (least + root) / 2
        height = least * least if least > 0 else f64(0)
        first = kind * samples
        wanted = samples if first + samples < total else total - first
        found = 0
        tries = 0
        while found < wanted:
            w0, w1, w2, w3 = philox_words(key, counter, u64(step))
            step += 1
            a, b, c, d = four_numbers(w0, w1, w2, w3, from_normal)
            e = a
            f = b
            g = c
            h = d
            if from_uniform:
                w0, w1, w2, w3 = philox_words(key, counter, u64(step))
                step += 1
                e, f, g, h = four_numbers(w0, w1, w2, w3, False)
            for i in range(size):
                x = a if i == 0 else (b if i == 1 else (c if i == 2 else d))
                fits = x >= least and x <= most
                counts = True
                if from_uniform:
                    u = e if i == 0 else (f if i == 1 else (g if i == 2 else h))
                    x = x * (most - least) + least
                    fits = u <= exp_f64((height - x * x) / 2)
                elif not from_normal:
                    # Every second number says whether the one before it is taken.
                    counts = i == 0 or i == 2
                    u = b if i == 0 else d
                    x = -log_f64(x) / slope + least
                    away = slope - x if least < slope else least - slope
                    fits = counts and u <= exp_f64(-away * away / 2) and x < most
                if fits and found < wanted:
                    place = found * kinds + kind if BY_SAMPLE else first + found
                    out[place] = x * deviation + mean
                    found += 1
                    tries = 0
                elif counts:
                    tries += 1
            if tries > MOST_TRIES:
                fail(status, 2, kind, 0, 0)
                return
